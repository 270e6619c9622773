package aws

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// maxCopied is the largest object that S3 copies onto itself in one request.
const maxCopied = 5 << 30

// Create implements provider.Handler. An object that was created since the read is updated.
func (o object) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	t, err := o.target(ctx, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	out, err := t.put(nil)
	if met(err) {
		return t.update()
	}
	return out, t.fail("create", err)
}

// Update implements provider.Handler.
func (o object) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	t, err := o.target(ctx, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	return t.update()
}

// updates is how often a write is attempted that conflicted with another write: that may have been
// its own, whose answer was lost.
const updates = 3

// update changes the attributes that differ from the current object.
func (t *target) update() (out provider.Result, err error) {
	for range updates {
		var head *s3.HeadObjectOutput
		if head, err = t.head(); err != nil {
			return out, err
		}
		if out, err = t.change(head); !met(err) {
			return out, t.fail("write", err)
		}
	}
	return out, provider.Errorf(provider.Retryable,
		"s3://%s/%s was changed by another writer at the same time", t.bucket, t.key)
}

// met reports whether an error means that a conditional write conflicted with another write.
func met(err error) bool {
	return awserr.Is(err, awserr.PreconditionFailed, awserr.ConditionalConflict, awserr.NoSuchKey)
}

// change is one attempt of an update; the error is that of S3.
func (t *target) change(head *s3.HeadObjectOutput) (provider.Result, error) {
	if head == nil {
		return t.put(nil)
	}
	have, err := t.observe(head)
	if err != nil {
		return provider.Result{}, err
	}
	diffs := differences(t.want.Attributes, have, properties())
	_, tags := diffs["tags"]
	switch {
	case len(diffs) == 0:
		return provider.Result{}, nil
	case tags && len(diffs) == 1:
		return provider.Result{}, t.tag()
	case t.replaces(head, diffs):
		return t.put(head)
	}
	return provider.Result{}, t.copy(head)
}

// replaces reports whether the bytes have to be sent: because they differ, or because S3 cannot
// copy the object onto itself.
func (t *target) replaces(head *s3.HeadObjectOutput, diffs map[string]diff.Diff) bool {
	if t.want.Attributes["content"] == nil {
		return false
	}
	_, differs := diffs["content"]
	archived := head.StorageClass == types.StorageClassGlacier ||
		head.StorageClass == types.StorageClassDeepArchive
	return differs || archived || size(head) > maxCopied
}

// headers are the properties that are set together with the bytes.
type headers struct {
	contentType, encoding, disposition, language, cacheControl *string
	redirect                                                   *string
	metadata                                                   map[string]string
	storage                                                    types.StorageClass
	encryption                                                 types.ServerSideEncryption
	kmsKey                                                     *string
	tagging                                                    *string
}

// headers returns the desired properties, and the current ones of the rest. head is nil for a new
// object.
func (t *target) headers(head *s3.HeadObjectOutput) (headers, error) {
	if head == nil {
		head = &s3.HeadObjectOutput{}
	}
	pick := func(name string, have *string) *string {
		if want := text(t.want, name); want != "" {
			return &want
		}
		return have
	}
	h := headers{
		contentType:  pick("content_type", head.ContentType),
		encoding:     pick("content_encoding", head.ContentEncoding),
		disposition:  pick("content_disposition", head.ContentDisposition),
		language:     pick("content_language", head.ContentLanguage),
		cacheControl: pick("cache_control", head.CacheControl),
		redirect:     head.WebsiteRedirectLocation, metadata: texts(t.want, "metadata"),
		storage: head.StorageClass, encryption: head.ServerSideEncryption, kmsKey: head.SSEKMSKeyId,
	}
	if h.metadata == nil {
		h.metadata = metadataOf(head)
	}
	if s := text(t.want, "storage_class"); s != "" {
		h.storage = types.StorageClass(s)
	}
	if s := text(t.want, "encryption"); s != "" {
		if h.encryption != types.ServerSideEncryption(s) {
			h.encryption, h.kmsKey = types.ServerSideEncryption(s), nil
		}
		h.kmsKey = pick("kms_key", h.kmsKey)
	}
	tags := texts(t.want, "tags")
	if tags == nil && head.ETag != nil && (head.TagCount == nil || *head.TagCount > 0) {
		var err error
		tags, err = t.tags()
		if awserr.Kind(err) == fault.Denied { // unreadable tags cannot be preserved
			t.ctx.Debug("tags that the object may have are not kept", "error", awserr.Text(err))
			err = nil
		}
		if err != nil {
			return h, err
		}
	}
	h.tagging = tagging(tags)
	return h, nil
}

// tagging encodes tags for a request that stores an object.
func tagging(tags map[string]string) *string {
	if len(tags) == 0 {
		return nil
	}
	v := url.Values{}
	for k, t := range tags {
		v.Set(k, t)
	}
	return sdk.String(strings.ReplaceAll(v.Encode(), "+", "%20"))
}

// put sends the bytes and all properties. It succeeds only if the object is still the one of head;
// nil: if there is none. The error is that of S3.
func (t *target) put(head *s3.HeadObjectOutput) (provider.Result, error) {
	h, err := t.headers(head)
	if err != nil {
		return provider.Result{}, err
	}
	b, err := t.body()
	if err != nil {
		return provider.Result{}, err
	}
	defer b.Close()
	if b.size > t.single {
		m := multipart{t, b}
		return m.send(h, head)
	}
	in := &s3.PutObjectInput{Bucket: &t.bucket, Key: &t.key, Body: b, ContentLength: &b.size,
		ChecksumSHA256: sdk.String(base64.StdEncoding.EncodeToString(b.sum)),
		ContentType:    h.contentType, ContentEncoding: h.encoding, ContentDisposition: h.disposition,
		ContentLanguage: h.language, CacheControl: h.cacheControl,
		WebsiteRedirectLocation: h.redirect, Metadata: h.metadata, StorageClass: h.storage,
		ServerSideEncryption: h.encryption, SSEKMSKeyId: h.kmsKey,
		Tagging: h.tagging}
	if in.IfNoneMatch = sdk.String("*"); head != nil {
		in.IfNoneMatch, in.IfMatch = nil, head.ETag
	}
	_, err = t.api.PutObject(t.ctx, in)
	return provider.Result{}, damaged(b, err)
}

