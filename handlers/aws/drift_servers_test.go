//go:build servers

package aws

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	conn "southbound/shared/transport/aws"
)

// apply does what the engine does with one resource, and returns what was done.
func apply(
	t *testing.T, d provider.Definition, c *conn.Conn, r provider.Resource,
) (diff.Change, map[string]diff.Diff, error) {
	t.Helper()
	ctx := providertest.NewHost(c).Context(t.Context(), provider.Options{ID: r.ID})
	obs, err := d.Handler.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		return "", nil, err
	}
	switch {
	case r.Purged && obs.Exists:
		_, err = d.Handler.Delete(ctx, provider.DeleteRequest{Resource: r, Observed: obs})
		return diff.Purged, nil, err
	case r.Purged:
		return diff.NoChange, nil, nil
	case !obs.Exists:
		_, err = d.Handler.Create(ctx, provider.CreateRequest{Resource: r})
		return diff.Created, nil, err
	}
	differ, ok := d.Handler.(provider.Differ)
	if !ok {
		t.Fatal("it compares in another way")
	}
	diffs, err := differ.Diff(ctx, r, obs)
	if err != nil || len(diffs) == 0 {
		return diff.NoChange, nil, err
	}
	_, err = d.Handler.Update(ctx, provider.UpdateRequest{Resource: r, Observed: obs,
		Changes: diffs})
	return diff.Updated, diffs, err
}

// TestObjectDrift pins that what someone else did is seen and set right, in a bucket with versions,
// and that what is not said stays.
func TestObjectDrift(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			api, bucket, key := s3Of(kind), newBucket(t, kind), sdk.String("k")
			_, err := api.PutBucketVersioning(t.Context(),
				&s3.PutBucketVersioningInput{Bucket: &bucket,
					VersioningConfiguration: &types.VersioningConfiguration{
						Status: types.BucketVersioningStatusEnabled}})
			if err != nil {
				t.Fatal(err)
			}
			want := provider.Resource{Type: "aws::s3::Object",
				Attributes: map[string]any{"bucket": bucket, "key": "k", "content": "wanted",
					"content_type": "text/plain",
					"tags":         map[string]any{"a": "b"}}}
			others := func(in *s3.PutObjectInput) func() error {
				return func() error {
					in.Bucket, in.Key = &bucket, key
					_, err := api.PutObject(t.Context(), in)
					return err
				}
			}
			for _, c := range []struct {
				why     string
				do      func() error
				change  diff.Change
				differs string
			}{
				{"it is not there", nil, diff.Created, ""},
				{"nothing was done", nil, diff.NoChange, ""},
				{"other bytes of the same size",
					others(&s3.PutObjectInput{Body: strings.NewReader("WANTED"),
						ContentType: sdk.String("text/plain"), Tagging: sdk.String("a=b"),
						ChecksumAlgorithm: types.ChecksumAlgorithmSha256}), diff.Updated,
					"content"},
				{"the same bytes without a SHA-256",
					others(&s3.PutObjectInput{Body: strings.NewReader("wanted"),
						ContentType: sdk.String("text/plain"), Tagging: sdk.String("a=b"),
						ChecksumAlgorithm: types.ChecksumAlgorithmCrc32}), diff.Updated, "content"},
				{"another type",
					others(&s3.PutObjectInput{Body: strings.NewReader("wanted"),
						ContentType: sdk.String("text/css"), Tagging: sdk.String("a=b"),
						ChecksumAlgorithm: types.ChecksumAlgorithmSha256}), diff.Updated,
					"content_type"},
				{"its own metadata, which nobody asked for",
					others(&s3.PutObjectInput{Body: strings.NewReader("wanted"),
						ContentType: sdk.String("text/plain"),
						Metadata:    map[string]string{"mine": "stays"}, Tagging: sdk.String("a=b"),
						ChecksumAlgorithm: types.ChecksumAlgorithmSha256}), diff.NoChange, ""},
				{"other tags", func() error {
					_, err := api.DeleteObjectTagging(t.Context(),
						&s3.DeleteObjectTaggingInput{Bucket: &bucket, Key: key})
					return err
				}, diff.Updated, "tags"},
				{"a marker that it is deleted", func() error {
					_, err := api.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &bucket,
						Key: key})
					return err
				}, diff.Created, ""},
			} {
				if c.do != nil {
					if err := c.do(); err != nil {
						t.Fatal(err)
					}
				}
				change, diffs, err := apply(t, Object(), via(kind, nil), want)
				if _, seen := diffs[c.differs]; err != nil || change != c.change ||
					(c.differs != "" && (!seen || len(diffs) != 1)) {
					t.Errorf("%s: %q, %v, %v; expected %q of %s", c.why, change, diffs, err,
						c.change, c.differs)
				}
				if content, differs := diffs["content"]; differs {
					if _, isFile := content.Current.(resource.File); !isFile {
						t.Errorf("%s: %v stands in a diff for bytes that were not read", c.why,
							content.Current)
					}
				}
			}
			versions := func() int {
				page, err := api.ListObjectVersions(t.Context(),
					&s3.ListObjectVersionsInput{Bucket: &bucket, Prefix: key})
				if err != nil {
					t.Fatal(err)
				}
				return len(page.Versions) + len(page.DeleteMarkers)
			}
			want.Purged = true
			before := versions()
			if change, _, err := apply(t, Object(), via(kind, nil), want); change != diff.Purged ||
				err != nil || versions() != before+1 {
				t.Errorf("purged: %q, %v, %d versions", change, err, versions())
			}
			want.Attributes["delete_versions"] = true
			if change, _, err := apply(t, Object(), via(kind, nil), want); change != diff.Purged ||
				err != nil || versions() != 0 {
				t.Errorf("purged with versions: %q, %v, %d versions", change, err, versions())
			}
			if change, _, err := apply(t, Object(), via(kind, nil),
				want); change != diff.NoChange || err != nil {
				t.Errorf("purged again: %q, %v", change, err)
			}
		})
	}
}

