package form

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"southbound/shared/service/definition"
)

// Draft is the content of a form, or of one of its values, as it was typed.
type Draft struct {
	text   string
	null   bool // it is not set
	empty  bool // its text is empty on purpose
	json   bool // text is JSON
	there  bool // the member of a relation is there
	kept   []string
	items  []*Draft
	pasted bool              // the last items come from a text of several lines
	key    string            // of a row of a dict
	parts  map[string]*Draft // of a service or a member
}

// isKept reports whether the draft is of a member that the instance has.
func (d *Draft) isKept() bool { return d.kept != nil }

// part returns the draft of a value; never nil.
func (d *Draft) part(name string) *Draft {
	if d == nil || d.parts[name] == nil {
		return &Draft{}
	}
	return d.parts[name]
}

// Draft returns the content of a form for attributes. Missing values have their defaults if the
// instance or the member is new.
func (f *Form) Draft(values map[string]any) *Draft {
	return drafter{f}.part(&f.Service.Part, values, f.Base, f.root())
}

// drafter makes drafts.
type drafter struct{ *Form }

func (f drafter) part(p *definition.Part, values, base map[string]any, in scope) *Draft {
	out := &Draft{there: true, parts: map[string]*Draft{}}
	for _, one := range f.fields(p, "", base, in) {
		v, has := values[one.name]
		switch {
		case one.mood == hidden || one.mood == fixed:
		case one.attribute != nil:
			a := one.attribute
			if !has && a.DefaultSet {
				v, has = a.Default, true
			}
			out.parts[one.name] = draftedAttribute(a, v, has)
		case one.embedded != nil:
			out.parts[one.name] = f.members(one.embedded, v, base[one.name], in)
		default:
			out.parts[one.name] = draftedRelation(one.relation, v)
		}
	}
	return out
}

func draftedAttribute(a *definition.Attribute, v any, has bool) *Draft {
	if v == nil {
		return &Draft{null: a.Optional()}
	}
	if !a.List() {
		return draftedValue(a, v)
	}
	list, is := v.([]any)
	if !is {
		return draftedJSON(v)
	}
	out := &Draft{}
	for _, one := range list {
		out.items = append(out.items, draftedValue(a, one))
	}
	return out
}

// draftedValue returns the draft of a value that is not a list. A value that its control cannot
// show is written as JSON.
func draftedValue(a *definition.Attribute, v any) *Draft {
	switch kind := shapeOf(a); kind {
	case shapeBool:
		if b, is := v.(bool); is {
			return &Draft{text: map[bool]string{true: "true", false: "false"}[b]}
		}
	case shapeText:
		if s, is := v.(string); is && plain(s) {
			return &Draft{text: s, empty: s == ""}
		}
	case shapeNumber:
		if text, is := numberText(v); is {
			return &Draft{text: text}
		}
	case shapeChoice:
		if text, is := choiceText(a, v); is {
			return &Draft{text: text}
		}
	case shapeDict:
		if m, is := v.(map[string]any); is {
			return draftedDict(m)
		}
	}
	return draftedJSON(v)
}

// plain reports whether browsers return a text as they received it.
func plain(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == utf8.RuneError
	})
}

// maxRows is the number of entries of a dict that the form shows as rows.
const maxRows = 50

func draftedDict(m map[string]any) *Draft {
	out := &Draft{}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		if !plain(k) || strings.Contains(k, "\n") || len(m) > maxRows {
			return draftedJSON(m)
		}
		row := draftedJSON(m[k])
		row.key, row.json = k, false
		out.items = append(out.items, row)
	}
	return out
}

func draftedJSON(v any) *Draft { return &Draft{text: encoded(v), json: true} }

// encoded returns a value as indented JSON. Floats stay floats.
func encoded(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(definition.Written(v)); err != nil {
		return "null" // values come from JSON
	}
	return visible(strings.TrimSuffix(b.String(), "\n"))
}

// visible escapes characters of JSON that browsers may not return.
func visible(text string) string {
	return strings.NewReplacer("\x7f", `\u007f`, "\ufffd", `\ufffd`).Replace(text)
}

func (f drafter) members(e *definition.Embedded, v, base any, in scope) *Draft {
	list, isList := v.([]any)
	m, isMap := v.(map[string]any)
	switch {
	case e.Many() && isList:
		out := &Draft{}
		for _, one := range list {
			m, is := one.(map[string]any)
			if !is {
				return draftedJSON(v)
			}
			out.items = append(out.items, f.member(e, m, base, in))
		}
		return out
	case !e.Many() && isMap:
		return f.member(e, m, base, in)
	case v != nil:
		return draftedJSON(v)
	case e.Many() || e.Lower == 0:
		out := &Draft{}
		for range prefilled(e, in) {
			out.items = append(out.items, f.part(&e.Part, nil, nil, scope{fresh: true}))
		}
		return out
	}
	return f.part(&e.Part, nil, nil, scope{fresh: true})
}

// prefilled returns the number of empty members that a new form shows.
func prefilled(e *definition.Embedded, in scope) int {
	const most, below = 3, 1 // of the service, and of each of its members
	if !e.Many() {
		return 0
	}
	if in.top {
		return max(0, min(e.Lower, most))
	}
	return max(0, min(e.Lower, below))
}

func (f drafter) member(e *definition.Embedded, m map[string]any, base any, in scope) *Draft {
	keys := keysOf(e, m)
	var was map[string]any
	if !in.fresh {
		was = member(e, base, keys)
	}
	out := f.part(&e.Part, m, was, scope{fresh: was == nil})
	if was != nil {
		out.kept = keys
	}
	return out
}

func draftedRelation(r *definition.Relation, v any) *Draft {
	list, isList := v.([]any)
	s, isText := v.(string)
	switch {
	case v == nil:
		return &Draft{}
	case !r.Many() && isText && plain(s):
		return &Draft{text: s}
	case r.Many() && isList:
		out := &Draft{}
		for _, one := range list {
			s, is := one.(string)
			if !is || !plain(s) {
				return draftedJSON(v)
			}
			out.items = append(out.items, &Draft{text: s})
		}
		return out
	}
	return draftedJSON(v)
}
