package run

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/internal/parallel"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// accept processes the read attributes: it registers the secrets in them, and checks them against
// the handler's declaration. A run whose attributes contradict the declaration fails if the setting
// strict requires that.
func (x comparer) accept(runs []*Run) {
	for _, r := range runs {
		r.act = diff.NoChange
		for name := range r.host.hidden {
			r.host.secretsIn(r.seen.Attributes[name]) // it may still hold an earlier secret
		}
		r.host.redactLines()
	}
	if x.Strict == provider.StrictOff {
		return
	}
	odd := make([][]diag.Problem, len(runs))
	parallel.For(len(runs), func(i int) {
		if r := runs[i]; r.seen.Exists && !r.want.Purged {
			odd[i] = r.typ.CheckObserved(r.seen.Attributes,
				func(name string) bool { return r.host.hidden[name] })
		}
	})
	for i, r := range runs {
		x.declared(r, odd[i])
	}
}

// decide compares the read attributes with the intent and decides which change is needed.
func (x comparer) decide(r *Run) {
	switch {
	case r.want.Purged && r.seen.Exists:
		r.act = diff.Purged
		setChanges(r, purgeDiff(r))
	case r.want.Purged:
	case !r.seen.Exists:
		r.act = diff.Created
		setChanges(r, createDiff(r))
	default:
		if !x.compare(r) {
			return
		}
		r.unwritten()
		if len(r.diff) > 0 {
			r.act = diff.Updated
			setChanges(r, r.diff)
			if fixed := diff.InitOnly(r.typ, r.diff); len(fixed) > 0 {
				r.End(
					state.StatusFailed,
					provider.NeedsChange,
					fmt.Sprintf(
						"%s can only be set when it is created; to change it, "+
							"purge the resource and create it again",
						strings.Join(fixed, ", "),
					),
				)
				return
			}
			if !x.replacing(r) {
				return
			}
		}
	}
	if !r.res.ReportOnly {
		r.leftover()
	}
	if r.res.ReportOnly && r.act != diff.NoChange && !x.Dry {
		r.act = diff.NoChange
		r.End(state.StatusNonCompliant, "", "differs, and is only reported")
	}
}

// compare fills in the differences between the read attributes and the intent; false means that the
// run failed.
func (x comparer) compare(r *Run) bool {
	var err error
	desired := r.want.Attributes
	if c, ok := provider.As[provider.Canonicaliser](r.handler); ok {
		if desired, err = c.Canonicalise(desired); err != nil {
			x.fail(r, provider.Errorf(provider.NeedsChange, "%w", err))
			return false
		}
	}
	if d, ok := provider.As[provider.Differ](r.handler); ok {
		got, ok := x.diffOne(r, d, desired)
		if ok && got.err != nil {
			x.fail(r, got.err)
		}
		r.diff = observedDiffs(got.diff)
		return ok && got.err == nil
	}
	r.diff = diff.Compare(r.typ, desired, r.seen.Attributes)
	return x.inSync(r, desired)
}

func createDiff(r *Run) map[string]diff.Diff {
	out := make(map[string]diff.Diff, len(r.want.Attributes))
	for i := range r.typ.Attributes {
		a := &r.typ.Attributes[i]
		if v := r.want.Attributes[a.Name]; v != nil && showsAtCreation(a) {
			out[a.Name] = diff.Diff{Desired: v}
		}
	}
	return out
}

// showsAtCreation reports whether the creation of a thing shows an attribute.
func showsAtCreation(a *schema.Attribute) bool {
	return diff.Compared(a) || a.Behaviour == schema.WriteOnly
}

// ShownAtCreation returns the attributes in changes that a run shows that creates the thing.
func ShownAtCreation(t *schema.Compiled, changes map[string]diff.Diff) map[string]diff.Diff {
	out := make(map[string]diff.Diff, len(changes))
	for i := range t.Attributes {
		a := &t.Attributes[i]
		if d, changes := changes[a.Name]; changes && showsAtCreation(a) {
			out[a.Name] = d
		}
	}
	return out
}

func purgeDiff(r *Run) map[string]diff.Diff {
	out := map[string]diff.Diff{}
	for i := range r.typ.Attributes {
		a := &r.typ.Attributes[i]
		if v := r.seen.Attributes[a.Name]; v != nil && a.Behaviour == schema.Property {
			out[a.Name] = diff.Diff{Current: v}
		}
	}
	return out
}

// inSync asks the handler which attributes are as wanted, after checking that the read attributes
// are in its canonical form. It returns false if the run failed.
func (x comparer) inSync(r *Run, desired map[string]any) bool {
	if !x.canonical(r) {
		return false
	}
	if _, ok := provider.As[provider.InSyncer](r.handler); !ok {
		return true
	}
	var compared []string
	for i := range r.typ.Attributes {
		if a := &r.typ.Attributes[i]; diff.Compared(a) {
			compared = append(compared, a.Name)
		}
	}
	type answer struct {
		diff map[string]diff.Diff
		err  error
	}
	handler, seen, diff := r.handler, r.seen.Attributes, r.diff
	got, ok := call(r.ctx.Context, x.Executor, r, func(c *provider.Context) (out answer) {
		out.diff, out.err = provider.ApplySync(c, handler, compared, desired, seen, diff)
		return out
	})
	if ok && got.err != nil {
		x.fail(r, got.err)
	}
	r.diff = got.diff
	return ok && got.err == nil
}

// canonical checks that the handler has read attributes in its own canonical form, as the setting
// strict requires. It returns false if the run failed.
func (x comparer) canonical(r *Run) bool {
	c, ok := provider.As[provider.Canonicaliser](r.handler)
	if !ok || x.Strict == provider.StrictOff {
		return true
	}
	form, err := c.Canonicalise(r.seen.Attributes)
	var wrong []string
	for name, v := range r.seen.Attributes {
		if err == nil && !resource.Equal(v, form[name]) {
			wrong = append(wrong, name)
		}
	}
	slices.Sort(wrong)
	text := "the handler reports values that are not in its own canonical form: " + strings.Join(
		wrong,
		", ",
	)
	switch {
	case err != nil:
		text = "the handler cannot canonicalise its own report: " + err.Error()
	case len(wrong) == 0:
		return true
	}
	if x.Strict == provider.StrictError {
		r.End(state.StatusFailed, provider.Terminal, text)
		return false
	}
	r.host.Log(provider.Line{At: x.Runner.Clock.Now(), Level: provider.LevelWarning, Msg: text})
	return true
}
