package form

import (
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Names of controls that are no JSON pointers.
const (
	nameNull  = "null"
	nameUnset = "unset"
	nameEmpty = "empty"
	nameItem  = "item"
	nameJSON  = "json"
	nameKept  = "kept:"
	nameKey   = "key:"
)

// maxIndex bounds the index of a row in the name of a control.
const maxIndex = 1_000_000

// Read returns the content of a form from posted values. Its problems are names that the definition
// does not have, or whose values the customer may not set.
func (f *Form) Read(posted url.Values) (*Draft, diag.Problems) {
	r := &reader{
		form: f, posted: posted, used: map[string]bool{}, rows: map[string][]int{},
		marks: map[string]map[string]bool{},
	}
	r.index()
	out := r.part(&f.Service.Part, "", f.Base, f.root())
	r.leftovers()
	return out, r.problems
}

// reader reads posted values.
type reader struct {
	form     *Form
	posted   url.Values
	used     map[string]bool            // names, and name=value of marks
	rows     map[string][]int           // the indices of rows, by the pointer to their list
	marks    map[string]map[string]bool // pointers by the name of a mark
	problems diag.Problems
}

// index finds the rows and marks.
func (r *reader) index() {
	add := func(at string) {
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			return
		}
		n, err := strconv.Atoi(at[i+1:])
		if err == nil && n >= 0 && n < maxIndex && strconv.Itoa(n) == at[i+1:] {
			r.rows[at[:i]] = append(r.rows[at[:i]], n)
		}
	}
	for _, name := range []string{nameNull, nameUnset, nameEmpty, nameItem, nameJSON} {
		r.marks[name] = map[string]bool{}
		for _, at := range r.posted[name] {
			r.marks[name][at] = true
		}
	}
	for at := range r.marks[nameItem] {
		add(at)
	}
	for name := range r.posted {
		if at, is := strings.CutPrefix(name, nameKept); is {
			add(at)
		}
	}
	for at := range r.rows {
		slices.Sort(r.rows[at])
		r.rows[at] = slices.Compact(r.rows[at])
	}
}

// leftovers rejects names that were not read.
func (r *reader) leftovers() {
	for _, name := range slices.Sorted(maps.Keys(r.posted)) {
		switch name {
		case nameNull, nameUnset, nameEmpty, nameItem, nameJSON:
			for _, at := range r.posted[name] {
				if !r.used[name+"="+at] {
					r.unknown(at)
				}
			}
		default:
			if !r.used[name] {
				r.unknown(strings.TrimPrefix(strings.TrimPrefix(name, nameKept), nameKey))
			}
		}
	}
}

func (r *reader) unknown(name string) {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	r.bad(name, inventory.CodeUnknown, "reload the form, and fill it in again",
		"the form of "+r.form.Service.Name+" has no such field, or its value cannot be set")
}

func (r *reader) bad(at, code, hint, message string) {
	if len(r.problems) < diag.Limit {
		r.problems.Add(diag.Problem{
			Pointer: at, Attribute: strings.TrimPrefix(at, "/"), Code: code, Hint: hint,
			Message: message,
		})
	}
}

// text returns the value of a control. Browsers end lines with CR LF.
func (r *reader) text(name string) string {
	all := r.posted[name]
	if len(all) == 0 {
		return ""
	}
	r.used[name] = true
	if len(all) > 1 {
		r.bad(name, inventory.CodeUnknown, "reload the form", "the field was sent more than once")
	}
	return strings.ReplaceAll(all[0], "\r\n", "\n")
}

// mark reports whether a mark has a pointer as value.
func (r *reader) mark(name, at string) bool {
	r.used[name+"="+at] = true
	return r.marks[name][at]
}

func (r *reader) part(p *definition.Part, at string, base map[string]any, in scope) *Draft {
	out := &Draft{there: true, parts: map[string]*Draft{}}
	for _, one := range r.form.fields(p, at, base, in) {
		if one.mood == hidden || one.mood == fixed {
			continue
		}
		var d *Draft
		switch {
		case r.mark(nameJSON, one.at):
			d = r.json(one.at)
		case one.attribute != nil:
			d = r.attribute(one.attribute, one.at)
		case one.embedded != nil:
			d = r.members(one.embedded, one.at, base[one.name], in)
		default:
			d = r.relation(one.relation, one.at)
		}
		out.parts[one.name] = d
	}
	return out
}

