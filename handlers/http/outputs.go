package http

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// The responses in which outputs are looked for: see the attribute outputs_from.
const (
	fromCreates = "creates"
	fromChanges = "changes"
	fromReads   = "reads"
)

// outputNames returns the names of the secret outputs of a resource, nil if they are not known yet.
func outputNames(attrs map[string]any) []string {
	switch m := attrs["outputs"].(type) {
	case nil:
		return []string{}
	case map[string]any:
		return slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	}
	return nil
}

// Keeps implements provider.Keeper: a resource with outputs keeps their values.
func (object) Keeps(r provider.Resource) bool { return r.Attributes["outputs"] != nil }

// outputs keeps the secret outputs of an object.
type outputs struct{ *caller }

func (a *caller) outputs() outputs { return outputs{a} }

// pointers returns the pointers of the secret outputs by name.
func (a outputs) pointers() map[string]string {
	m, _ := a.want.Attributes["outputs"].(map[string]any)
	out := make(map[string]string, len(m))
	for name, p := range m {
		out[name], _ = p.(string)
	}
	return out
}

// remembered returns the values of outputs that earlier responses had, by pointer: a renamed output
// keeps its value.
func (a outputs) remembered() (map[string]any, error) {
	b := a.ctx.Kept()
	if len(b) == 0 || a.want.Attributes["outputs"] == nil {
		return map[string]any{}, nil
	}
	v, err := resource.DecodeValue(b)
	m, is := v.(map[string]any)
	if err != nil || !is {
		return nil, provider.Errorf(provider.Terminal,
			"the kept outputs of the object cannot be read; remove them with `southbound state forget`")
	}
	return m, nil
}

// concealValue removes the texts in a value, in every form, from all output.
func (a *caller) concealValue(v any) {
	switch v := v.(type) {
	case string:
		if v != "" {
			a.conceal(v)
		}
	case []any:
		for _, e := range v {
			a.concealValue(e)
		}
	case map[string]any:
		for _, e := range v {
			a.concealValue(e)
		}
	}
}

// valuesIn adds to values what a response has at the pointers of outputs. APIs show null or an empty
// text for a secret that they do not show.
func (a outputs) valuesIn(response any, values map[string]any) {
	for _, pointer := range a.pointers() {
		if v, ok := at(response, pointer); ok && v != nil && v != "" {
			values[pointer] = v
			a.concealValue(v)
		}
	}
}

// didOperation is the response of an operation that has created an object, for take.
const didOperation = "operation"

// take keeps the outputs in the response to a change. Outputs of responses before a create belong to
// another object.
func (a outputs) take(r *answer, did string) error {
	from := a.text("outputs_from")
	if a.want.Attributes["outputs"] == nil || from == fromReads ||
		from == fromCreates && did == didUpdate {
		return nil
	}
	values := map[string]any{}
	if did != didCreate {
		var err error
		if values, err = a.remembered(); err != nil {
			return err
		}
	}
	if v, err := r.json(); err == nil {
		a.valuesIn(v, values)
	}
	return a.store(values)
}

// store keeps the values of outputs, by pointer.
func (a outputs) store(values map[string]any) error {
	pointers := a.pointers()
	out := map[string]any{}
	for name, pointer := range pointers {
		if v, is := values[pointer]; is {
			out[name] = v
		}
	}
	if len(out) == 0 {
		return a.ctx.Keep(nil)
	}
	own := maps.Clone(values)
	maps.DeleteFunc(own, func(pointer string, _ any) bool {
		return !slices.Contains(slices.Collect(maps.Values(pointers)), pointer)
	})
	state, err := resource.CanonicalValue(own)
	if err != nil {
		return provider.Errorf(provider.NeedsChange, "an output cannot be kept: it is no JSON value")
	}
	return a.ctx.KeepWithOutputs(state, out)
}

// settled keeps the outputs of an object that is as desired, and returns an error if one is missing.
// t is nil if the object was not read.
func (a outputs) settled(t *thing) error {
	if a.want.Attributes["outputs"] == nil {
		return nil
	}
	values := map[string]any{}
	var err error
	if a.text("outputs_from") != fromReads {
		values, err = a.remembered()
	} else if t != nil {
		a.valuesIn(t.response, values)
	}
	if err != nil {
		return err
	}
	var missing []string
	for name, pointer := range a.pointers() {
		if _, is := values[pointer]; !is {
			missing = append(missing, fmt.Sprintf("%q at %q", name, pointer))
		}
	}
	slices.Sort(missing)
	list := strings.Join(missing, ", ")
	switch {
	case len(missing) > 0 && a.text("outputs_from") == fromReads:
		return provider.Errorf(provider.NeedsChange, "the API does not show the outputs %s; correct "+
			"the pointers in outputs, or set outputs_from to changes if only the responses to "+
			"changes show them", list)
	case len(missing) > 0:
		return provider.Errorf(provider.Terminal, "the API has not returned the outputs %s in a response "+
			"to a change of this object; correct the pointers in outputs, set outputs_from to reads "+
			"if the API always shows them, or delete the object at the API, so that it is created "+
			"again", list)
	case a.ctx.DryRun():
		return nil
	}
	return a.store(values)
}

// outputs checks that no fact shows an output.
func (v *validator) outputs() {
	facts, _ := v.attrs["facts"].(map[string]any)
	object, _ := v.attrs["object_at"].(string)
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		pointer, _ := facts[name].(string)
		for _, output := range outputNames(v.attrs) {
			if member(v.attrs, "outputs", output) == any(object+pointer) {
				v.bad("facts", fmt.Sprintf(`remove the fact, and refer to {secret: "output:ID#%s"}`,
					output), "the fact %q would show the secret output %q", name, output)
			}
		}
	}
}
