// Package export is the function that stores versions. The CLI calls it by its URL, and pipelines
// call it with an archive in S3.
package export

import (
	"cmp"
	"context"
	"encoding/json"
	"io"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/functions/internal/run"
	"southbound/shared/api"
	"southbound/shared/archive"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/furl"
	"southbound/shared/aws/home"
	"southbound/shared/provider"
)

// Main starts the function with handlers and serves events.
func Main(definitions []provider.Definition) {
	run.Main(func(ctx context.Context) (any, error) {
		f, err := run.Begin(ctx, definitions, func(c *home.Config) { c.Makes = true })
		if err != nil {
			return nil, err
		}
		return handler(f), nil
	})
}

// handler serves requests of the URL, and plain invokes.
func handler(f *run.Function) func(ctx context.Context, raw json.RawMessage) (any, error) {
	service := f.Service(false)
	routes := api.ExportHandler(service)
	archives := &archive.Exporter{Service: service,
		Open: func(ctx context.Context, bucket, key string) (io.ReadCloser, int64, error) {
			return open(ctx, f.Home, bucket, key)
		}}
	agents := newPreparer(f)
	return func(ctx context.Context, raw json.RawMessage) (any, error) {
		var w work
		if err := json.Unmarshal(raw, &w); err == nil && len(w.Prepare) > 0 {
			agents.handed(ctx, w)
			return nil, nil
		}
		if f.Home.Provisioner != nil {
			defer agents.after(ctx)
		}
		var url events.LambdaFunctionURLRequest
		if err := json.Unmarshal(raw, &url); err == nil && url.RequestContext.HTTP.Method != "" {
			return furl.Handle(f.Called(ctx, &url), routes, &url), nil
		}
		e, err := archive.ReadEvent(raw)
		if err != nil {
			failure := api.FailureOf(err)
			return archive.Answer{Error: &failure}, nil
		}
		return archives.Export(ctx, e)
	}
}

// open opens an archive in S3.
func open(ctx context.Context, h *home.Home, bucket, key string) (io.ReadCloser, int64, error) {
	bucket = cmp.Or(bucket, h.Config.Bucket)
	res, err := h.S3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return nil, 0, awserr.Fault("read archive s3://"+bucket+"/"+key, err)
	}
	return res.Body, aws.ToInt64(res.ContentLength), nil
}
