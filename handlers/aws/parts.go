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

// upload is the state of an upload in parts between two calls.
type upload struct {
	ID   string `json:"id"`
	Hash string `json:"hash"`           // of the sent bytes
	Part int64  `json:"part"`           // bytes
	ETag string `json:"etag,omitempty"` // of the object to replace
}

// multipart sends a body in parts.
type multipart struct {
	*target
	from *body
}

// send sends a large body in parts. If that takes long, send returns Again, and the next call
// continues the upload. Readers see the new object only at the end.
func (m *multipart) send(h headers, head *s3.HeadObjectOutput) (provider.Result, error) {
	now := upload{Hash: m.from.hash, Part: m.partOf(m.from.size)}
	if head != nil {
		now.ETag = sdk.ToString(head.ETag)
	}
	var before upload
	if json.Unmarshal(m.ctx.State(), &before) == nil && before.ID != "" {
		now.ID = before.ID
		if now != before {
			m.abort(before.ID) // it was for another body
			now.ID = ""
		}
	}
	var done []types.CompletedPart
	var err error
	if now.ID == "" {
		now.ID, err = m.begin(h)
	} else {
		if done, err = m.sent(now); awserr.Is(err, "NoSuchUpload") { // another client aborted it
			now.ID, err = m.begin(h)
		}
	}
	if err != nil {
		return provider.Result{}, err
	}
	done, err = m.sendParts(now, done)
	switch {
	case err != nil:
		m.abort(now.ID)
		return provider.Result{}, damaged(m.from, err)
	case int64(len(done))*now.Part < m.from.size:
		state, err := json.Marshal(now)
		return provider.Result{Again: &provider.Again{After: time.Second, State: state}}, err
	}
	return provider.Result{}, m.complete(now, done)
}

// partOf returns the size of an object's parts.
func (m *multipart) partOf(total int64) int64 {
	const mib = 1 << 20
	least := (total + maxParts - 1) / maxParts
	return max(m.part, (least+mib-1)/mib*mib)
}

func (m *multipart) begin(h headers) (string, error) {
	metadata := maps.Clone(h.metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata[hashName] = m.from.hash
	out, err := m.api.CreateMultipartUpload(m.ctx, &s3.CreateMultipartUploadInput{Bucket: &m.bucket,
		Key: &m.key, Metadata: metadata,
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ChecksumType: types.ChecksumTypeComposite,
		ContentType: h.contentType, ContentEncoding: h.encoding,
		ContentDisposition: h.disposition, ContentLanguage: h.language,
		CacheControl: h.cacheControl, WebsiteRedirectLocation: h.redirect,
		StorageClass: h.storage, ServerSideEncryption: h.encryption, SSEKMSKeyId: h.kmsKey,
		Tagging: h.tagging})
	if err != nil {
		return "", err
	}
	return *out.UploadId, nil
}

// sent returns the uploaded parts up to the first gap.
func (m *multipart) sent(u upload) ([]types.CompletedPart, error) {
	var out []types.CompletedPart
	in := &s3.ListPartsInput{Bucket: &m.bucket, Key: &m.key, UploadId: &u.ID}
	for {
		page, err := m.api.ListParts(m.ctx, in)
		if err != nil {
			return nil, err
		}
		for i := range page.Parts {
			p := &page.Parts[i]
			if sdk.ToInt32(p.PartNumber) != int32(len(out)+1) { // at most maxParts
				return out, nil
			}
			out = append(out, types.CompletedPart{PartNumber: p.PartNumber, ETag: p.ETag,
				ChecksumSHA256: p.ChecksumSHA256})
		}
		if !sdk.ToBool(page.IsTruncated) {
			return out, nil
		}
		in.PartNumberMarker = page.NextPartNumberMarker
	}
}

// sendParts sends parts after the completed ones, until all are sent or the time is up. It sends at
// least one.
func (m *multipart) sendParts(u upload, done []types.CompletedPart) ([]types.CompletedPart, error) {
	if _, err := m.from.Seek(int64(len(done))*u.Part, io.SeekStart); err != nil {
		return done, err
	}
	began := time.Now()
	buf := make([]byte, min(u.Part, m.from.size))
	for int64(len(done))*u.Part < m.from.size {
		n, err := io.ReadFull(m.from, buf[:min(u.Part, m.from.size-m.from.at)])
		if err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
				return done, provider.Errorf(provider.Terminal,
					"the uploaded bytes %s are damaged; upload them again", m.from.hash)
			}
			return done, err
		}
		number, sum := int32(len(done)+1), sha256.Sum256(buf[:n]) // at most maxParts
		checksum := base64.StdEncoding.EncodeToString(sum[:])
		out, err := m.api.UploadPart(m.ctx, &s3.UploadPartInput{Bucket: &m.bucket, Key: &m.key,
			UploadId: &u.ID, PartNumber: &number,
			Body: bytes.NewReader(buf[:n]), ContentLength: sdk.Int64(int64(n)),
			ChecksumSHA256: &checksum})
		if err != nil {
			return done, err
		}
		done = append(done, types.CompletedPart{PartNumber: &number, ETag: out.ETag,
			ChecksumSHA256: &checksum})
		if time.Since(began) >= m.slice {
			break
		}
	}
	return done, nil
}

// complete makes the object visible, if the object that it replaces is unchanged, and removes the
// parts of earlier uploads that were interrupted.
func (m *multipart) complete(u upload, done []types.CompletedPart) error {
	slices.SortFunc(done, func(a, b types.CompletedPart) int {
		return cmp.Compare(*a.PartNumber, *b.PartNumber)
	})
	in := &s3.CompleteMultipartUploadInput{Bucket: &m.bucket, Key: &m.key, UploadId: &u.ID,
		MultipartUpload: &types.CompletedMultipartUpload{Parts: done},
		ChecksumType:    types.ChecksumTypeComposite}
	if in.IfNoneMatch = sdk.String("*"); u.ETag != "" {
		in.IfNoneMatch, in.IfMatch = nil, &u.ETag
	}
	if _, err := m.api.CompleteMultipartUpload(m.ctx, in); err != nil {
		m.abort(u.ID)
		return err
	}
	list := &s3.ListMultipartUploadsInput{Bucket: &m.bucket, Prefix: &m.key}
	page, err := m.api.ListMultipartUploads(m.ctx, list)
	if err != nil {
		m.ctx.Debug("uploads that were cut off are not looked for", "error", awserr.Text(err))
		return nil
	}
	for i := range page.Uploads {
		if old := &page.Uploads[i]; sdk.ToString(old.Key) == m.key {
			m.abort(sdk.ToString(old.UploadId))
		}
	}
	return nil
}

// abort cancels an upload. If that fails, the remaining parts cost storage until the next upload of
// the object, or the bucket's lifecycle, removes them.
func (m *multipart) abort(id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(m.ctx), 5*time.Second)
	defer cancel()
	if _, err := m.api.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &m.bucket,
		Key: &m.key, UploadId: &id}); err != nil {
		m.ctx.Debug("an upload could not be given up", "error", awserr.Text(err))
	}
}
