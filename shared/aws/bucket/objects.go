package bucket

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/shared/aws/awserr"
)

// Objects keeps the large pieces of the state, under state/. It is what package dynamo asks for as Objects.
type Objects struct {
	api    API
	bucket string
}

// NewObjects returns the objects of a bucket that exists.
func NewObjects(api API, bucket string) *Objects { return &Objects{api: api, bucket: bucket} }

const objectPrefix = "state/"

func objectKey(name string) *string { return aws.String(objectPrefix + name) }

// Put implements dynamo.Objects.
func (o *Objects) Put(ctx context.Context, name string, data []byte) error {
	_, err := o.api.PutObject(ctx, &s3.PutObjectInput{Bucket: &o.bucket, Key: objectKey(name), Body: bytes.NewReader(data)})
	return awserr.Fault("write state", err)
}

// Get implements dynamo.Objects.
func (o *Objects) Get(ctx context.Context, name string) ([]byte, error) {
	res, err := o.api.GetObject(ctx, &s3.GetObjectInput{Bucket: &o.bucket, Key: objectKey(name)})
	if err != nil {
		return nil, awserr.Fault("read state", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return data, awserr.Fault("read state", err)
}

// Delete implements dynamo.Objects.
func (o *Objects) Delete(ctx context.Context, names ...string) error {
	keys := make([]string, len(names))
	for i, n := range names {
		keys[i] = *objectKey(n)
	}
	return deleteKeys(ctx, o.api, o.bucket, keys)
}

// List implements dynamo.Objects.
func (o *Objects) List(ctx context.Context, f func(name string, stored time.Time) error) error {
	return listKeys(ctx, o.api, o.bucket, objectPrefix, func(key string, stored time.Time) error {
		return f(strings.TrimPrefix(key, objectPrefix), stored)
	})
}
