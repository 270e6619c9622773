//go:build servers

package aws

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	groups "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/provider/providertest"
)

// parameterWorld describes all parameters whose names begin so, but for their versions.
func parameterWorld(ctx context.Context, api *ssm.Client, prefix string) (string, error) {
	var lines []string
	in := &ssm.DescribeParametersInput{MaxResults: sdk.Int32(50),
		ParameterFilters: []types.ParameterStringFilter{{Key: sdk.String("Name"),
			Option: sdk.String("BeginsWith"), Values: []string{prefix}}}}
	for {
		page, err := api.DescribeParameters(ctx, in)
		if err != nil {
			return "", err
		}
		var names []string
		for i := range page.Parameters {
			if name := *page.Parameters[i].Name; strings.HasPrefix(name, prefix) {
				names = append(names, name)
			}
		}
		values, err := valuesOf(ctx, api, names)
		if err != nil {
			return "", err
		}
		tags, err := allTags(ctx)
		if err != nil {
			return "", err
		}
		for i := range page.Parameters {
			p := &page.Parameters[i]
			value, there := values[*p.Name]
			if !there {
				continue
			}
			line, err := json.Marshal([]any{strings.TrimPrefix(*p.Name, prefix), p.Type, p.Tier,
				str(p.Description), str(p.KeyId), str(p.AllowedPattern), value, tags[str(p.ARN)]})
			if err != nil {
				return "", err
			}
			lines = append(lines, string(line))
		}
		if in.NextToken = page.NextToken; str(page.NextToken) == "" {
			slices.Sort(lines)
			return strings.Join(lines, "\n"), nil
		}
	}
}

// valuesOf returns the values of parameters, all of which are there, by as few requests as possible:
// the suite asks for them after nearly everything that it does.
func valuesOf(ctx context.Context, api *ssm.Client, names []string) (map[string]string, error) {
	const most = 10 // in a request
	out := map[string]string{}
	for some := range slices.Chunk(names, most) {
		got, err := api.GetParameters(ctx,
			&ssm.GetParametersInput{Names: some, WithDecryption: sdk.Bool(true)})
		if err != nil {
			return nil, err
		}
		if len(got.InvalidParameters) > 0 {
			return nil, fmt.Errorf("no parameters %v", got.InvalidParameters)
		}
		for i := range got.Parameters {
			out[*got.Parameters[i].Name] = str(got.Parameters[i].Value)
		}
	}
	return out, nil
}

// allTags returns the tags of all parameters that have some, by their ARNs: one request, which takes
// one for each parameter of the service itself.
func allTags(ctx context.Context) (map[string]map[string]string, error) {
	api := groups.NewFromConfig(awstest.Config(server.URL(server.MiniStack), nil))
	pages := groups.NewGetResourcesPaginator(api, &groups.GetResourcesInput{
		ResourceTypeFilters: []string{"ssm:parameter"}})
	out := map[string]map[string]string{}
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.ResourceTagMappingList {
			r := &page.ResourceTagMappingList[i]
			if len(r.Tags) == 0 {
				continue // once there were some
			}
			tags := map[string]string{}
			for _, t := range r.Tags {
				tags[str(t.Key)] = str(t.Value)
			}
			out[str(r.ResourceARN)] = tags
		}
	}
	return out, nil
}

func TestParameterConformance(t *testing.T) {
	t.Parallel()
	api := ssmOf(server.MiniStack)
	for name, first := range map[string]struct {
		attrs   map[string]any
		updates []map[string]any
		other   string // kind
		others  int
	}{
		"text": {map[string]any{"value": "one", "description": "first",
			"tags": map[string]any{"a": "1", "b": "2"}}, []map[string]any{
			{"value": "two"}, {"description": "second"}, {"tags": map[string]any{"b": "3"}},
			{"tags": map[string]any{}, "value": "three"},
			{"tier": "Advanced"}, {"description": ""}, {"value": "x1", "allowed_pattern": "^x"},
		}, "SecureString", valuesAtOnce}, // one request more than one takes
		"secret": {map[string]any{"kind": "SecureString", "value": "first s3cr3t",
			"key": "alias/mine"}, []map[string]any{
			{"value": "second s3cr3t"}, {"key": "alias/other"}, {"description": "changed"},
			{"tags": map[string]any{"a": "b"}},
		}, "String", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &cutter{}
			var places atomic.Int64
			unique := awstest.Unique(t)
			definition := Parameter()
			definition.Type.Validate = nil // which looks at references; they are resolved here
			providertest.Run(t, providertest.Subject{Definition: definition,
				Transport: via(server.MiniStack, c),
				New: func(string, *providertest.Host) (providertest.Case, error) {
					prefix := fmt.Sprintf("/%s/%d/", unique, places.Add(1))
					out := providertest.Case{Updates: first.updates,
						InitOnly: map[string]any{"kind": first.other}, Interrupt: c.Interrupt,
						Secrets: []string{"s3cr3t"},
						World: func() (string, error) {
							return parameterWorld(t.Context(), api, prefix)
						},
						Vanish: func() error {
							_, err := api.DeleteParameter(t.Context(),
								&ssm.DeleteParameterInput{Name: sdk.String(prefix + "a")})
							return err
						}}
					out.Attributes = map[string]any{"name": prefix + "a"}
					for k, v := range first.attrs {
						out.Attributes[k] = v
					}
					for i := range first.others {
						out.Others = append(out.Others,
							map[string]any{"name": fmt.Sprintf("%sother-%d", prefix, i),
								"value": "v s3cr3t"[:1+i%2*7],
								"kind": string([]types.ParameterType{"String",
									"SecureString"}[i%2])})
					}
					return out, nil
				}})
		})
	}
}
