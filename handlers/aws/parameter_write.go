package aws

import (
	"context"
	"maps"
	"slices"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/shared/aws/awserr"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// Create implements provider.Handler. A parameter that was created since the read is updated.
func (p parameter) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	api, err := ssmClient(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	r := req.Resource
	in := request(r, nil)
	in.Overwrite = sdk.Bool(false)
	in.Tags = tagList(texts(r, "tags"))
	_, err = api.PutParameter(ctx, in)
	if awserr.Is(err, "ParameterAlreadyExists") {
		return p.update(ctx, api, r)
	}
	return provider.Result{}, failure("create the parameter "+text(r, "name"), err, secretOf(r))
}

// Update implements provider.Handler.
func (p parameter) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	api, err := ssmClient(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	return p.update(ctx, api, req.Resource)
}

// update reads the parameter again, so that it acts on the current state, and changes the
// attributes that differ.
func (p parameter) update(
	ctx *provider.Context, api *ssm.Client, r provider.Resource,
) (provider.Result, error) {
	have, err := p.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		return provider.Result{}, err
	}
	diffs := differences(r.Attributes, have.Attributes, append(content(), "tags"))
	_, tags := diffs["tags"]
	delete(diffs, "tags")
	if len(diffs) > 0 {
		if err := possible(r, have, diffs); err != nil {
			return provider.Result{}, err
		}
		in := request(r, have.Attributes)
		in.Overwrite = sdk.Bool(true)
		if _, err := api.PutParameter(ctx, in); err != nil {
			return provider.Result{}, failure("change the parameter "+text(r, "name"), err,
				secretOf(r))
		}
	}
	if !have.Exists { // it was just created, and a request cannot combine tags with Overwrite
		have.Attributes, tags = nil, r.Attributes["tags"] != nil
	}
	if tags {
		return provider.Result{}, retag(ctx, api, r, have)
	}
	return provider.Result{}, nil
}

// possible rejects changes that Parameter Store does not support.
func possible(r provider.Resource, have provider.Observation, diffs map[string]diff.Diff) error {
	if _, differs := diffs["kind"]; differs && have.Exists {
		return provider.Errorf(provider.NeedsChange,
			"the parameter %s is a %v, and its kind can only be set when it is created; purge "+
				"it first", text(r, "name"), have.Attributes["kind"])
	}
	if d, differs := diffs["tier"]; differs && d.Current == tierAdvanced {
		return provider.Errorf(provider.NeedsChange,
			"the parameter %s is Advanced and cannot be made Standard again; purge it first, or "+
				"set `tier: Advanced`", text(r, "name"))
	}
	return nil
}

// request returns the desired attributes, and the current ones of the rest, which a request without
// them would remove.
func request(r provider.Resource, have map[string]any) *ssm.PutParameterInput {
	pick := func(name string) string {
		if s, ok := r.Attributes[name].(string); ok {
			return s
		}
		s, _ := have[name].(string)
		return s
	}
	in := &ssm.PutParameterInput{Name: sdk.String(text(r, "name")),
		Value: sdk.String(text(r, "value")), Type: types.ParameterType(pick("kind")),
		Tier: types.ParameterTier(pick("tier")), DataType: optional(pick("data_type")),
		AllowedPattern: optional(pick("allowed_pattern"))}
	if in.Type == types.ParameterTypeSecureString {
		in.KeyId = optional(pick("key"))
	}
	// An empty description removes the current one.
	if d := pick("description"); d != "" || have["description"] != nil {
		in.Description = &d
	}
	return in
}

func tagList(tags map[string]string) []types.Tag {
	var out []types.Tag
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		out = append(out, types.Tag{Key: &k, Value: sdk.String(tags[k])})
	}
	return out
}

// retag sets the desired tags and removes others. It sets tags first, so that the desired tags are
// never missing.
func retag(
	ctx *provider.Context, api *ssm.Client, r provider.Resource, have provider.Observation,
) error {
	name, want := text(r, "name"), texts(r, "tags")
	old, _ := have.Attributes["tags"].(map[string]any)
	set, drop := map[string]string{}, []string(nil)
	for k, v := range want {
		if old[k] != v {
			set[k] = v
		}
	}
	for k := range old {
		if _, keep := want[k]; !keep {
			drop = append(drop, k)
		}
	}
	const kind = types.ResourceTypeForTaggingParameter
	if len(set) > 0 {
		if _, err := api.AddTagsToResource(ctx, &ssm.AddTagsToResourceInput{ResourceId: &name,
			ResourceType: kind, Tags: tagList(set)}); err != nil {
			return failure("tag the parameter "+name, err)
		}
	}
	if len(drop) > 0 {
		slices.Sort(drop)
		_, err := api.RemoveTagsFromResource(ctx,
			&ssm.RemoveTagsFromResourceInput{ResourceId: &name, ResourceType: kind, TagKeys: drop})
		return failure("remove tags of the parameter "+name, err)
	}
	return nil
}

// Delete implements provider.Handler.
func (parameter) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	api, err := ssmClient(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	name := text(req.Resource, "name")
	// a missing parameter is no error here
	_, err = api.DeleteParameters(ctx, &ssm.DeleteParametersInput{Names: []string{name}})
	return provider.Result{}, failure("delete the parameter "+name, err)
}

// ApplyBatch implements provider.BatchApplier: one request deletes ten parameters; no request sets
// several.
func (p parameter) ApplyBatch(
	ctx context.Context, items []provider.BatchChange,
) []provider.Applied {
	out := make([]provider.Applied, len(items))
	var purged []int
	for i := range items {
		c := &items[i]
		if out[i].Err = stopped(ctx); out[i].Err != nil {
			continue
		}
		switch with := c.Context.With(ctx); c.Change {
		case diff.Created:
			out[i].Result, out[i].Err = p.Create(with, provider.CreateRequest{Resource: c.Resource,
				Token: c.Token})
		case diff.Updated:
			out[i].Result, out[i].Err = p.Update(with, provider.UpdateRequest{Resource: c.Resource,
				Observed: c.Observed, Changes: c.Changes})
		case diff.Purged:
			purged = append(purged, i)
		}
	}
	for part := range slices.Chunk(purged, valuesAtOnce) {
		var names []string
		for _, i := range part {
			names = append(names, text(items[i].Resource, "name"))
		}
		api, err := ssmClient(items[part[0]].Context)
		if err == nil {
			_, err = api.DeleteParameters(ctx, &ssm.DeleteParametersInput{Names: names})
		}
		for _, i := range part {
			out[i].Err = failure("delete the parameter "+text(items[i].Resource, "name"), err)
		}
	}
	return out
}
