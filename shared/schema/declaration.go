package schema

import (
	"maps"
	"slices"
)

// Declaration is a file that declares types which no program was built with. It is immutable.
type Declaration struct {
	Hash string // of Text: SHA-256 in hexadecimal
	Text []byte

	written []*Compiled
	stored  map[string]*Compiled
}

// NewDeclaration compiles the types of a file. The resources of a version name the file in an
// attribute of the given name, which no document has. NewDeclaration returns the problems of the
// types together, as NewRegistry does.
func NewDeclaration(
	hash string, text []byte, attribute string, types ...Type,
) (*Declaration, error) {
	r, err := NewRegistry(types...)
	if err != nil {
		return nil, err
	}
	d := &Declaration{Hash: hash, Text: text, stored: make(map[string]*Compiled, len(r.names))}
	for _, name := range r.names {
		t := r.types[name]
		t.declaration = d
		d.written = append(d.written, t)
		d.stored[name] = withParameter(t, attribute)
	}
	return d, nil
}

// withParameter returns a copy of a type that has one more attribute, with any value. The attribute
// is not compared.
func withParameter(t *Compiled, name string) *Compiled {
	out := *t
	d := &DataType{kind: kindOptional, undef: true, of: []*DataType{{kind: kindAny, undef: true}}}
	a := Attribute{Name: name, Type: "Optional[Any]", Behaviour: Parameter}
	out.index = maps.Clone(t.index)
	out.index[name] = len(t.Attributes)
	out.Attributes = append(slices.Clip(t.Attributes), a)
	out.compiled = append(slices.Clip(t.compiled), CompiledAttribute{Attribute: a, DataType: d})
	return &out
}

// Types returns the types as documents use them, sorted by name.
func (d *Declaration) Types() []*Compiled { return slices.Clone(d.written) }

// Stored returns a type as the resources of versions have it.
func (d *Declaration) Stored(name string) (*Compiled, bool) {
	t, ok := d.stored[name]
	return t, ok
}

// Declaration returns the file that declares the type; nil for a type of the program.
func (c *Compiled) Declaration() *Declaration { return c.declaration }
