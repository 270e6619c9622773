package bucket

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/shared/aws/awserr"
)

// Objects stores objects of the log under a prefix. It implements logs.Objects.
type Objects struct {
	api    API
	bucket string
	prefix string
}

// NewLogObjects returns the objects of the log in a bucket, under logs/. The bucket has to exist.
func NewLogObjects(api API, bucket string) *Objects {
	return &Objects{api: api, bucket: bucket, prefix: "logs/"}
}

// Put implements logs.Objects.
func (o *Objects) Put(ctx context.Context, name string, data []byte) error {
	_, err := o.api.PutObject(ctx,
		&s3.PutObjectInput{Bucket: &o.bucket, Key: aws.String(o.prefix + name),
			Body: bytes.NewReader(data)})
	return awserr.Fault("write log", err)
}

// Get implements logs.Objects.
func (o *Objects) Get(ctx context.Context, name string) ([]byte, error) {
	return o.get(ctx, name, nil)
}

// GetPart returns size bytes of an object, beginning at offset. The offset must not be negative,
// and size must be positive. If the object does not exist, GetPart returns a fault.NotFound.
func (o *Objects) GetPart(ctx context.Context, name string, offset, size int) ([]byte, error) {
	return o.get(ctx, name, aws.String(fmt.Sprintf("bytes=%d-%d", offset, offset+size-1)))
}

func (o *Objects) get(ctx context.Context, name string, part *string) ([]byte, error) {
	res, err := o.api.GetObject(ctx,
		&s3.GetObjectInput{Bucket: &o.bucket, Key: aws.String(o.prefix + name), Range: part})
	if err != nil {
		return nil, awserr.Fault("read log", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return data, awserr.Fault("read log", err)
}

// Delete implements logs.Objects.
func (o *Objects) Delete(ctx context.Context, names ...string) error {
	keys := make([]string, len(names))
	for i, n := range names {
		keys[i] = o.prefix + n
	}
	return deleteKeys(ctx, o.api, o.bucket, keys)
}

// ListPrefix calls f for every object whose name begins with begin, in order of name, until f
// returns an error.
func (o *Objects) ListPrefix(
	ctx context.Context, begin string, f func(name string, stored time.Time) error,
) error {
	return listKeys(ctx, o.api, o.bucket, o.prefix+begin, func(key string, stored time.Time) error {
		return f(strings.TrimPrefix(key, o.prefix), stored)
	})
}
