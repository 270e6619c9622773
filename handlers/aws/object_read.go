package aws

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

const (
	reserved = "southbound-"
	// hashName is the metadata with the SHA-256 of an object that was sent in parts: S3 then has
	// only a checksum of the parts' checksums.
	hashName = reserved + "sha256"
)

// target is one object during one call.
type target struct {
	object
	ctx         *provider.Context
	api         *s3.Client
	want        provider.Resource
	bucket, key string
}

func (o object) target(ctx *provider.Context, r provider.Resource) (*target, error) {
	t := &target{object: o, ctx: ctx, want: r, bucket: text(r, "bucket"), key: text(r, "key")}
	c, err := connection(ctx)
	if err != nil {
		return nil, err
	}
	if c.Reserved(t.bucket) {
		return nil, provider.Errorf(provider.NeedsChange,
			"the bucket %s holds Southbound's own state; use another", t.bucket)
	}
	t.api = s3Client(c)
	return t, nil
}

// fail adds the operation and the object to an error. The engine redacts the secrets: S3 repeats no
// content.
func (t *target) fail(doing string, err error) error {
	return failure(fmt.Sprintf("%s s3://%s/%s", doing, t.bucket, t.key), err)
}

// head returns S3's description of the object; nil if it does not exist.
func (t *target) head() (*s3.HeadObjectOutput, error) {
	out, err := t.api.HeadObject(t.ctx, &s3.HeadObjectInput{Bucket: &t.bucket, Key: &t.key,
		ChecksumMode: types.ChecksumModeEnabled})
	switch {
	case err == nil:
		return out, nil
	case awserr.Kind(err) == fault.NotFound:
		return nil, nil
	case awserr.Kind(err) == fault.Denied:
		// A HEAD has no body and therefore no reason.
		return nil, provider.Errorf(provider.Terminal,
			"read s3://%s/%s: %s; grant s3:GetObject and s3:ListBucket; without "+
				"s3:ListBucket, S3 answers 403 for a missing object",
			t.bucket, t.key, awserr.Text(err))
	}
	return nil, t.fail("read", err)
}

// Read implements provider.Handler.
func (o object) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	t, err := o.target(ctx, req.Resource)
	if err != nil {
		return provider.Observation{}, err
	}
	if all, _ := t.want.Attributes["delete_versions"].(bool); t.want.Purged && all {
		found := false
		err := t.versions(func([]types.ObjectIdentifier) error { found = true; return nil })
		return provider.Observation{Exists: found}, err
	}
	head, err := t.head()
	if err != nil || head == nil {
		return provider.Observation{}, err
	}
	attrs, err := t.observe(head)
	out := provider.Observation{Exists: err == nil, Attributes: attrs}
	if head.ETag != nil {
		out.Mark = *head.ETag
	}
	return out, err
}

// observe returns the current attributes.
func (t *target) observe(head *s3.HeadObjectOutput) (map[string]any, error) {
	out := map[string]any{"size": size(head), "storage_class": "STANDARD",
		"metadata": value(metadataOf(head))}
	if head.StorageClass != "" {
		out["storage_class"] = string(head.StorageClass)
	}
	if head.ServerSideEncryption != "" {
		out["encryption"] = string(head.ServerSideEncryption)
	}
	for name, v := range map[string]*string{"content_type": head.ContentType,
		"content_encoding":    head.ContentEncoding,
		"content_disposition": head.ContentDisposition, "content_language": head.ContentLanguage,
		"cache_control": head.CacheControl,
		"etag":          head.ETag, "version_id": head.VersionId, "kms_key": head.SSEKMSKeyId} {
		if v != nil && *v != "" {
			out[name] = *v
		}
	}
	// S3 returns the ARN of the key, also if it was given an id or an alias.
	if have, _ := out["kms_key"].(string); strings.HasSuffix(have, "/"+text(t.want, "kms_key")) {
		out["kms_key"] = t.want.Attributes["kms_key"]
	}
	if want := t.want.Attributes["content"]; want != nil && !t.want.Purged {
		out["content"] = t.content(want, head)
	}
	if t.want.Attributes["tags"] != nil && !t.want.Purged {
		tags, err := t.tags()
		if err != nil {
			return nil, t.fail("read the tags of", err)
		}
		out["tags"] = value(tags)
	}
	return out, nil
}

