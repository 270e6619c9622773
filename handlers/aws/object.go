package aws

import (
	"context"
	"fmt"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

const (
	maxSingle = 64 << 20 // bytes that are sent in one request
	partSize  = 16 << 20 // bytes of a part, as long as maxParts are enough
	maxParts  = 10_000
	slice     = 20 * time.Second // how long one call sends parts before it yields to others
)

// object is the handler of aws::s3::Object.
type object struct {
	single, part int64
	slice        time.Duration
}

// Object declares aws::s3::Object.
func Object() provider.Definition {
	return objectWith(object{single: maxSingle, part: partSize, slice: slice})
}

const (
	bucketType = `Pattern[/\A[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]\z/]`
	printable  = `Pattern[/\A[!-~]([ -~]*[!-~])?\z/]`
	headerType = "Optional[" + printable + "]"
	tagsType   = "Optional[Hash[String[1,128],String[0,256],0,%d]]"
)

func objectWith(h object) provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Listed: []string{"bucket", "key"},
			Name:   "aws::s3::Object",
			Description: "An object in a bucket: its bytes and metadata. It is compared by its headers and its " +
				"SHA-256 checksum, so bytes are never downloaded; an object without that checksum is " +
				"written again. Writes are conditional: a concurrent write is not overwritten " +
				"unnoticed. In a versioned bucket each write makes a version, and a purge keeps older " +
				"versions. Attributes that are not set are left unchanged, except access lists and " +
				"object locks, which S3 does not copy to a new version.",
			Transports: []string{"aws"},
			Attributes: []schema.Attribute{
				{Name: "bucket", Type: bucketType, Behaviour: schema.Namevar,
					Description: "the bucket, which must exist, in the region of the agent"},
				{Name: "key", Type: "String[1,1024]", Behaviour: schema.Namevar,
					Description: "the key: at most 1024 bytes, without a / in front"},
				{Name: "content", Type: "Optional[String]",
					Description: "the bytes: text, {file: path} or a secret; absent: any content is accepted, " +
						"and a new one is empty"},
				{Name: "content_type", Type: headerType,
					Description: "the media type, such as text/html; charset=utf-8"},
				{Name: "content_encoding", Type: headerType,
					Description: "the encoding of the bytes, such as gzip"},
				{Name: "content_disposition", Type: headerType,
					Description: "the presentation in a browser, such as attachment; filename=a.pdf"},
				{Name: "content_language", Type: headerType,
					Description: "the language, such as de-CH"},
				{Name: "cache_control", Type: headerType,
					Description: "the caching rule, such as max-age=300"},
				{Name: "metadata", Type: `Optional[Hash[Pattern[/\A[a-z0-9!#$%&'*+.^_|~-]+\z/],` +
					printable + `]]`,
					Description: "all user metadata, by name in lower case; {} for none. Names that begin with " +
						"southbound- are reserved"},
				{Name: "tags", Type: fmt.Sprintf(tagsType, 10),
					Description: "all tags; {} for none"},
				{Name: "storage_class",
					Type:        "Optional[Enum['STANDARD','STANDARD_IA','ONEZONE_IA','INTELLIGENT_TIERING','GLACIER_IR','GLACIER','DEEP_ARCHIVE','REDUCED_REDUNDANCY']]",
					Description: "the storage class; a new object without one is STANDARD"},
				{Name: "encryption", Type: "Optional[Enum['AES256','aws:kms','aws:kms:dsse']]",
					Description: "encryption at rest; absent: the bucket's default"},
				{Name: "kms_key",
					Type: `Optional[Pattern[/\A(arn:[a-z-]+:kms:[a-z0-9-]+:\d{12}:key\/)?[a-zA-Z0-9-]+\z/]]`,
					Description: "the key of aws:kms, by id or ARN; an alias is refused, because its key may " +
						"change"},
				{Name: "delete_versions", Type: "Boolean", Default: false,
					Behaviour: schema.Parameter,
					Description: "a purge removes all versions of the object for good, if the bucket keeps " +
						"versions"},
				{Name: "etag", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: "the entity tag; it is not a checksum"},
				{Name: "version_id", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: "the version, in a versioned bucket"},
				{Name: "size", Type: "Optional[Integer[0]]", Behaviour: schema.ReadOnly,
					Description: "the size in bytes"},
			},
			Features: []string{"batch", "facts", "discover", schema.FeatureFiles},
			Validate: validObject,
			Thing:    schema.ByIdentity("bucket", "key"),
		},
		Handler: h,
	}
}

// validObject checks the rules about several attributes.
func validObject(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	key, _ := attrs["key"].(string)
	switch {
	case len(key) > 1024:
		out = append(out,
			diag.Problem{Attribute: "key", Message: "the key is longer than 1024 bytes",
				Hint: "letters beyond ASCII count for two and more"})
	case strings.HasPrefix(key, "/"):
		out = append(out,
			diag.Problem{Attribute: "key",
				Message: "the key begins with a /, which makes a folder without a name",
				Hint:    "write " + strings.TrimLeft(key, "/")})
	}
	if metadata, ok := attrs["metadata"].(map[string]any); ok {
		for name := range metadata {
			if strings.HasPrefix(name, reserved) {
				out = append(out,
					diag.Problem{Attribute: "metadata", Message: fmt.Sprintf("the name %q is taken",
						name), Hint: "use one that does not begin with " + reserved})
			}
		}
	}
	if e, _ := attrs["encryption"].(string); attrs["kms_key"] != nil &&
		!strings.HasPrefix(e, "aws:kms") {
		out = append(out,
			diag.Problem{Attribute: "kms_key",
				Message: "a key is of no use without encryption by KMS",
				Hint:    "add `encryption: aws:kms`"})
	}
	return out
}

// properties are the compared attributes; all but tags are set together with the content.
func properties() []string {
	return []string{"content", "content_type", "content_encoding", "content_disposition",
		"content_language", "cache_control", "metadata", "tags",
		"storage_class", "encryption", "kms_key"}
}

// Diff implements provider.Differ.
func (object) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	return differences(desired.Attributes, observed.Attributes, properties()), nil
}

// ReadBatch implements provider.BatchReader. S3 reads objects one by one: several requests run
// concurrently.
func (o object) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	each(len(items), func(i int) {
		if out[i].Err = stopped(ctx); out[i].Err == nil {
			out[i].Observation, out[i].Err = o.Read(items[i].Context.With(ctx),
				items[i].ReadRequest)
		}
	})
	return out
}

// ApplyBatch implements provider.BatchApplier.
func (o object) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	out := make([]provider.Applied, len(items))
	each(len(items), func(i int) {
		if out[i].Err = stopped(ctx); out[i].Err == nil {
			c := items[i]
			c.Context = c.Context.With(ctx)
			out[i].Result, out[i].Err = provider.Apply(o, c)
		}
	})
	return out
}

// Facts implements provider.FactReader.
func (o object) Facts(ctx *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	t, err := o.target(ctx, req.Resource)
	if err != nil {
		return nil, err
	}
	head, err := t.head()
	if err != nil || head == nil {
		return nil, err
	}
	out := map[string]any{"url": "s3://" + t.bucket + "/" + t.key}
	for name, v := range map[string]*string{"etag": head.ETag, "version_id": head.VersionId} {
		if v != nil {
			out[name] = *v
		}
	}
	return out, nil
}
