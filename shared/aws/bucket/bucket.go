// Package bucket stores files in S3 by their SHA-256, and objects of the state.
// docs/design/aws-ports.md explains the design.
package bucket

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"

	"southbound/shared/aws/awserr"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// API is the part of S3's API that this package uses. *s3.Client implements it.
type API interface {
	HeadObject(
		ctx context.Context, in *s3.HeadObjectInput, opts ...func(*s3.Options),
	) (*s3.HeadObjectOutput, error)
	PutObject(
		ctx context.Context, in *s3.PutObjectInput, opts ...func(*s3.Options),
	) (*s3.PutObjectOutput, error)
	GetObject(
		ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options),
	) (*s3.GetObjectOutput, error)
	ListObjectsV2(
		ctx context.Context, in *s3.ListObjectsV2Input, opts ...func(*s3.Options),
	) (*s3.ListObjectsV2Output, error)
	DeleteObjects(
		ctx context.Context, in *s3.DeleteObjectsInput, opts ...func(*s3.Options),
	) (*s3.DeleteObjectsOutput, error)
}

// Files implements state.Files in a bucket, under files/. Any number of goroutines and processes
// may use it.
type Files struct {
	api    API
	bucket string
}

var _ state.Files = (*Files)(nil)

// NewFiles returns the files of a bucket. The bucket has to exist.
func NewFiles(api API, bucket string) *Files { return &Files{api: api, bucket: bucket} }

const (
	filePrefix = "files/"
	workers    = 16
	pageSize   = 1000 // keys in a LIST or a DELETE request
	tries      = 5    // of a conditional write that conflicts with another
)

var hashPattern = pattern.Lazy(`^[0-9a-f]{64}$`)

func checkHash(op, hash string) error {
	if !hashPattern().MatchString(hash) {
		return fault.New(fault.Invalid, op, "%q is not a SHA-256", hash)
	}
	return nil
}

// key returns the key of a file. It distributes files over folders, as the embedded home does.
func key(hash string) string { return filePrefix + hash[:2] + "/" + hash }

// hashOf returns the hash in a key. If the key is not one of a file, hashOf returns false.
func hashOf(key string) (string, bool) {
	_, hash, ok := strings.Cut(strings.TrimPrefix(key, filePrefix), "/")
	return hash, ok && hashPattern().MatchString(hash)
}

