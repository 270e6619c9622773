package tf

import (
	"maps"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/tf/value"
)

// afterApply stands for values that the provider computes during the apply.
const afterApply = "(known after apply)"

// attrTainted is the difference of an object whose create has failed. It is no attribute of the type.
const attrTainted = "tainted"

// Diff implements provider.Differ. A difference is a change that the provider plans: two states may
// differ without one.
func (h *handler) Diff(
	ctx *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	s, err := h.bridge.open(ctx, &h.meta, desired)
	if err != nil {
		return nil, err
	}
	defer s.close()
	c := carriedBy(observed.Carried)
	if c == nil || c.now == nil {
		_, now, _, err := s.load()
		if err != nil {
			return nil, err
		}
		if c = (&carried{now: now}); now == nil {
			return nil, provider.Errorf(provider.Retryable, "the state of the object was removed since it "+
				"was read")
		}
	}
	config, err := s.config(desired)
	if err != nil {
		return nil, err
	}
	return s.diff(c, config)
}

// diff plans the change of the carried object to a configuration, and puts the plans into c.
func (s *session) diff(c *carried, config cty.Value) (map[string]diff.Diff, error) {
	p, err := s.checked(c.now, config)
	if err != nil {
		return nil, err
	}
	replaced := s.ty.Replacements(p.requires, p.prior, p.planned)
	if len(replaced) == 0 && !c.now.tainted {
		c.update = p
		out, computed := differences(s.ty, s.meta, p.prior, p)
		if len(out) == 0 {
			out = afterwards(s.ty, s.meta, p.prior, computed)
		}
		s.computed(computed)
		return out, nil
	}
	prior := p.prior
	if c.replace, err = s.plan(nil, config); err != nil {
		return nil, err
	}
	out, computed := differences(s.ty, s.meta, prior, c.replace)
	s.computed(computed)
	// A create plans null for an empty list that was read. It differs only if the update also differs.
	changes, _ := differences(s.ty, s.meta, prior, p)
	maps.DeleteFunc(out, func(name string, _ diff.Diff) bool { _, is := changes[name]; return !is })
	return replacing(s.meta, out, replaced, c.now.tainted), nil
}

// differences returns the differences between a prior state and a plan by attribute, without values that
// the apply computes, and the paths of these values.
func differences(
	ty *value.Type, m *meta, prior cty.Value, p *plan,
) (map[string]diff.Diff, []cty.Path) {
	changes := ty.Changes(prior, p.planned, p.config)
	before, after := ty.Attributes(prior), ty.Attributes(shown(p.planned))
	var out map[string]diff.Diff
	for _, name := range firsts(changes.Changed) {
		d := diff.Diff{Current: before[name], Desired: after[name]}
		if d.Desired == nil && !p.planned.IsNull() && !p.planned.GetAttr(name).IsKnown() {
			d.Desired = afterApply
		}
		if out == nil {
			out = map[string]diff.Diff{}
		}
		out[m.here(name)] = d
	}
	return out, changes.Computed
}

// afterwards returns the differences of an update that changes nothing but values which the apply
// computes.
func afterwards(
	ty *value.Type, m *meta, prior cty.Value, computed []cty.Path,
) map[string]diff.Diff {
	before := ty.Attributes(prior)
	var out map[string]diff.Diff
	for _, name := range firsts(computed) {
		if out == nil {
			out = map[string]diff.Diff{}
		}
		out[m.here(name)] = diff.Diff{Current: before[name], Desired: afterApply}
	}
	return out
}

// shown replaces unknown texts in a plan by a text for people. Other unknown values stay.
func shown(v cty.Value) cty.Value {
	if v.IsWhollyKnown() {
		return v
	}
	out, err := cty.Transform(v, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if !v.IsKnown() && v.Type() == cty.String {
			return cty.StringVal(afterApply), nil
		}
		return v, nil
	})
	if err != nil {
		return v // does not happen: the function returns no error
	}
	return out
}

// replacing marks the differences that require a replacement. A replaced attribute without a difference
// is write-only: no state has its value.
func replacing(
	m *meta, diffs map[string]diff.Diff, replaced []cty.Path, tainted bool,
) map[string]diff.Diff {
	out := maps.Clone(diffs)
	if out == nil {
		out = map[string]diff.Diff{}
	}
	for _, name := range firsts(replaced) {
		d := out[m.here(name)]
		d.Replace = true
		out[m.here(name)] = d
	}
	if tainted || !slices.ContainsFunc(slices.Collect(maps.Values(out)),
		func(d diff.Diff) bool { return d.Replace }) {
		out[attrTainted] = diff.Diff{Current: tainted, Desired: false, Replace: true}
	}
	return out
}

// Noop implements provider.Nooper: the provider validates and plans a create.
func (h *handler) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	if planned.Change != diff.Created {
		return nil // Diff has planned it
	}
	s, err := h.bridge.open(ctx, &h.meta, planned.Resource)
	if err != nil {
		return err
	}
	defer s.close()
	config, err := s.config(planned.Resource)
	if err != nil {
		return err
	}
	p, err := s.checked(nil, config)
	if err != nil {
		return err
	}
	s.computed(s.ty.Changes(p.prior, p.planned, p.config).Computed)
	return nil
}
