package schema

import (
	"maps"
	"slices"
	"time"
)

// Open returns a type whose attributes are not declared: a program that is shipped with resources
// defines them. Names may be any text. Attributes in parameters are not compared. The others,
// except the naming attribute, are properties. The handler runs where the program runs, so the
// transport is local, or function. The timeout bounds a call of the handler.
func Open(name, namevar string, attributes, parameters []string, timeout time.Duration) *Compiled {
	t := &Compiled{
		Type: Type{
			Name: name, Transports: []string{transportLocal, transportFunction}, Timeout: timeout,
			Features: []string{"noop", "facts", "reload", FeatureFiles},
		},
		index: map[string]int{},
	}
	anything := &DataType{kind: kindOptional, of: []*DataType{{kind: kindAny, undef: true}}}
	anything.undef = true
	add := func(a Attribute, d *DataType) {
		if _, there := t.index[a.Name]; there {
			return
		}
		t.index[a.Name] = len(t.Attributes)
		t.Attributes = append(t.Attributes, a)
		t.compiled = append(t.compiled, CompiledAttribute{Attribute: a, DataType: d})
	}
	add(
		Attribute{Name: namevar, Type: "Any", Behaviour: Namevar},
		&DataType{kind: kindAny, undef: true},
	)
	t.namevars = []string{namevar}
	for _, n := range parameters {
		add(Attribute{Name: n, Type: "Optional[Any]", Behaviour: Parameter}, anything)
	}
	for _, n := range slices.Sorted(slices.Values(attributes)) {
		add(Attribute{Name: n, Type: "Optional[Any]"}, anything)
	}
	return t
}

// With returns the registry with additional types, which override existing types of the same name.
func (r *Registry) With(types ...*Compiled) *Registry {
	out := &Registry{types: maps.Clone(r.types)}
	for _, t := range types {
		out.types[t.Name] = t
	}
	out.names = slices.Sorted(maps.Keys(out.types))
	return out
}
