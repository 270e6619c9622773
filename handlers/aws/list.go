package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	ssmtypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/shared/provider"
)

// List implements provider.Lister: the objects of a bucket, limited to keys that begin with key if
// it is set.
func (o object) List(ctx *provider.Context, found func(provider.Found) error) error {
	like := ctx.Desired()
	if text(like, "bucket") == "" {
		return provider.Errorf(provider.NeedsChange,
			"name the bucket: bucket=NAME, and key=PREFIX to list only keys that begin with PREFIX")
	}
	t, err := o.target(ctx, like)
	if err != nil {
		return err
	}
	in := &s3.ListObjectsV2Input{Bucket: &t.bucket, Prefix: optional(t.key)}
	for {
		page, err := t.api.ListObjectsV2(ctx, in)
		if err != nil {
			return t.fail("list", err)
		}
		for i := range page.Contents {
			c := &page.Contents[i]
			attrs := map[string]any{"bucket": t.bucket, "key": sdk.ToString(c.Key)}
			if c.StorageClass != "" && c.StorageClass != s3types.ObjectStorageClassStandard {
				attrs["storage_class"] = string(c.StorageClass)
			}
			if err := found(provider.Found{Attributes: attrs}); err != nil {
				return err
			}
		}
		if !sdk.ToBool(page.IsTruncated) || page.NextContinuationToken == nil {
			return nil
		}
		in.ContinuationToken = page.NextContinuationToken
	}
}

// List implements provider.Lister: all parameters, or those whose names begin with name. A
// SecureString is listed without a value.
func (p parameter) List(ctx *provider.Context, found func(provider.Found) error) error {
	api, err := ssmClient(ctx)
	if err != nil {
		return err
	}
	in := &ssm.DescribeParametersInput{MaxResults: sdk.Int32(describedAtOnce)}
	if prefix := text(ctx.Desired(), "name"); prefix != "" {
		in.ParameterFilters = []ssmtypes.ParameterStringFilter{{Key: sdk.String("Name"),
			Option: sdk.String("BeginsWith"), Values: []string{prefix}}}
	}
	for {
		page, err := api.DescribeParameters(ctx, in)
		if err != nil {
			return failure("list parameters", err)
		}
		var items []provider.BatchRead
		for i := range page.Parameters {
			m := &page.Parameters[i]
			attrs := map[string]any{"name": sdk.ToString(m.Name), "kind": string(m.Type)}
			items = append(items,
				provider.BatchRead{Context: ctx,
					ReadRequest: provider.ReadRequest{
						Resource: provider.Resource{Attributes: attrs}}})
		}
		for i := range items {
			// a value that cannot be described is not read
			items[i].Resource.Purged = items[i].Resource.Attributes["kind"] == secureText
		}
		for i, r := range p.ReadBatch(ctx, items) {
			if r.Err != nil {
				return r.Err
			}
			if !r.Observation.Exists {
				continue // removed since
			}
			attrs := maps.Clone(r.Observation.Attributes)
			attrs["name"] = text(items[i].Resource, "name")
			for _, name := range []string{"description", "data_type"} {
				if attrs[name] == "" || attrs[name] == "text" {
					delete(attrs, name)
				}
			}
			if err := found(provider.Found{Attributes: attrs}); err != nil {
				return err
			}
		}
		if sdk.ToString(page.NextToken) == "" {
			return nil
		}
		in.NextToken = page.NextToken
	}
}

// List implements provider.Lister: the items of a table.
func (item) List(ctx *provider.Context, found func(provider.Found) error) error {
	table := text(ctx.Desired(), "table")
	if table == "" {
		return provider.Errorf(provider.NeedsChange, "name the table: table=NAME")
	}
	api, err := dynamoClient(ctx, table)
	if err != nil {
		return err
	}
	described, err := api.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return failure("describe the table "+table, err)
	}
	var key []string
	for _, k := range described.Table.KeySchema {
		key = append(key, sdk.ToString(k.AttributeName))
	}
	in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: sdk.Bool(true)}
	for {
		page, err := api.Scan(ctx, in)
		if err != nil {
			return failure("read the table "+table, err)
		}
		for _, have := range page.Items {
			if err := found(provider.Found{Attributes: describedItem(table, key,
				have)}); err != nil {
				return err
			}
		}
		if len(page.LastEvaluatedKey) == 0 {
			return nil
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
}

// describedItem returns the attributes of a resource for an item.
func describedItem(
	table string, key []string, have map[string]types.AttributeValue,
) map[string]any {
	keys, values, sets, bytes, name := map[string]any{}, map[string]any{}, map[string]any{},
		[]any{}, []string{}
	for _, n := range slices.Sorted(maps.Keys(have)) {
		var v any
		switch in := have[n].(type) {
		case *types.AttributeValueMemberSS:
			sets[n], v = formTexts, inSet(in)
		case *types.AttributeValueMemberNS:
			sets[n], v = formNumbers, inSet(in)
		case *types.AttributeValueMemberBS:
			sets[n], v = formManyByte, inSet(in)
		case *types.AttributeValueMemberB:
			bytes, v = append(bytes, n), seenValue(in, "", formBytes)
		default:
			v = fromItem(in, nil)
		}
		if slices.Contains(key, n) {
			keys[n] = v
		} else {
			values[n] = v
		}
	}
	for _, n := range key {
		name = append(name, fmt.Sprint(keys[n]))
	}
	out := map[string]any{"table": table, "name": strings.Join(name, "/"), "key": keys,
		"values": values}
	if len(sets) > 0 {
		out["sets"] = sets
	}
	if len(bytes) > 0 {
		out["bytes"] = bytes
	}
	return out
}

// inSet returns the members of a set, in order.
func inSet(set types.AttributeValue) any {
	m, _ := fromItem(set, nil).(map[string]any)
	for _, members := range m {
		return members
	}
	return nil
}
