//go:build servers

package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"southbound/localstack/server"
	"southbound/shared/provider/providertest"
)

// small parts are as small as S3 lets them be.
func smallParts() object { return object{single: 5 << 20, part: 5 << 20, slice: 0} }

// objectWorld describes all that is under a prefix of a bucket.
func objectWorld(ctx context.Context, api *s3.Client, bucket, prefix string) (string, error) {
	var b strings.Builder
	list, err := api.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix})
	if err != nil {
		return "", err
	}
	for i := range list.Contents {
		key := list.Contents[i].Key
		h, err := api.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: key,
			ChecksumMode: types.ChecksumModeEnabled})
		if err != nil {
			return "", err
		}
		tags, err := api.GetObjectTagging(ctx, &s3.GetObjectTaggingInput{Bucket: &bucket, Key: key})
		if err != nil {
			return "", err
		}
		set := map[string]string{}
		for _, t := range tags.TagSet {
			set[*t.Key] = *t.Value
		}
		line, err := json.Marshal([]any{strings.TrimPrefix(*key, prefix), *h.ContentLength,
			str(h.ChecksumSHA256), str(h.ContentType), str(h.ContentEncoding),
			str(h.CacheControl), str(h.ContentLanguage), str(h.ContentDisposition), h.Metadata,
			h.StorageClass, set})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	uploads, err := api.ListMultipartUploads(ctx, &s3.ListMultipartUploadsInput{Bucket: &bucket,
		Prefix: &prefix})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "%d uploads\n", len(uploads.Uploads))
	return b.String(), nil
}

// large is more than one part.
func large() []byte { return []byte(strings.Repeat("0123456789abcdef", 5<<16+1)) }

func objectCase(
	t *testing.T, kind server.Kind, bucket, prefix string, host *providertest.Host, c *cutter,
) providertest.Case {
	t.Helper()
	api := s3Of(kind)
	file := host.AddFile([]byte("uploaded\n"))
	base := func(key string, attrs map[string]any) map[string]any {
		out := map[string]any{"bucket": bucket, "key": prefix + key}
		for k, v := range attrs {
			out[k] = v
		}
		return out
	}
	return providertest.Case{Like: map[string]any{"bucket": bucket, "key": prefix},
		Attributes: base("a b+c/ü?x=1&y.txt", map[string]any{"content": "first s3cr3t\n",
			"content_type": "text/plain; charset=utf-8",
			"metadata":     map[string]any{"owner": "me & you"},
			"tags":         map[string]any{"team": "a+b c=d"}}),
		Updates: []map[string]any{
			{"content": "second s3cr3t\n"}, {"content_type": "text/html"},
			{"metadata": map[string]any{}}, {"tags": map[string]any{"x": "1", "y": ""}},
			{"content": file, "cache_control": "max-age=300"},
			// alone: MiniStack keeps the tags of what a PUT without tags replaces
			{"tags": map[string]any{}},
			{"storage_class": "STANDARD_IA", "content_language": "de"},
			{"content_disposition": "inline"}, {"content": "", "tags": map[string]any{"y": "2"}},
		},
		Others: []map[string]any{base("b", map[string]any{"content": file}), base("c/", nil),
			base("d", map[string]any{"content": "", "content_encoding": "gzip"})},
		World: func() (string, error) { return objectWorld(t.Context(), api, bucket, prefix) },
		Vanish: func() error {
			_, err := api.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket,
				Key: sdk.String(prefix + "a b+c/ü?x=1&y.txt")})
			return err
		},
		Interrupt: c.Interrupt,
		Secrets:   []string{"s3cr3t"},
	}
}

// largeCase is an object that is sent in parts.
func largeCase(
	t *testing.T, kind server.Kind, bucket, prefix string, host *providertest.Host, c *cutter,
) providertest.Case {
	t.Helper()
	out := objectCase(t, kind, bucket, prefix, host, c)
	delete(out.Attributes, "tags") // MiniStack forgets those of what comes in parts
	out.Updates = []map[string]any{{"content": host.AddFile(large()),
		"metadata": map[string]any{"n": "v"}}, {"content_disposition": "inline"}, {"content": ""}}
	return out
}

// TestObjectConformance runs the suite of handlers on each server: with small objects on one, with
// objects that are sent in parts on the other.
func TestObjectConformance(t *testing.T) {
	t.Parallel()
	cases := map[server.Kind]func(*testing.T, server.Kind, string, string, *providertest.Host,
		*cutter) providertest.Case{
		server.MiniStack: objectCase, server.LocalStack: largeCase}
	for kind, newCase := range cases {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			bucket := newBucket(t, kind)
			c := &cutter{}
			var places atomic.Int64
			providertest.Run(t, providertest.Subject{Definition: objectWith(smallParts()),
				Transport: via(kind, c),
				New: func(_ string, host *providertest.Host) (providertest.Case, error) {
					return newCase(t, kind, bucket, fmt.Sprintf("place-%d/", places.Add(1)), host,
						c), nil
				}})
		})
	}
}
