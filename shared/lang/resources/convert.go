package resources

import (
	"math"
	"math/big"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
)

// value converts a value to its form in documents.
func (d *document) value(o *eval.Instance, name string, v types.Value) any {
	switch v := v.(type) {
	case types.Null, nil:
		return nil
	case bool, string, int64, *big.Int:
		return v
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			d.bad(o.Place(name), name, "", "%s is not a number that a resource can have",
				types.Repr(v))
			return nil
		}
		return v
	case *types.List:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = d.value(o, name, item)
		}
		return out
	case *types.Dict:
		return d.dict(o, name, v)
	case *types.Unknown:
		return d.unknown(o, name, v)
	case reference:
		return d.reference(v)
	case *types.LaterText:
		return d.parts(o, name, v.Parts)
	case std.Reference:
		if r, ok := deployed(v); ok {
			return d.reference(r)
		}
		d.bad(o.Place(name), name, "give the value as it is, or compute it where the resource is",
			"%s is not known before the resource is deployed, and nothing computes it then",
			v.Class)
		return nil
	}
	d.bad(o.Place(name), name, "write text, a number, true, false, a list or a dict",
		"%s is not a value that a resource can have", types.Kind(v))
	return nil
}

// unknown returns the form of a value of an instance that is unknown at compile time. A fact of
// another resource becomes a reference, which is resolved when that resource has the fact.
func (d *document) unknown(o *eval.Instance, name string, v *types.Unknown) any {
	if len(v.Parts) > 0 {
		return d.parts(o, name, v.Parts)
	}
	fact := factNamed(v.Fact, v.Of)
	if v.Of != types.Object(o) && d.known(fact) {
		return d.reference(fact)
	}
	return unknown(v)
}

// parts converts the parts of a text.
func (d *document) parts(o *eval.Instance, name string, parts []types.Value) any {
	out := make([]any, len(parts))
	for i, p := range parts {
		out[i] = d.value(o, name, p)
	}
	return map[string]any{string(textKind): out}
}

// known reports whether the instance that a fact belongs to becomes a resource.
func (d *document) known(fact reference) bool {
	of, is := fact.of.(*eval.Instance)
	return is && d.id(of) != ""
}

// unknown returns the form of a value that is unknown at compile time: a parameter that is never
// set, named by the reason. The resource therefore stays undefined.
func unknown(v *types.Unknown) any {
	why := v.Why
	if why == "" {
		why = "a value that is computed from one that is not known"
	}
	return map[string]any{string(parameterKind): resource.Unknown(why).Name}
}

// dict converts a dict. A map that could be mistaken for a form is marked as a literal.
func (d *document) dict(o *eval.Instance, name string, v *types.Dict) any {
	out := make(map[string]any, v.Len())
	for _, k := range v.Keys() {
		item, _ := v.Get(k)
		out[k] = d.value(o, name, item)
	}
	switch {
	case !looksLikeForm(out):
		return out
	case data(v):
		return map[string]any{"value": literal(v)}
	default:
		d.bad(o.Place(name), name, "add another key to the dict, or rename this one",
			"a dict with the key %q as a form of documents has it cannot hold values that are "+
				"known later", v.Keys()[0])
		return nil
	}
}

// literal converts data that is marked as a literal, so that nothing in it is read as a form.
func literal(v types.Value) any {
	switch v := v.(type) {
	case *types.List:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = literal(item)
		}
		return out
	case *types.Dict:
		out := make(map[string]any, v.Len())
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			out[k] = literal(item)
		}
		return out
	case types.Null:
		return nil
	}
	return v
}

// looksLikeForm reports whether a document would read a map as a form.
func looksLikeForm(m map[string]any) bool {
	has := func(k string) bool { _, ok := m[k]; return ok }
	switch len(m) {
	case 1:
		_, parts := m["text"].([]any)
		return has("file") || has("parameter") || has("value") || has("secret") || parts
	case 2:
		return has("secret") && has("version") || has("fact") && has("of") ||
			has("file") && has("with")
	}
	return false
}

// data reports whether a value contains no value that becomes known later. Only such a value can be
// marked as a literal.
func data(v types.Value) bool {
	switch v := v.(type) {
	case *types.List:
		for _, item := range v.Items {
			if !data(item) {
				return false
			}
		}
	case *types.Dict:
		for _, k := range v.Keys() {
			if item, _ := v.Get(k); !data(item) {
				return false
			}
		}
	case *types.Unknown, types.Reference:
		return false
	}
	return true
}

// deployed converts a reference of std to a reference of documents; false if there is no
// equivalent.
func deployed(r std.Reference) (reference, bool) {
	name, ok := r.Value.(string)
	switch {
	case ok && r.Class == std.EnvironmentReference:
		return reference{kind: secretKind, name: "env:" + name}, true
	case ok && r.Class == std.FactReference:
		return factNamed(name, r.On), true
	}
	return reference{}, false
}

// reference returns the form of a reference in documents.
func (d *document) reference(r reference) any {
	form := map[string]any{string(r.kind): r.name}
	switch r.kind {
	case fileKind:
		form[string(fileKind)] = d.path(r.name)
	case secretKind:
		if of, ok := r.of.(*eval.Instance); ok {
			form[string(secretKind)] = resource.Output{Of: d.id(of), Path: r.name}.Source()
		}
		if r.version != "" {
			form["version"] = r.version
		}
	case factKind:
		if of, ok := r.of.(*eval.Instance); ok {
			form["of"] = string(d.id(of))
		}
	}
	return form
}
