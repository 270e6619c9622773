//go:build servers

package aws

import (
	"context"
	"maps"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
)

// TestListed pins that what is listed has nothing to do, and that what a document cannot say is
// seen to differ.
func TestListed(t *testing.T) {
	t.Parallel()
	const kind = server.MiniStack
	bucket, objects, parameters := newBucket(t, kind), s3Of(kind), ssmOf(kind)
	items, table := newTable(t)
	for _, key := range []string{"a b/ü+%", "a/2", "b"} {
		if _, err := objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key,
			Body: strings.NewReader(key)}); err != nil {
			t.Fatal(err)
		}
	}
	root := "/" + awstest.Unique(t)
	for name, k := range map[string]ssmtypes.ParameterType{"/plain": "String",
		"/list": "StringList", "/secret": "SecureString"} {
		if _, err := parameters.PutParameter(t.Context(),
			&ssm.PutParameterInput{Name: sdk.String(root + name), Value: sdk.String("s3cr3t,x"),
				Type: k}); err != nil {
			t.Fatal(err)
		}
	}
	for n, more := range map[string]map[string]types.AttributeValue{
		"1": {"b": &types.AttributeValueMemberB{Value: []byte{0, 255}},
			"s": &types.AttributeValueMemberNS{Value: []string{"2", "1"}}},
		"2": {
			"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
				"x": &types.AttributeValueMemberB{Value: []byte{1}}}}}} {
		row := map[string]types.AttributeValue{"p k": &types.AttributeValueMemberS{Value: "p"},
			"sk": &types.AttributeValueMemberN{Value: n}}
		maps.Copy(row, more)
		if _, err := items.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table,
			Item: row}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		of    provider.Definition
		like  map[string]any
		found int // that are described
		not   int // that no document can describe
	}{
		{Object(), map[string]any{"bucket": bucket}, 3, 0},
		{Object(), map[string]any{"bucket": bucket, "key": "a"}, 2, 0},
		{Parameter(), map[string]any{"name": root}, 2, 1},
		{Item(), map[string]any{"table": table}, 1, 1},
	} {
		registry, err := schema.NewRegistry(c.of.Type)
		if err != nil {
			t.Fatal(err)
		}
		typ, _ := registry.Type(c.of.Type.Name)
		lister, _ := provider.As[provider.Lister](c.of.Handler)
		host := providertest.NewHost(via(kind, nil))
		list := func(like map[string]any) (out []provider.Found, err error) {
			ctx := host.Context(context.Background(),
				provider.Options{Desired: provider.Resource{Attributes: like}})
			return out,
				lister.List(ctx, func(f provider.Found) error { out = append(out, f); return nil })
		}
		all, err := list(c.like)
		if err != nil {
			t.Errorf("%s: %v", c.of.Type.Name, err)
			continue
		}
		described, not := 0, 0
		for _, f := range all {
			attrs := maps.Clone(f.Attributes)
			maps.DeleteFunc(attrs, func(name string, _ any) bool {
				a, ok := typ.Attribute(name)
				return ok && a.Behaviour == schema.ReadOnly
			})
			full, problems := typ.Check(attrs)
			if len(problems) > 0 {
				not++
				continue
			}
			if change, _, err := apply(t, c.of, via(kind, nil),
				provider.Resource{Type: c.of.Type.Name, Attributes: full}); err != nil ||
				change != diff.NoChange {
				not++
			} else {
				described++
			}
		}
		if described != c.found || not != c.not || strings.Contains(host.Output(), "s3cr3t") {
			t.Errorf("%s %v: %d described, %d not: %v", c.of.Type.Name, c.like, described, not, all)
		}
		if c.of.Type.Name == "aws::ssm::Parameter" {
			continue
		}
		if _, err := list(nil); err == nil || provider.ClassOf(err) != provider.NeedsChange {
			t.Errorf("%s: nothing says where: %v", c.of.Type.Name, err)
		}
	}
}
