package engine

import (
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// A text of parts has a fact, or none, and another reference. The first letter and a bar separate the
// fact from the rest: neither parameters nor secrets have a bar, and facts may have texts of parts.
const (
	factLast  = "L" // Lother|fact
	factFirst = "F" // Ffact|other
	bar       = "|"
)

// textOf draws a text with a fact, if it is not nil, and a parameter or a secret.
func (d *drawer) textOf(fact any) resource.Text {
	var other any = resource.Parameter{Name: "p0"}
	if d.p.Secrets && d.one(3) {
		other = resource.Secret{Source: "env:A"}
	}
	switch {
	case fact == nil:
		return resource.Text{Parts: []any{factLast, other, bar}}
	case d.one(2):
		return resource.Text{Parts: []any{factFirst, fact, bar, other}}
	}
	return resource.Text{Parts: []any{factLast, other, bar, fact}}
}

// factIn returns the fact to which a text refers, if it refers to one.
func factIn(text any) (resource.Fact, bool) {
	for _, ref := range resource.References(text) {
		if f, is := ref.(resource.Fact); is {
			return f, true
		}
	}
	return resource.Fact{}, false
}

// factPart returns the value that a row has where its resource, with text written, refers to a fact.
func factPart(written, have any) string {
	parts, of := []any{have}, ""
	if t, is := have.(resource.Text); is {
		parts = t.Parts
	}
	for _, p := range parts {
		if s, is := p.(string); is {
			of += s // a secret leaves nothing
		}
	}
	if _, is := written.(resource.Text); !is {
		return of
	}
	if rest, is := strings.CutPrefix(of, factLast); is {
		_, fact, _ := strings.Cut(rest, bar)
		return fact
	}
	if i := strings.LastIndex(of, bar); i > 0 {
		return of[len(factFirst):i]
	}
	return ""
}

// valueOf returns the stored value to which a reference to a parameter or a fact leads, as a text, and
// whether it is known.
func valueOf(e *environment, ref any) (text string, known bool) {
	switch ref := ref.(type) {
	case resource.Parameter:
		p, known := e.parameters[state.ParameterKey{Name: ref.Name}]
		return p.Value, known
	case resource.Fact:
		p, known := e.parameters[state.ParameterKey{Name: ref.Key(), Of: ref.Of}]
		value, err := ref.In(p.Data().Value())
		text, _ = value.(string)
		return text, known && err == nil
	}
	return "", false
}