// damaged explains why bytes are rejected.
func damaged(b *body, err error) error {
	if b.hash != "" && awserr.Is(err, awserr.BadDigest, "XAmzContentSHA256Mismatch",
		"XAmzContentChecksumMismatch") {
		return provider.Errorf(provider.Terminal,
			"the uploaded bytes %s are damaged; upload them again", b.hash)
	}
	return err
}

// copy makes S3 copy the object onto itself, with other headers.
func (t *target) copy(head *s3.HeadObjectOutput) error {
	h, err := t.headers(head)
	if err != nil {
		return err
	}
	if size(head) > maxCopied {
		return provider.Errorf(provider.NeedsChange,
			"the object is too large for S3 to change its metadata; give the resource "+
				"its content")
	}
	if sum := head.Metadata[hashName]; sum != "" && sum == hashOf(head) {
		// S3 now computes a checksum of all bytes; not all compatible stores do
		h.metadata[hashName] = sum
	}
	tags := types.TaggingDirectiveReplace
	if t.want.Attributes["tags"] == nil {
		tags, h.tagging = types.TaggingDirectiveCopy, nil
	}
	_, err = t.api.CopyObject(t.ctx, &s3.CopyObjectInput{Bucket: &t.bucket, Key: &t.key,
		CopySource:        sdk.String(copySource(t.bucket, t.key)),
		CopySourceIfMatch: head.ETag, MetadataDirective: types.MetadataDirectiveReplace,
		TaggingDirective: tags, Tagging: h.tagging,
		ChecksumAlgorithm: types.ChecksumAlgorithmSha256, ContentType: h.contentType,
		ContentEncoding: h.encoding, ContentDisposition: h.disposition,
		ContentLanguage: h.language, CacheControl: h.cacheControl,
		WebsiteRedirectLocation: h.redirect, Metadata: h.metadata, StorageClass: h.storage,
		ServerSideEncryption: h.encryption, SSEKMSKeyId: h.kmsKey})
	return err
}

// copySource names an object in a header.
func copySource(bucket, key string) string {
	parts := strings.Split(key, "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(parts[i]), "+", "%20")
	}
	return bucket + "/" + strings.Join(parts, "/")
}

// tag replaces the tags, and leaves the bytes and their version unchanged.
func (t *target) tag() error {
	tags := texts(t.want, "tags")
	if len(tags) == 0 {
		_, err := t.api.DeleteObjectTagging(t.ctx, &s3.DeleteObjectTaggingInput{Bucket: &t.bucket,
			Key: &t.key})
		return err
	}
	set := make([]types.Tag, 0, len(tags))
	for k, v := range maps.All(tags) {
		set = append(set, types.Tag{Key: &k, Value: &v})
	}
	_, err := t.api.PutObjectTagging(t.ctx, &s3.PutObjectTaggingInput{Bucket: &t.bucket,
		Key: &t.key, Tagging: &types.Tagging{TagSet: set}})
	return err
}

// Delete implements provider.Handler.
func (o object) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	t, err := o.target(ctx, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	if all, _ := t.want.Attributes["delete_versions"].(bool); all {
		return provider.Result{}, t.versions(t.remove)
	}
	_, err = t.api.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &t.bucket, Key: &t.key})
	if awserr.Kind(err) == fault.NotFound {
		err = nil
	}
	return provider.Result{}, t.fail("delete", err)
}

// remove deletes versions permanently.
func (t *target) remove(ids []types.ObjectIdentifier) error {
	out, err := t.api.DeleteObjects(t.ctx, &s3.DeleteObjectsInput{Bucket: &t.bucket,
		Delete: &types.Delete{Objects: ids, Quiet: sdk.Bool(true)}})
	if err != nil {
		return t.fail("delete the versions of", err)
	}
	if len(out.Errors) > 0 {
		e := &out.Errors[0]
		class := provider.Retryable
		if sdk.ToString(e.Code) == "AccessDenied" {
			class = provider.Terminal
		}
		return provider.Errorf(class, "delete version %s of s3://%s/%s: %s: %s",
			sdk.ToString(e.VersionId), t.bucket, t.key, sdk.ToString(e.Code),
			sdk.ToString(e.Message))
	}
	return nil
}

// body returns the desired bytes; the caller closes it.
func (t *target) body() (*body, error) {
	switch c := t.want.Attributes["content"].(type) {
	case nil:
		return textBody(""), nil
	case string:
		return textBody(c), nil
	case resource.File:
		sum, err := hex.DecodeString(c.Hash)
		if err != nil || len(sum) != sha256.Size {
			return nil, provider.Errorf(provider.NeedsChange, "%q is not a SHA-256", c.Hash)
		}
		return &body{ctx: t.ctx, hash: c.Hash, sum: sum, size: c.Size}, nil
	}
	return nil, provider.Errorf(provider.NeedsChange, "content is neither text nor a file: %s",
		fmt.Sprintf("%T", t.want.Attributes["content"]))
}