func (r *reader) attribute(a *definition.Attribute, at string) *Draft {
	if !a.List() {
		return r.value(a, at)
	}
	out := &Draft{}
	for _, i := range r.rows[at] {
		r.mark(nameItem, item(at, i))
		out.items = append(out.items, r.value(a, item(at, i)))
	}
	out.paste(r.lines(at), a)
	out.null = r.null(at, len(out.items) > 0)
	return out
}

// lines returns the further items of a list, one a line.
func (r *reader) lines(at string) []string {
	var out []string
	for line := range strings.SplitSeq(r.text(at+"/-"), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// paste appends items.
func (d *Draft) paste(lines []string, a *definition.Attribute) {
	for _, line := range lines {
		d.items = append(d.items, &Draft{text: line, json: a != nil && shapeOf(a) == shapeJSON})
	}
	d.pasted = len(lines) > 0
}

// value reads a value that is not a list.
func (r *reader) value(a *definition.Attribute, at string) *Draft {
	if r.mark(nameJSON, at) {
		return r.json(at)
	}
	switch shapeOf(a) {
	case shapeBool:
		text := r.text(at)
		if text == "" && !a.Optional() || text == "" && a.List() {
			text = "false"
		}
		return &Draft{text: text, null: text == ""}
	case shapeDict:
		return r.dict(at)
	case shapeJSON:
		return r.json(at)
	}
	out := &Draft{text: r.text(at), empty: r.mark(nameEmpty, at)}
	out.null = r.null(at, out.text != "")
	return out
}

// null reports whether "not set" is chosen. A person may type a value and leave "not set" ticked, or
// tick it and leave the value: the later one counts, which is the one that the form did not show.
func (r *reader) null(at string, given bool) bool {
	ticked, was := r.mark(nameNull, at), r.mark(nameUnset, at)
	return ticked && (!was || !given)
}

func (r *reader) json(at string) *Draft {
	out := &Draft{text: r.text(at), json: true}
	out.null = r.null(at, strings.TrimSpace(out.text) != "")
	return out
}

func (r *reader) dict(at string) *Draft {
	out := &Draft{}
	for _, i := range r.rows[at] {
		here := item(at, i)
		r.mark(nameItem, here)
		out.items = append(out.items, &Draft{key: r.text(nameKey + here), text: r.text(here)})
	}
	out.null = r.null(at, len(out.items) > 0)
	return out
}

func (r *reader) members(e *definition.Embedded, at string, base any, in scope) *Draft {
	if !e.Many() {
		there := r.mark(nameItem, at) || len(r.posted[nameKept+at]) > 0
		if !there && e.Lower == 0 {
			return &Draft{}
		}
		return r.member(e, at, base, in)
	}
	out := &Draft{}
	for _, i := range r.rows[at] {
		r.mark(nameItem, item(at, i))
		out.items = append(out.items, r.member(e, item(at, i), base, in))
	}
	return out
}

func (r *reader) member(e *definition.Embedded, at string, base any, in scope) *Draft {
	var keys []string
	var was map[string]any
	if text := r.text(nameKept + at); text != "" && !in.fresh {
		if json.Unmarshal([]byte(text), &keys) == nil {
			was = member(e, base, keys)
		}
	}
	out := r.part(&e.Part, at, was, scope{fresh: was == nil})
	if was != nil {
		out.kept = keysOf(e, was)
		return out
	}
	for i, k := range e.KeyAttributes { // another has removed the member
		if d := out.parts[k]; d != nil && d.text == "" && i < len(keys) {
			d.text = keys[i]
		}
	}
	return out
}

func (r *reader) relation(rel *definition.Relation, at string) *Draft {
	if !rel.Many() {
		return &Draft{text: strings.TrimSpace(r.text(at))}
	}
	out := &Draft{}
	for _, i := range r.rows[at] {
		r.mark(nameItem, item(at, i))
		out.items = append(out.items, &Draft{text: strings.TrimSpace(r.text(item(at, i)))})
	}
	out.paste(r.lines(at), nil)
	return out
}
