//go:build servers

package bucket_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"southbound/localstack/server"
	"southbound/shared/aws/bucket"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/deploytest"
)

// fake is a bucket in memory that counts requests, with faults.
type fake struct {
	mu      sync.Mutex
	keys    []string // sorted
	calls   map[string]int
	put     func(call int) error
	refused map[string]types.Error // by key: what DELETE says of it, once
}

func (f *fake) call(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[string]int{}
	}
	f.calls[name]++
	return f.calls[name]
}

func (f *fake) HeadObject(
	_ context.Context, in *s3.HeadObjectInput, _ ...func(*s3.Options),
) (*s3.HeadObjectOutput, error) {
	f.call("HEAD")
	if _, ok := slices.BinarySearch(f.keys, *in.Key); !ok {
		return nil, &types.NotFound{}
	}
	return &s3.HeadObjectOutput{}, nil
}

func (f *fake) PutObject(
	context.Context, *s3.PutObjectInput, ...func(*s3.Options),
) (*s3.PutObjectOutput, error) {
	return &s3.PutObjectOutput{}, f.put(f.call("PUT"))
}

func (*fake) GetObject(
	context.Context, *s3.GetObjectInput, ...func(*s3.Options),
) (*s3.GetObjectOutput, error) {
	return &s3.GetObjectOutput{Body: io.NopCloser(bytes.NewReader(nil))}, nil
}

func (f *fake) ListObjectsV2(
	_ context.Context, in *s3.ListObjectsV2Input, _ ...func(*s3.Options),
) (*s3.ListObjectsV2Output, error) {
	f.call("LIST")
	const page = 1000
	i, ok := slices.BinarySearch(f.keys, aws.ToString(in.StartAfter))
	if ok {
		i++
	}
	out := &s3.ListObjectsV2Output{IsTruncated: aws.Bool(len(f.keys)-i > page)}
	for _, k := range f.keys[i:min(i+page, len(f.keys))] {
		out.Contents = append(out.Contents, types.Object{Key: aws.String(k)})
	}
	return out, nil
}

func (f *fake) DeleteObjects(
	_ context.Context, in *s3.DeleteObjectsInput, _ ...func(*s3.Options),
) (*s3.DeleteObjectsOutput, error) {
	f.call("DELETE")
	out := &s3.DeleteObjectsOutput{}
	for _, o := range in.Delete.Objects {
		if e, ok := f.refused[*o.Key]; ok {
			delete(f.refused, *o.Key)
			e.Key = o.Key
			out.Errors = append(out.Errors, e)
		}
	}
	return out, nil
}

func hashes(from, to int) []string {
	var out []string
	for n := from; n < to; n++ {
		out = append(out, deploytest.HashOf(fmt.Append(nil, n)))
	}
	return out
}

// TestMissingOfMany pins that files are looked for by pages, never with more requests than files,
// and that the answer is right.
func TestMissingOfMany(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason              string
		stored, want, limit int
	}{
		{"all of a small store: one page", 900, 600, 1},
		{"all of a large store: a page for each thousand stored", 10000, 9000, 13},
		{"a few of a large store: no more requests than files", 50000, 20, 20},
		{"two: asked for one by one", 50000, 2, 2},
		{"an empty store", 0, 5000, 2},
	} {
		f := &fake{}
		for _, h := range hashes(0, c.stored) {
			f.keys = append(f.keys, *fileKey(h))
		}
		slices.Sort(f.keys)
		want := slices.Concat(hashes(c.stored-c.want/2, c.stored+c.want-c.want/2))
		got, err := bucket.NewFiles(f, "b").Missing(t.Context(), want)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		missing := hashes(max(c.stored, c.stored-c.want/2), c.stored+c.want-c.want/2)
		slices.Sort(missing)
		if c.stored > 0 && !slices.Equal(got, missing) {
			t.Errorf("%s: %d missing, want %d", c.reason, len(got), len(missing))
		}
		if n := f.calls["LIST"] + f.calls["HEAD"]; n > c.limit {
			t.Errorf("%s: %d requests, want at most %d", c.reason, n, c.limit)
		}
	}
}

func TestFaultsOfPut(t *testing.T) {
	t.Parallel()
	code := func(c string) error { return &smithy.GenericAPIError{Code: c} }
	for _, c := range []struct {
		reason string
		put    func(call int) error
		kind   fault.Kind
		puts   int
	}{
		{"a race with another who stores the same is tried again", func(call int) error {
			if call < 3 {
				return code("ConditionalRequestConflict")
			}
			return nil
		}, fault.Unknown, 3},
		{"but not for ever", func(int) error { return code("ConditionalRequestConflict") },
			fault.Unavailable, 5},
		{"S3 found other bytes", func(int) error { return code("BadDigest") }, fault.Invalid, 1},
		{"no rights", func(int) error { return code("AccessDenied") }, fault.Denied, 1},
		{"no bucket", func(int) error { return code("NoSuchBucket") }, fault.NotFound, 1},
	} {
		f := &fake{put: c.put}
		err := bucket.NewFiles(f, "b").Put(t.Context(),
			[]state.Blob{{Hash: deploytest.HashOf(nil)}})
		if fault.KindOf(err) != c.kind || f.calls["PUT"] != c.puts {
			t.Errorf("%s: %v after %d requests, want %d", c.reason, err, f.calls["PUT"], c.puts)
		}
	}
}

func TestFaultsOfDelete(t *testing.T) {
	t.Parallel()
	all := hashes(0, 2500)
	f := &fake{refused: map[string]types.Error{
		*fileKey(all[7]): {Code: aws.String("InternalError")},
		*fileKey(all[8]): {Code: aws.String("NoSuchKey")}}}
	if err := bucket.NewFiles(f, "b").Delete(t.Context(), all); err != nil ||
		f.calls["DELETE"] != 3 || len(f.refused) != 0 {
		t.Errorf("%v: %d requests, not asked again: %v", err, f.calls["DELETE"], f.refused)
	}
	f = &fake{refused: map[string]types.Error{*fileKey(all[7]): {Code: aws.String("AccessDenied")}}}
	if err := bucket.NewFiles(f, "b").Delete(t.Context(), all); !fault.Is(err, fault.Denied) {
		t.Errorf("%v", err)
	}
}

// TestStoredFileIsNotSentAgain pins that storing what is there costs no bytes and replaces nothing.
func TestStoredFileIsNotSentAgain(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		api, name := client(t, kind, nil)
		files := bucket.NewFiles(api, name)
		blob := state.Blob{Hash: deploytest.HashOf([]byte("x")), Size: 1, Data: []byte("x")}
		tag := func() string {
			out, err := api.HeadObject(t.Context(),
				&s3.HeadObjectInput{Bucket: &name, Key: fileKey(blob.Hash)})
			if err != nil {
				t.Fatal(err)
			}
			return out.LastModified.String() + aws.ToString(out.ETag)
		}
		if err := files.Put(t.Context(), []state.Blob{blob}); err != nil {
			t.Fatal(err)
		}
		before := tag()
		if err := files.Put(t.Context(), []state.Blob{blob}); err != nil || tag() != before {
			t.Errorf("%s: %v: the file was replaced", kind, err)
		}
	}
}
