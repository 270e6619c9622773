package schema

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Registry is an immutable set of types.
type Registry struct {
	types map[string]*Compiled
	names []string
}

// Compiled is a type whose expressions have been parsed.
type Compiled struct {
	Type
	attrs    []CompiledAttribute
	index    map[string]int
	namevars []string
}

// CompiledAttribute is an attribute with its parsed data type.
type CompiledAttribute struct {
	Attribute
	DataType *DataType
}

// NewRegistry compiles types. What is wrong with their definitions is returned at once, as diag.Problems.
func NewRegistry(types ...Type) (*Registry, error) {
	r := &Registry{types: make(map[string]*Compiled, len(types))}
	var problems diag.Problems
	for i := range types {
		c, ps := compile(types[i])
		if _, twice := r.types[c.Name]; twice {
			ps = append(ps, diag.Problem{Resource: c.Name, Message: "the type is registered twice"})
		}
		problems = append(problems, ps...)
		r.types[c.Name] = c
		r.names = append(r.names, c.Name)
	}
	slices.Sort(r.names)
	if len(problems) > 0 {
		return nil, problems
	}
	return r, nil
}

// reservedNames stand beside attributes in documents.
var reservedNames = []string{"type", "agent", "requires", "set", "purged", "purge_on_delete", "report_only", "send_event", "receive_events", "managed", "id"}

func compile(t Type) (*Compiled, diag.Problems) {
	c := &Compiled{Type: t, index: map[string]int{}}
	var problems diag.Problems
	bad := func(attr, format string, args ...any) {
		problems.Add(diag.Problem{Resource: t.Name, Attribute: attr, Message: fmt.Sprintf(format, args...)})
	}
	if !resource.ValidType(t.Name) {
		bad("", "%q is no type name: two or more names joined by ::", t.Name)
	}
	for i, a := range t.Attributes {
		if _, twice := c.index[a.Name]; twice {
			bad(a.Name, "the attribute is declared twice")
		}
		if slices.Contains(reservedNames, a.Name) || a.Name == "" {
			bad(a.Name, "the name is reserved")
		}
		d, err := ParseDataType(a.Type)
		if err != nil {
			bad(a.Name, "%v", err)
			d = &DataType{name: "Any"}
		}
		switch a.Behaviour {
		case Property, ReadOnly, InitOnly, Parameter:
		case Namevar:
			c.namevars = append(c.namevars, a.Name)
		default:
			bad(a.Name, "unknown behaviour %q", a.Behaviour)
		}
		if a.Default != nil && d.Check(a.Default) != nil {
			bad(a.Name, "the default is not of the attribute's type: %v", d.Check(a.Default))
		}
		c.index[a.Name] = i
		c.attrs = append(c.attrs, CompiledAttribute{Attribute: a, DataType: d})
	}
	if len(c.namevars) == 0 {
		bad("", "no attribute names the resource: one needs the behaviour namevar")
	}
	return c, problems
}

// Type returns a type by its name.
func (r *Registry) Type(name string) (*Compiled, bool) {
	c, ok := r.types[name]
	return c, ok
}

// Names returns the names of all types, sorted.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Nearest returns the known name that is spelled most like name, "" when none is near.
func (r *Registry) Nearest(name string) string { return Nearest(name, r.names) }

// Attribute returns an attribute by its name.
func (c *Compiled) Attribute(name string) (*CompiledAttribute, bool) {
	i, ok := c.index[name]
	if !ok {
		return nil, false
	}
	return &c.attrs[i], true
}

// Namevars returns the naming attributes in declared order.
func (c *Compiled) Namevars() []string { return c.namevars }

// Check returns attributes with defaults filled in, and what is wrong with them. Problems carry the attribute; the place
// is for the caller to add.
func (c *Compiled) Check(attributes map[string]any) (map[string]any, []diag.Problem) {
	var problems []diag.Problem
	bad := func(attr, hint, format string, args ...any) {
		problems = append(problems, diag.Problem{Attribute: attr, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	out := make(map[string]any, len(attributes)+2)
	for name, v := range attributes {
		a, ok := c.Attribute(name)
		switch {
		case !ok:
			bad(name, c.unknownHint(name), "%s has no attribute %q", c.Name, name)
		case a.Behaviour == ReadOnly:
			bad(name, "leave it out", "the attribute is only reported and cannot be set")
		default:
			if err := a.DataType.Check(v); err != nil {
				bad(name, quoteHint(a, v), "%v", err)
			}
		}
		out[name] = v
	}
	for i := range c.attrs {
		a := &c.attrs[i]
		if _, set := out[a.Name]; set || a.Behaviour == ReadOnly {
			continue
		}
		switch {
		case a.Default != nil:
			out[a.Name] = a.Default
		case !a.DataType.Optional():
			bad(a.Name, "add it", "the attribute is missing: expected %s", a.DataType.Describe())
		}
	}
	if len(problems) == 0 && c.Validate != nil {
		problems = c.Validate(out)
	}
	slices.SortFunc(problems, func(a, b diag.Problem) int { return strings.Compare(a.Attribute, b.Attribute) })
	return out, problems
}

func (c *Compiled) unknownHint(name string) string {
	var names []string
	for i := range c.attrs {
		names = append(names, c.attrs[i].Name)
	}
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "it has " + strings.Join(names, ", ")
}

// quoteHint helps those whose text was read as a number or a boolean.
func quoteHint(a *CompiledAttribute, v any) string {
	if a.DataType.Check("text") != nil && a.DataType.Check("0644") != nil {
		return ""
	}
	switch v.(type) {
	case int64, float64, bool:
		return `write it in quotes, such as "0644", so that it is text`
	}
	return ""
}

// Nearest returns the one of names that is spelled most like name, "" when none is near.
func Nearest(name string, names []string) string {
	best, at := "", max(2, len(name)/3)+1
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < at {
			best, at = n, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