// TestObjectKeeps pins that a change of the content keeps what the resource says nothing about.
func TestObjectKeeps(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			api, bucket, key := s3Of(kind), newBucket(t, kind), sdk.String("k")
			_, err := api.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: key,
				Body: strings.NewReader("theirs"), CacheControl: sdk.String("no-store"),
				Metadata: map[string]string{"mine": "stays"}, Tagging: sdk.String("t=1")})
			if err != nil {
				t.Fatal(err)
			}
			for _, attrs := range []map[string]any{{"content": "ours"},
				{"content_type": "text/css"}} {
				attrs["bucket"], attrs["key"] = bucket, "k"
				if change, _, err := apply(t, Object(), via(kind, nil),
					provider.Resource{Attributes: attrs}); err != nil || change != diff.Updated {
					t.Errorf("%q, %v", change, err)
				}
				h, err := api.HeadObject(t.Context(),
					&s3.HeadObjectInput{Bucket: &bucket, Key: key})
				if err != nil || h.Metadata["mine"] != "stays" ||
					str(h.CacheControl) != "no-store" {
					t.Errorf("%v: %v, %s, %v", attrs, h.Metadata, str(h.CacheControl), err)
				}
				tags, err := api.GetObjectTagging(t.Context(),
					&s3.GetObjectTaggingInput{Bucket: &bucket, Key: key})
				if err != nil || len(tags.TagSet) != 1 {
					t.Errorf("%v: tags are %v, %v", attrs, tags.TagSet, err)
				}
			}
		})
	}
}

// TestObjectFaults converges while requests and answers are lost, and the service is broken now and
// then.
func TestObjectFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			bucket := newBucket(t, kind)
			var n int
			c := via(kind, &awstest.Faults{Decide: func(string, []byte) awstest.Fault {
				n++
				return [...]awstest.Fault{awstest.None, awstest.Lose, awstest.None, awstest.Break,
					awstest.Drop, awstest.Lose, awstest.None}[n%7]
			}})
			for i := range 30 {
				r := provider.Resource{Attributes: map[string]any{"bucket": bucket,
					"key": fmt.Sprint(i % 3), "content": fmt.Sprint("content ", i),
					"tags": map[string]any{"i": fmt.Sprint(i)}}}
				r.Purged = i%7 == 6
				if _, _, err := apply(t, Object(), c, r); err != nil &&
					provider.ClassOf(err) != provider.Retryable {
					t.Errorf("%d: %v is %s", i, err, provider.ClassOf(err))
				}
				if _, _, err := apply(t, Object(), via(kind, nil), r); err != nil {
					t.Fatal(err)
				}
				if change, diffs, err := apply(t, Object(), via(kind, nil), r); err != nil ||
					change != diff.NoChange {
					t.Errorf("%d: %q, %v, %v", i, change, diffs, err)
				}
			}
		})
	}
}

// TestObjectRefused pins the classes of what S3 refuses, and that damaged bytes do not get in.
func TestObjectRefused(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "testtest")
	kind := server.LocalStack
	bucket := newBucket(t, kind)
	host := providertest.NewHost(via(kind, nil))
	file := host.AddFile([]byte("right"))
	for name, c := range map[string]struct {
		attrs map[string]any
		class provider.Class
		part  string
	}{
		"no bucket": {map[string]any{"bucket": bucket + "-none", "key": "k"},
			provider.Retryable, "NoSuchBucket"},
		"bytes gone": {map[string]any{"bucket": bucket, "key": "k",
			"content": resource.File{Hash: strings.Repeat("0", 64), Size: 3}}, provider.NeedsChange,
			"export again"},
		"bytes damaged": {map[string]any{"bucket": bucket, "key": "k",
			"content": resource.File{Hash: file.Hash, Size: 4}}, provider.Retryable, ""},
	} {
		ctx := host.Context(t.Context(), provider.Options{})
		_, err := Object().Handler.Create(ctx,
			provider.CreateRequest{Resource: provider.Resource{Attributes: c.attrs}})
		if err == nil || provider.ClassOf(err) != c.class ||
			!strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v is %s, expected %s", name, err, provider.ClassOf(err), c.class)
		}
	}
	sessions := &conn.Sessions{Reserved: []string{bucket}}
	own, err := sessions.Connect(t.Context(), "a",
		map[string]any{"region": "us-east-1", "endpoint": server.URL(kind)})
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	reserved := provider.Resource{Attributes: map[string]any{"bucket": bucket, "key": "k"}}
	ctx := providertest.NewHost(own).Context(t.Context(), provider.Options{})
	_, err = Object().Handler.Read(ctx, provider.ReadRequest{Resource: reserved})
	if provider.ClassOf(err) != provider.NeedsChange {
		t.Errorf("a bucket of the state: %v", err)
	}
	ctx = providertest.NewHost("not AWS").Context(t.Context(), provider.Options{})
	if _, err := Object().Handler.Read(ctx,
		provider.ReadRequest{}); provider.ClassOf(err) != provider.NeedsChange {
		t.Errorf("an agent of this machine: %v", err)
	}
}