// each calls f for 0..n-1, some concurrently, and returns the first error. After an error it starts
// no further calls.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, running := errgroup.WithContext(ctx)
	group.SetLimit(workers)
	for i := range n {
		if running.Err() != nil {
			break
		}
		group.Go(func() error { return f(running, i) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return awserr.Fault("store file", ctx.Err())
}

// Missing implements state.Files. It lists stored files from the first requested hash on, and
// continues from the next requested hash after the page. So it sends at most one request a hash,
// and about one for a thousand stored files.
func (f *Files) Missing(ctx context.Context, hashes []string) ([]string, error) {
	for _, h := range hashes {
		if err := checkHash("find file", h); err != nil {
			return nil, err
		}
	}
	want := slices.Compact(slices.Sorted(slices.Values(hashes)))
	if len(want) <= fewFiles {
		return f.missingFew(ctx, want)
	}
	const segment = 4000 // segments of many hashes are listed concurrently
	parts := slices.Collect(slices.Chunk(want, segment))
	gone := make([][]string, len(parts))
	err := each(ctx, len(parts), func(ctx context.Context, i int) (err error) {
		gone[i], err = f.missingMany(ctx, parts[i])
		return err
	})
	return slices.Concat(gone...), err
}

func (f *Files) missingMany(ctx context.Context, want []string) ([]string, error) {
	var out []string
	for len(want) > 0 {
		have, last, err := f.page(ctx, want[0])
		if err != nil {
			return nil, err
		}
		n := len(want)
		if last != "" { // the page ends before all stored files
			n, _ = slices.BinarySearchFunc(want, last, func(h, last string) int {
				return cmp.Or(strings.Compare(key(h), last), -1)
			})
		}
		for _, h := range want[:n] {
			if !have[h] {
				out = append(out, h)
			}
		}
		want = want[n:]
	}
	return out, nil
}

// fewFiles are checked one by one: a HEAD costs less than a tenth of a LIST.
const fewFiles = 3

func (f *Files) missingFew(ctx context.Context, want []string) ([]string, error) {
	gone := make([]bool, len(want))
	err := each(ctx, len(want), func(ctx context.Context, i int) error {
		_, err := f.api.HeadObject(ctx,
			&s3.HeadObjectInput{Bucket: &f.bucket, Key: aws.String(key(want[i]))})
		if awserr.Kind(err) == fault.NotFound && err != nil {
			gone[i] = true
			return nil
		}
		return awserr.Fault("find file", err)
	})
	var out []string
	for i, h := range want {
		if gone[i] {
			out = append(out, h)
		}
	}
	return out, err
}

// page lists stored files from a hash on. It returns the last key that the page covers, or "" if
// there are no more.
func (f *Files) page(
	ctx context.Context, from string,
) (have map[string]bool, last string, err error) {
	after := key(from)
	after = after[:len(after)-1] // sorts before the key
	res, err := f.api.ListObjectsV2(ctx,
		&s3.ListObjectsV2Input{Bucket: &f.bucket, Prefix: aws.String(filePrefix),
			StartAfter: &after})
	if err != nil {
		return nil, "", awserr.Fault("find file", err)
	}
	have = make(map[string]bool, len(res.Contents))
	for _, o := range res.Contents {
		if h, ok := hashOf(aws.ToString(o.Key)); ok {
			have[h] = true
		}
	}
	if n := len(res.Contents); n > 0 && aws.ToBool(res.IsTruncated) {
		last = max(aws.ToString(res.Contents[n-1].Key), key(from)) // guarantees progress
	}
	return have, last, nil
}

// Put implements state.Files. It does not replace a stored file, unless its bytes do not match its
// hash.
func (f *Files) Put(ctx context.Context, blobs []state.Blob) error {
	for i := range blobs {
		if err := checkHash("store file", blobs[i].Hash); err != nil {
			return err
		}
	}
	return each(ctx, len(blobs), func(ctx context.Context, i int) error {
		return f.put(ctx, &blobs[i])
	})
}

func (f *Files) put(ctx context.Context, b *state.Blob) error {
	for try := 1; ; try++ {
		err := f.putOnce(ctx, b)
		switch {
		case awserr.Is(err, awserr.PreconditionFailed):
			return f.mend(ctx, b)
		// another process is writing the same file
		case awserr.Is(err, awserr.ConditionalConflict) && try < tries:
		case awserr.Is(err, awserr.BadDigest, "InvalidDigest", "XAmzContentChecksumMismatch"):
			return otherBytes(b.Hash)
		default:
			return awserr.Fault("store file", err)
		}
	}
}

func otherBytes(hash string) error {
	return fault.New(fault.Invalid, "store file", "the bytes are not those of the hash %s", hash).
		WithHint("the file changed while it was read; export again")
}

// putOnce sends the bytes unless the key exists. bodyOf checks the bytes against the hash before
// they are sent, and S3 checks them after it has received them.
func (f *Files) putOnce(ctx context.Context, b *state.Blob) error {
	body, size, err := bodyOf(b)
	if err != nil {
		return err
	}
	defer body.Close()
	sum, _ := hex.DecodeString(b.Hash) // checked by Put
	_, err = f.api.PutObject(ctx, &s3.PutObjectInput{Bucket: &f.bucket,
		Key: aws.String(key(b.Hash)), Body: body, ContentLength: &size,
		IfNoneMatch: aws.String("*"), ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum))})
	return err
}

// mend reads the checksum of an existing object, and replaces the object if the checksum is wrong.
func (f *Files) mend(ctx context.Context, b *state.Blob) error {
	head, err := f.api.HeadObject(ctx,
		&s3.HeadObjectInput{Bucket: &f.bucket, Key: aws.String(key(b.Hash)),
			ChecksumMode: types.ChecksumModeEnabled})
	if err != nil {
		return awserr.Fault("store file", err)
	}
	sum, _ := hex.DecodeString(b.Hash)
	want := base64.StdEncoding.EncodeToString(sum)
	if have := aws.ToString(head.ChecksumSHA256); have == want {
		return nil
	}
	body, size, err := bodyOf(b)
	if err != nil {
		return err
	}
	defer body.Close()
	_, err = f.api.PutObject(ctx, &s3.PutObjectInput{Bucket: &f.bucket,
		Key: aws.String(key(b.Hash)), Body: body, ContentLength: &size,
		IfMatch: head.ETag, ChecksumAlgorithm: types.ChecksumAlgorithmSha256,
		ChecksumSHA256: &want})
	if awserr.Is(err, awserr.PreconditionFailed) {
		return nil // another process replaced it
	}
	return awserr.Fault("store file", err)
}

