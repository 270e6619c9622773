package aws

import (
	"context"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/platform"
	"southbound/shared/provider"
)

const (
	describedAtOnce = 50
	valuesAtOnce    = 10
	// agreeTries is how often descriptions and values are read until both have the same version:
	// descriptions are eventually consistent.
	agreeTries = 5
	agreeWait  = 200 * time.Millisecond
)

// reading reads the parameters of several resources together.
type reading struct {
	ctx   context.Context
	api   *ssm.Client
	items []provider.BatchRead

	found  map[string]*types.ParameterMetadata
	values map[string]*types.Parameter
	errs   map[string]error
}

// all reads everything, and reads parameters again whose description and value have different
// versions.
func (rd *reading) all() {
	rd.found, rd.values, rd.errs = map[string]*types.ParameterMetadata{},
		map[string]*types.Parameter{}, map[string]error{}
	items := rd.items
	for try := 0; len(items) > 0; try++ {
		rd.some(items)
		items = slices.DeleteFunc(slices.Clone(items),
			func(i provider.BatchRead) bool { return rd.agrees(&i.Resource) })
		if len(items) == 0 {
			return
		}
		if try == agreeTries || (platform.Clock{}).Sleep(rd.ctx, agreeWait<<try) != nil {
			for i := range items {
				rd.errs[text(items[i].Resource, "name")] = provider.Errorf(provider.Retryable,
					"the parameter changes while it is read")
			}
			return
		}
	}
}

// some reads the parameters of some resources. It reads values only if they are compared, and
// decrypts them only if this is required.
func (rd *reading) some(items []provider.BatchRead) {
	var names, plain, secure []string
	for i := range items {
		r := &items[i].Resource
		name := text(*r, "name")
		delete(rd.found, name)
		delete(rd.values, name)
		delete(rd.errs, name)
		switch names = append(names, name); {
		case r.Purged:
		case text(*r, "kind") == secureText:
			secure = append(secure, name)
		default:
			plain = append(plain, name)
		}
	}
	for part := range slices.Chunk(names, describedAtOnce) {
		rd.note(part, rd.describe(part))
	}
	for part := range slices.Chunk(plain, valuesAtOnce) {
		rd.note(part, rd.get(part, false))
	}
	for part := range slices.Chunk(secure, valuesAtOnce) {
		rd.note(part, rd.get(part, true))
	}
}

func (rd *reading) note(names []string, err error) {
	if err == nil {
		return
	}
	for _, n := range names {
		rd.errs[n] = failure("read the parameter "+n, err)
	}
}

// describe reads all but values.
func (rd *reading) describe(names []string) error {
	in := &ssm.DescribeParametersInput{MaxResults: sdk.Int32(describedAtOnce),
		ParameterFilters: []types.ParameterStringFilter{{Key: sdk.String("Name"),
			Option: sdk.String("Equals"), Values: names}}}
	for {
		page, err := rd.api.DescribeParameters(rd.ctx, in)
		if err != nil {
			return err
		}
		for i := range page.Parameters {
			p := &page.Parameters[i]
			rd.found[sdk.ToString(p.Name)] = p
		}
		if sdk.ToString(page.NextToken) == "" {
			return nil
		}
		in.NextToken = page.NextToken
	}
}

// get reads values. A value that cannot be decrypted must not prevent the others.
func (rd *reading) get(names []string, decrypt bool) error {
	out, err := rd.api.GetParameters(rd.ctx,
		&ssm.GetParametersInput{Names: names, WithDecryption: &decrypt})
	switch {
	case err == nil:
		for i := range out.Parameters {
			p := &out.Parameters[i]
			rd.values[sdk.ToString(p.Name)] = p
		}
		return nil
	case len(names) == 1 || awserr.Passing(err):
		return err
	}
	for _, n := range names {
		rd.note([]string{n}, rd.get([]string{n}, decrypt))
	}
	return nil
}

// agrees reports whether all parts read of a resource have one version.
func (rd *reading) agrees(r *provider.Resource) bool {
	name := text(*r, "name")
	if rd.errs[name] != nil || r.Purged {
		return true
	}
	p, v := rd.found[name], rd.values[name]
	if p == nil || v == nil {
		return p == nil && v == nil
	}
	return p.Version == v.Version
}

// of returns the reading of a resource.
func (rd *reading) of(item *provider.BatchRead) provider.Reading {
	name := text(item.Resource, "name")
	if err := rd.errs[name]; err != nil {
		return provider.Reading{Err: err}
	}
	p := rd.found[name]
	if p == nil {
		return provider.Reading{}
	}
	attrs := described(item.Resource, p)
	if v := rd.values[name]; v != nil {
		secure := v.Type == types.ParameterTypeSecureString
		if secure {
			item.Context.Secret(sdk.ToString(v.Value))
		}
		if !secure || text(item.Resource, "kind") == secureText {
			// an encrypted text is not the value
			attrs["value"] = sdk.ToString(v.Value)
		}
		attrs["arn"] = sdk.ToString(v.ARN)
	}
	if item.Resource.Attributes["tags"] != nil && !item.Resource.Purged {
		tags, err := tagsOf(rd.ctx, rd.api, name)
		if err != nil {
			return provider.Reading{Err: failure("read the tags of the parameter "+name, err)}
		}
		attrs["tags"] = value(tags)
	}
	return provider.Reading{Observation: provider.Observation{Exists: true, Attributes: attrs}}
}

// described returns the attributes in a description.
func described(r provider.Resource, p *types.ParameterMetadata) map[string]any {
	out := map[string]any{"kind": string(p.Type), "tier": sameTier(r.Attributes["tier"],
		string(p.Tier)), "description": sdk.ToString(p.Description)}
	for name, v := range map[string]*string{"allowed_pattern": p.AllowedPattern,
		"data_type": p.DataType, "arn": p.ARN} {
		if s := sdk.ToString(v); s != "" {
			out[name] = s
		}
	}
	if s := sdk.ToString(p.KeyId); s != "" && p.Type == types.ParameterTypeSecureString {
		out["key"] = s
	}
	if p.Version > 0 {
		out["version"] = p.Version
	}
	return out
}

// tagsOf returns the tags of a parameter.
func tagsOf(ctx context.Context, api *ssm.Client, name string) (map[string]string, error) {
	out, err := api.ListTagsForResource(ctx, &ssm.ListTagsForResourceInput{ResourceId: &name,
		ResourceType: types.ResourceTypeForTaggingParameter})
	if err != nil {
		return nil, err
	}
	tags := make(map[string]string, len(out.TagList))
	for _, t := range out.TagList {
		tags[sdk.ToString(t.Key)] = sdk.ToString(t.Value)
	}
	return tags, nil
}
