package schema

import (
	"errors"
	"maps"
	"slices"
	"strings"
)

// aliasTable holds the aliases of a registry, and resolves each when it is first used.
type aliasTable struct {
	expr    map[string]string
	types   map[string]*DataType
	wrong   map[string]error // errors, by the alias whose own expression is invalid
	running []string         // aliases being resolved, outermost first
}

func newAliasTable() *aliasTable {
	return &aliasTable{expr: map[string]string{}, types: map[string]*DataType{},
		wrong: map[string]error{}}
}

func (t *aliasTable) names() []string {
	if t == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(t.expr))
}

// lookup returns the type of an alias. It returns nil without an error if there is no such alias. A
// cycle of aliases is an error. Any other error is recorded for the alias with the invalid
// expression, which then accepts any value.
func (t *aliasTable) lookup(name string) (*DataType, error) {
	if t == nil {
		return nil, nil
	}
	expr, ok := t.expr[name]
	if !ok {
		return nil, nil
	}
	if at := slices.Index(t.running, name); at >= 0 {
		return nil,
			errors.New("it stands for itself: " +
				strings.Join(append(slices.Clone(t.running[at:]), name), " is "))
	}
	if d, done := t.types[name]; done {
		return d, nil
	}
	t.running = append(t.running, name)
	d, err := parseDataType(expr, t)
	t.running = t.running[:len(t.running)-1]
	if err != nil {
		t.wrong[name] = err
		d = &DataType{kind: kindAny, undef: true}
	}
	t.types[name] = d
	return d, nil
}

// validAlias reports whether name is a valid alias: words joined by ::, each beginning with a
// capital letter, and not a type of the language.
func validAlias(name string) bool {
	p := &parser{s: name}
	n := p.typ(0)
	return p.err == nil && n.text == name && !slices.Contains(kinds(), kind(name))
}