// Get implements state.Files.
func (f *Files) Get(ctx context.Context, hashes []string) ([][]byte, error) {
	for _, h := range hashes {
		if err := checkHash("read file", h); err != nil {
			return nil, err
		}
	}
	out := make([][]byte, len(hashes))
	err := each(ctx, len(hashes), func(ctx context.Context, i int) error {
		r, err := f.Open(ctx, hashes[i])
		if err != nil {
			return err
		}
		defer r.Close()
		out[i], err = io.ReadAll(r)
		return awserr.Fault("read file", err)
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Open implements state.Files. If the bytes do not match the hash, the last read returns a
// fault.Damaged.
func (f *Files) Open(ctx context.Context, hash string) (io.ReadCloser, error) {
	if err := checkHash("read file", hash); err != nil {
		return nil, err
	}
	res, err := f.api.GetObject(ctx,
		&s3.GetObjectInput{Bucket: &f.bucket, Key: aws.String(key(hash))})
	if err != nil {
		return nil, awserr.Fault("read file", err)
	}
	return &checked{ReadCloser: res.Body, hash: hash, sum: sha256.New()}, nil
}

// checked compares the bytes that were read with the hash.
type checked struct {
	io.ReadCloser
	hash string
	sum  interface {
		io.Writer
		Sum(b []byte) []byte
	}
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	_, _ = c.sum.Write(p[:n])
	switch {
	case errors.Is(err, io.EOF) && hex.EncodeToString(c.sum.Sum(nil)) != c.hash:
		return n, fault.New(fault.Damaged, "read file", "the stored file %s has other bytes",
			c.hash).
			WithHint("restore an earlier version of the object, or remove it and export again")
	case err != nil && !errors.Is(err, io.EOF):
		return n, awserr.Fault("read file", err)
	}
	return n, err // io.EOF must not be wrapped
}

// List implements state.Files.
func (f *Files) List(ctx context.Context, visit func(hash string, stored time.Time) error) error {
	return listKeys(ctx, f.api, f.bucket, filePrefix, func(key string, stored time.Time) error {
		if h, ok := hashOf(key); ok {
			return visit(h, stored)
		}
		return nil
	})
}

// listKeys calls visit for every object under a prefix, until visit returns an error.
func listKeys(ctx context.Context, api API, bucket, prefix string,
	visit func(key string, stored time.Time) error) error {
	in := &s3.ListObjectsV2Input{Bucket: &bucket, Prefix: &prefix}
	for {
		res, err := api.ListObjectsV2(ctx, in)
		if err != nil {
			return awserr.Fault("list files", err)
		}
		for _, o := range res.Contents {
			if err := visit(aws.ToString(o.Key), aws.ToTime(o.LastModified)); err != nil {
				return err
			}
		}
		if !aws.ToBool(res.IsTruncated) {
			return nil
		}
		in.ContinuationToken = res.NextContinuationToken
	}
}

// Delete implements state.Files.
func (f *Files) Delete(ctx context.Context, hashes []string) error {
	keys := make([]string, len(hashes))
	for i, h := range hashes {
		if err := checkHash("remove file", h); err != nil {
			return err
		}
		keys[i] = key(h)
	}
	return deleteKeys(ctx, f.api, f.bucket, keys)
}

// deleteKeys removes objects, and retries those that S3 could not remove.
func deleteKeys(ctx context.Context, api API, bucket string, keys []string) error {
	for try := 1; len(keys) > 0; try++ {
		n := min(len(keys), pageSize)
		ids := make([]types.ObjectIdentifier, n)
		for i := range ids {
			ids[i].Key = &keys[i]
		}
		res, err := api.DeleteObjects(ctx,
			&s3.DeleteObjectsInput{Bucket: &bucket,
				Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
		if err != nil {
			return awserr.Fault("remove file", err)
		}
		keys = keys[n:]
		for _, e := range res.Errors {
			switch code := aws.ToString(e.Code); {
			case code == awserr.NoSuchKey:
			case (code == "InternalError" || code == "SlowDown" || code == "ServiceUnavailable") &&
				try < tries:
				keys = append(keys, aws.ToString(e.Key))
			case code == "AccessDenied":
				return fault.New(fault.Denied, "remove file", "%s: %s", aws.ToString(e.Key),
					aws.ToString(e.Message))
			default:
				return fault.New(fault.Unavailable, "remove file", "%s: %s %s", aws.ToString(e.Key),
					code, aws.ToString(e.Message))
			}
		}
	}
	return nil
}
