package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// One resource: its attributes with values in the place of references.

// resolveResource returns a resource of a version with the values of its references, as far as they are known.
// misfit is the reason why these values do not let the resource run: a path into a fact leads nowhere,
// or a value does not fit its attribute; "" if there is none.
func (pl *Planner) resolveResource(
	ctx context.Context, written *resource.Resource, known *values,
) (now *resource.Resource, misfit string) {
	attrs, problems := pl.resolveAttributes(ctx, written, known)
	out := *written
	out.Attributes, out.Followed = attrs, pl.followedAttributes(ctx, written, known)
	if len(problems) > 0 {
		return &out, problemText(&problems[0])
	}
	if err := known.checkPaths(out.Attributes); err != nil {
		return &out, problemText(&diag.Problem{Message: err.Error(), Hint: fault.HintOf(err)})
	}
	return &out, ""
}

// lacksValues reports whether values of a resource are not known, or were left out because of that.
func lacksValues(r *resource.Resource) bool {
	return len(model.Missing(r.Attributes)) > 0 || len(r.Attributes) < len(r.Written().Attributes)
}

// resolveAttributes returns the attributes of r with resolved references, and the problems of their
// values. A resource that is to be purged needs no attributes but those by which its handler finds the
// object, so it does not wait for others.
func (pl *Config) resolveAttributes(
	ctx context.Context,
	r *resource.Resource,
	known *values,
) (map[string]any, []diag.Problem) {
	var problems []diag.Problem
	t, _ := pl.Checker.Type(r)
	out := make(map[string]any, len(r.Attributes))
	for name, v := range r.Attributes {
		resolved, err := pl.resolveValue(ctx, v, known)
		if err != nil {
			problems = append(problems, diag.Problem{Resource: string(r.ID), Attribute: name,
				Message: err.Error(), Hint: fault.HintOf(err)})
			continue
		}
		switch v.(type) {
		case resource.Parameter, resource.Fact, resource.Text:
			resolved = coerce(t, name, resolved)
		}
		if r.Purged && !findsObject(t, name) && awaitsRuns(resolved) {
			continue
		}
		out[name] = resolved
	}
	if t != nil && len(problems) == 0 {
		_, problems = model.CheckAttributes(t, out, r.Purged)
		for i := range problems {
			problems[i].Resource = string(r.ID)
			explainFact(t, &problems[i], r.Written().Attributes[problems[i].Attribute],
				out[problems[i].Attribute])
		}
	}
	return out, problems
}

// findsObject reports whether a handler may find an object by an attribute.
func findsObject(t *schema.Compiled, name string) bool {
	if t == nil {
		return true
	}
	a, known := t.Attribute(name)
	return !known || a.Behaviour == schema.Namevar || a.Behaviour == schema.Parameter
}

// awaitsRuns reports whether a value lacks facts or secret outputs, and nothing else.
func awaitsRuns(v any) bool {
	lacks := false
	for _, ref := range resource.References(v) {
		if len(model.Missing(ref)) == 0 {
			continue
		}
		if !resource.IsFollowed(ref) {
			return false
		}
		lacks = true
	}
	return lacks
}

// resolveValue returns a value in which the references to known values are replaced.
func (pl *Config) resolveValue(ctx context.Context, v any, known *values) (any, error) {
	of := func(ref any) (any, error) { return pl.resolveRef(ctx, ref, known) }
	return resource.WalkParts(v, of, func(ref any) (any, error) {
		out, err := of(ref)
		if fact, is := ref.(resource.Fact); is && err == nil && !resource.FitsText(out) {
			return nil, fault.New(fault.Invalid, "", "%s is %s, which cannot stand inside a text",
				model.FactText(fact), resource.KindOf(out)).
				WithHint("continue its path to a text, a number or a boolean")
		}
		return out, err
	})
}

// resolveRef replaces a known parameter or fact by its value and gives a secret its version, a secret
// output if it is known; any other reference stays as it is.
func (pl *Config) resolveRef(ctx context.Context, ref any, known *values) (any, error) {
	switch r := ref.(type) {
	case resource.Parameter:
		if _, none := r.Unknown(); none {
			return ref, nil
		}
		if v, ok := known.known[state.ParameterKey{Name: r.Name}]; ok {
			return v.Value(), nil
		}
	case resource.Fact:
		if v, ok := known.known[state.ParameterKey{Name: r.Key(), Of: r.Of}]; ok {
			if part, err := r.In(v.Value()); err == nil {
				return part, nil
			}
		}
	case resource.Secret:
		if o, is := r.Output(); is {
			r.Version = known.outputs[o.Of]
			return r, nil
		}
		if known.pinned {
			return ref, nil
		}
		return pl.secretVersion(ctx, r), nil
	}
	return ref, nil
}

// followedAttributes returns the attributes of r that refer to facts or secret outputs, with values for all
// other references.
func (pl *Planner) followedAttributes(
	ctx context.Context, r *resource.Resource, known *values,
) map[string]any {
	var out map[string]any
	for name, v := range r.Written().Attributes {
		if !slices.ContainsFunc(resource.References(v), resource.IsFollowed) {
			continue
		}
		kept, err := resource.Walk(v, func(ref any) (any, error) {
			if resource.IsFollowed(ref) {
				return unversioned(ref), nil
			}
			return pl.resolveRef(ctx, ref, known)
		})
		if err != nil {
			continue // resolveAttributes has returned the problem
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = kept
	}
	return out
}

// unversioned returns a fact or a secret output as a version has it.
func unversioned(ref any) any {
	if s, is := ref.(resource.Secret); is {
		s.Version = ""
		return s
	}
	return ref
}
