//go:build servers

package bucket_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"southbound/localstack/server"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/bucket"
	"southbound/shared/internal/simtest/deploytest"
)

func TestMain(m *testing.M) {
	server.Load("s3")
	os.Exit(server.Tests(m.Run, server.LocalStack, server.MiniStack))
}

// client returns a client of a server and a new bucket there.
func client(t *testing.T, kind server.Kind, faults *awstest.Faults) (*s3.Client, string) {
	t.Helper()
	path := func(o *s3.Options) { o.UsePathStyle = true }
	plain := s3.NewFromConfig(awstest.Config(server.URL(kind), nil), path)
	name := strings.ToLower(awstest.Unique(t))
	_, err := plain.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
	if err != nil && !awserr.Is(err, "BucketAlreadyOwnedByYou") {
		t.Fatal(err)
	}
	if faults == nil {
		return plain, name
	}
	return s3.NewFromConfig(awstest.Config(server.URL(kind), faults), path), name
}

// fileKey is where a file is; it is part of the format.
func fileKey(hash string) *string { return aws.String("files/" + hash[:2] + "/" + hash) }

// TestConformance runs the suite of the port on each server.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			deploytest.TestFiles(t, func(t *testing.T) deploytest.FilesHarness {
				t.Helper()
				api, name := client(t, kind, nil)
				return deploytest.FilesHarness{A: bucket.NewFiles(api, name),
					B: bucket.NewFiles(api, name), Damage: func(hash string) {
						if _, err := api.PutObject(t.Context(),
							&s3.PutObjectInput{Bucket: &name, Key: fileKey(hash),
								Body: bytes.NewReader(
									[]byte("one, a little LONGER"))}); err != nil {
							t.Fatal(err)
						}
					}}
			})
		})
	}
}