// TestParameterDrift pins that what someone else did is seen, and that nothing is decrypted without
// need.
func TestParameterDrift(t *testing.T) {
	t.Parallel()
	api, name := ssmOf(server.MiniStack), "/"+awstest.Unique(t)+"/p"
	var decrypted int
	c := via(server.MiniStack,
		&awstest.Faults{Decide: func(operation string, body []byte) awstest.Fault {
			if operation == "GetParameters" &&
				bytes.Contains(body, []byte(`"WithDecryption":true`)) {
				decrypted++
			}
			return awstest.None
		}})
	want := provider.Resource{Attributes: map[string]any{"name": name, "value": "s3cr3t",
		"kind": "SecureString", "tags": map[string]any{"a": "b"}}}
	put := func(value, description string) func() error {
		return func() error {
			_, err := api.PutParameter(t.Context(),
				&ssm.PutParameterInput{Name: &name, Value: &value, Description: &description,
					Overwrite: sdk.Bool(true),
					Type:      ssmtypes.ParameterTypeSecureString})
			return err
		}
	}
	for _, c2 := range []struct {
		why     string
		do      func() error
		change  diff.Change
		differs string
	}{
		{"it is not there", nil, diff.Created, ""},
		{"nothing was done", nil, diff.NoChange, ""},
		{"another value", put("other", ""), diff.Updated, "value"},
		{"a description, which nobody asked for", put("s3cr3t", "mine"), diff.NoChange, ""},
		{"other tags", func() error {
			_, err := api.RemoveTagsFromResource(t.Context(),
				&ssm.RemoveTagsFromResourceInput{ResourceId: &name,
					ResourceType: ssmtypes.ResourceTypeForTaggingParameter, TagKeys: []string{"a"}})
			return err
		}, diff.Updated, "tags"},
	} {
		if c2.do != nil {
			if err := c2.do(); err != nil {
				t.Fatal(err)
			}
		}
		change, diffs, err := apply(t, Parameter(), c, want)
		if _, seen := diffs[c2.differs]; err != nil || change != c2.change ||
			(c2.differs != "" && (!seen || len(diffs) != 1)) {
			t.Errorf("%s: %q, %v, %v; expected %q of %s", c2.why, change, diffs, err, c2.change,
				c2.differs)
		}
	}
	d, err := api.DescribeParameters(t.Context(),
		&ssm.DescribeParametersInput{ParameterFilters: []ssmtypes.ParameterStringFilter{
			{Key: sdk.String("Name"), Values: []string{name}}}})
	if err != nil || len(d.Parameters) != 1 || str(d.Parameters[0].Description) != "mine" {
		t.Errorf("what the resource does not say did not stay: %v, %v", d, err)
	}
	before := decrypted
	want.Purged = true
	if change, _, err := apply(t, Parameter(), c, want); change != diff.Purged || err != nil {
		t.Errorf("purged: %q, %v", change, err)
	}
	if decrypted != before || before == 0 {
		t.Errorf("%d decrypted before, %d after the purge", before, decrypted)
	}
}

// TestParameterThrottled converges under throttling, and says that it may pass when it does not
// end.
func TestParameterThrottled(t *testing.T) {
	t.Parallel()
	name := "/" + awstest.Unique(t) + "/p"
	r := provider.Resource{Attributes: map[string]any{"name": name, "value": "v", "kind": "String"}}
	n := 0
	some := via(server.MiniStack, &awstest.Faults{Decide: func(string, []byte) awstest.Fault {
		n++
		return [...]awstest.Fault{awstest.Throttle, awstest.Lose, awstest.None}[n%3]
	}})
	if _, _, err := apply(t, Parameter(), some, r); err != nil {
		t.Error(err)
	}
	if change, _, err := apply(t, Parameter(), some, r); err != nil || change != diff.NoChange {
		t.Errorf("%q, %v", change, err)
	}
	all := via(server.MiniStack,
		&awstest.Faults{Decide: func(string, []byte) awstest.Fault { return awstest.Throttle }})
	if _, _, err := apply(t, Parameter(), all, r); provider.ClassOf(err) != provider.Retryable ||
		err == nil {
		t.Errorf("%v is %s", err, provider.ClassOf(err))
	}
}