func size(head *s3.HeadObjectOutput) int64 {
	if head.ContentLength == nil {
		return 0
	}
	return *head.ContentLength
}

// metadataOf returns the metadata of the author.
func metadataOf(head *s3.HeadObjectOutput) map[string]string {
	out := map[string]string{}
	for name, v := range head.Metadata {
		if name = strings.ToLower(name); !strings.HasPrefix(name, reserved) {
			out[name] = v
		}
	}
	return out
}

// content returns the content of the object as far as its checksum identifies it: the desired value
// itself if the checksums are equal.
func (t *target) content(want any, head *s3.HeadObjectOutput) any {
	have, n := hashOf(head), size(head)
	switch want := want.(type) {
	case resource.File:
		if have == want.Hash && n == want.Size {
			return want
		}
	case string:
		sum := sha256.Sum256([]byte(want))
		if n == int64(len(want)) && have == hex.EncodeToString(sum[:]) {
			return want
		}
	default:
		return nil
	}
	return resource.File{Hash: have, Size: n} // without a hash, its bytes are unknown
}

// hashOf returns the SHA-256 of the bytes of an object, "" if S3 does not know it. The entity tag
// is no such hash. It is an MD5 of the bytes only for objects that are neither encrypted nor
// uploaded in parts.
func hashOf(head *s3.HeadObjectOutput) string {
	if size(head) == 0 {
		sum := sha256.Sum256(nil)
		return hex.EncodeToString(sum[:])
	}
	if b, err := base64.StdEncoding.DecodeString(sdk.ToString(head.ChecksumSHA256)); err == nil &&
		len(b) == sha256.Size {
		return hex.EncodeToString(b)
	}
	if strings.Contains(sdk.ToString(head.ETag), "-") {
		// in parts: replacing the object also replaces its metadata
		return head.Metadata[hashName]
	}
	return ""
}

// tags returns the tags of the object; the error is that of S3.
func (t *target) tags() (map[string]string, error) {
	out, err := t.api.GetObjectTagging(t.ctx, &s3.GetObjectTaggingInput{Bucket: &t.bucket,
		Key: &t.key})
	if err != nil {
		return nil, err
	}
	tags := make(map[string]string, len(out.TagSet))
	for _, tag := range out.TagSet {
		tags[*tag.Key] = *tag.Value
	}
	return tags, nil
}

// versions calls f for all versions and delete markers of the object, a page at a time.
func (t *target) versions(f func(ids []types.ObjectIdentifier) error) error {
	in := &s3.ListObjectVersionsInput{Bucket: &t.bucket, Prefix: &t.key}
	for {
		page, err := t.api.ListObjectVersions(t.ctx, in)
		if awserr.Kind(err) == fault.NotFound {
			return nil // no bucket, no versions
		}
		if err != nil {
			return t.fail("list the versions of", err)
		}
		var ids []types.ObjectIdentifier
		for i := range page.Versions {
			if v := &page.Versions[i]; *v.Key == t.key {
				ids = append(ids, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
			}
		}
		for i := range page.DeleteMarkers {
			if v := &page.DeleteMarkers[i]; *v.Key == t.key {
				ids = append(ids, types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
			}
		}
		if len(ids) > 0 {
			if err := f(ids); err != nil {
				return err
			}
		}
		// Keys that begin with this one come after all versions of it.
		if page.IsTruncated == nil || !*page.IsTruncated || page.NextKeyMarker == nil ||
			*page.NextKeyMarker != t.key {
			return nil
		}
		in.KeyMarker, in.VersionIdMarker = page.NextKeyMarker, page.NextVersionIdMarker
	}
}
