package aws

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/provider"
)

// upload is what is known of an upload in parts between two calls.
type upload struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`           // of what is sent
	Part int64  `json:"part"`           // bytes
	ETag string `json:"etag,omitempty"` // of what is to be replaced
}

// parts sends a large body in parts. When that takes long it asks to be called again, and goes on
// where it was; what is visible changes only at the end.
func (t *target) parts(b *body, h headers, head *s3.HeadObjectOutput) (provider.Result, error) {
	now := upload{Hash: b.hash, Part: t.partOf(b.size)}
	if head != nil {
		now.ETag = sdk.ToString(head.ETag)
	}
	var before upload
	if json.Unmarshal(t.ctx.State(), &before) == nil && before.ID != "" {
		now.ID = before.ID
		if now != before {
			t.abort(before.ID) // it was about something else
			now.ID = ""
		}
	}
	var done []types.CompletedPart
	var err error
	if now.ID == "" {
		now.ID, err = t.begin(b, h)
	} else {
		if done, err = t.sent(now); awserr.Is(err, "NoSuchUpload") { // someone has given it up
			now.ID, err = t.begin(b, h)
		}
	}
	if err != nil {
		return provider.Result{}, err
	}
	done, err = t.send(b, now, done)
	switch {
	case err != nil:
		t.abort(now.ID)
		return provider.Result{}, damaged(b, err)
	case int64(len(done))*now.Part < b.size:
		state, err := json.Marshal(now)
		return provider.Result{Again: &provider.Again{After: time.Second, State: state}}, err
	}
	return provider.Result{}, t.complete(now, done)
}

// partOf returns how large the parts of an object are.
func (t *target) partOf(total int64) int64 {
	const mib = 1 << 20
	least := (total + maxParts - 1) / maxParts
	return max(t.part, (least+mib-1)/mib*mib)
}

func (t *target) begin(b *body, h headers) (string, error) {
	metadata := maps.Clone(h.metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata[hashName] = b.hash
	out, err := t.api.CreateMultipartUpload(t.ctx, &s3.CreateMultipartUploadInput{Bucket: &t.bucket, Key: &t.key, Metadata: metadata,
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumType: types.ChecksumTypeComposite, ContentType: h.contentType, ContentEncoding: h.encoding,
		ContentDisposition: h.disposition, ContentLanguage: h.language, CacheControl: h.cacheControl, WebsiteRedirectLocation: h.redirect,
		StorageClass: h.storage, ServerSideEncryption: h.encryption, SSEKMSKeyId: h.kmsKey, Tagging: h.tagging})
	if err != nil {
		return "", err
	}
	return *out.UploadId, nil
}

// sent returns the parts that have arrived, as far as they are without a gap.
func (t *target) sent(u upload) ([]types.CompletedPart, error) {
	var out []types.CompletedPart
	in := &s3.ListPartsInput{Bucket: &t.bucket, Key: &t.key, UploadId: &u.ID}
	for {
		page, err := t.api.ListParts(t.ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range page.Parts {
			p := &page.Parts[i]
			if sdk.ToInt32(p.PartNumber) != int32(len(out)+1) { // at most maxParts
				return out, nil
			}
			out = append(out, types.CompletedPart{PartNumber: p.PartNumber, ETag: p.ETag, ChecksumSHA256: p.ChecksumSHA256})
		}
		if !sdk.ToBool(page.IsTruncated) {
			return out, nil
		}
		in.PartNumberMarker = page.NextPartNumberMarker
	}
}

// send sends parts after those that are done, until all are or the time is up. It sends at least
// one.
func (t *target) send(b *body, u upload, done []types.CompletedPart) ([]types.CompletedPart, error) {
	if _, err := b.Seek(int64(len(done))*u.Part, io.SeekStart); err != nil {
		return done, err
	}
	began := time.Now()
	buf := make([]byte, min(u.Part, b.size))
	for int64(len(done))*u.Part < b.size {
		n, err := io.ReadFull(b, buf[:min(u.Part, b.size-b.at)])
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
				return done, provider.Errorf(provider.Terminal, "the uploaded bytes %s are damaged; upload them again", b.hash)
			}
			return done, err
		}
		number, sum := int32(len(done)+1), sha256.Sum256(buf[:n]) // at most maxParts
		checksum := base64.StdEncoding.EncodeToString(sum[:])
		out, err := t.api.UploadPart(t.ctx, &s3.UploadPartInput{Bucket: &t.bucket, Key: &t.key, UploadId: &u.ID, PartNumber: &number,
			Body: bytes.NewReader(buf[:n]), ContentLength: sdk.Int64(int64(n)), ChecksumSHA256: &checksum})
		if err != nil {
			return done, err
		}
		done = append(done, types.CompletedPart{PartNumber: &number, ETag: out.ETag, ChecksumSHA256: &checksum})
		if time.Since(began) >= t.slice {
			break
		}
	}
	return done, nil
}

// complete makes the object visible, if what it replaces is still what it was, and removes what
// uploads before it that were cut off have left.
func (t *target) complete(u upload, done []types.CompletedPart) error {
	slices.SortFunc(done, func(a, b types.CompletedPart) int { return cmp.Compare(*a.PartNumber, *b.PartNumber) })
	in := &s3.CompleteMultipartUploadInput{Bucket: &t.bucket, Key: &t.key, UploadId: &u.ID, MultipartUpload: &types.CompletedMultipartUpload{Parts: done},
		ChecksumType: types.ChecksumTypeComposite}
	if in.IfNoneMatch = sdk.String("*"); u.ETag != "" {
		in.IfNoneMatch, in.IfMatch = nil, &u.ETag
	}
	if _, err := t.api.CompleteMultipartUpload(t.ctx, in); err != nil {
		t.abort(u.ID)
		return err
	}
	list := &s3.ListMultipartUploadsInput{Bucket: &t.bucket, Prefix: &t.key}
	page, err := t.api.ListMultipartUploads(t.ctx, list)
	if err != nil {
		t.ctx.Debug("uploads that were cut off are not looked for", "error", errorText(err))
		return nil
	}
	for i := range page.Uploads {
		if old := &page.Uploads[i]; sdk.ToString(old.Key) == t.key {
			t.abort(sdk.ToString(old.UploadId))
		}
	}
	return nil
}

// abort gives up an upload. What is left when that fails costs storage until the next upload of the
// object, or the bucket's lifecycle, ends it.
func (t *target) abort(id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), 5*time.Second)
	defer cancel()
	if _, err := t.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &t.bucket, Key: &t.key, UploadId: &id}); err != nil {
		t.ctx.Debug("an upload could not be given up", "error", errorText(err))
	}
}
