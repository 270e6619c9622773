package form

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"southbound/shared/diag"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Text returns attributes as indented JSON: the values that the form asks for, and the keys of
// members.
func (f *Form) Text(values map[string]any) string {
	return encoded(texter{f}.part(&f.Service.Part, values, f.Base, f.root()))
}

// texter selects the values that a form asks for.
type texter struct{ *Form }

func (f texter) part(
	p *definition.Part, values, base map[string]any, in scope,
) map[string]any {
	out := map[string]any{}
	for _, one := range f.fields(p, "", base, in) {
		v, has := values[one.name]
		if !has || one.mood == hidden || one.mood == fixed && !identifies(p, one, in) {
			continue
		}
		out[one.name] = v
		if one.embedded == nil {
			continue
		}
		if m, is := v.(map[string]any); is {
			out[one.name] = f.member(one.embedded, m, base[one.name], in)
		}
		if list, is := v.([]any); is {
			all := make([]any, len(list))
			for i := range list {
				all[i] = list[i]
				if m, is := list[i].(map[string]any); is {
					all[i] = f.member(one.embedded, m, base[one.name], in)
				}
			}
			out[one.name] = all
		}
	}
	return out
}

// identifies reports whether a value is a key of a member.
func identifies(p *definition.Part, one field, in scope) bool {
	if in.top {
		return false
	}
	for _, k := range p.KeyAttributes {
		if k == one.name {
			return true
		}
	}
	return false
}

func (f texter) member(
	e *definition.Embedded, m map[string]any, base any, in scope,
) map[string]any {
	var was map[string]any
	if !in.fresh {
		was = member(e, base, keysOf(e, m))
	}
	return f.part(&e.Part, m, was, scope{fresh: was == nil})
}

// Parse reads attributes that are written as JSON, and checks them by the rules of the definition.
// Problems have lines and columns. With problems, the attributes are those that could be read; nil:
// the text is not a JSON object.
func (f *Form) Parse(text string) (map[string]any, diag.Problems) {
	p := &parser{text: text, places: map[string]int{}}
	v, mistake := p.parse()
	if mistake != nil {
		return nil, diag.Problems{{
			Pos: *mistake.pos(), Code: inventory.CodeType, Message: mistake.Message,
			Hint: "write a JSON object with the attributes",
		}}
	}
	values, is := v.(map[string]any)
	if !is {
		return nil, diag.Problems{{
			Pos: diag.Pos{Line: 1, Column: 1}, Code: inventory.CodeType,
			Message: "the text is no JSON object",
			Hint:    `write the attributes between { and }`,
		}}
	}
	problems := f.Check(values)
	for i := range problems {
		problems[i].Pos = *p.placeOf(problems[i].Pointer).pos()
	}
	return values, problems
}

// Mistake is a mistake in JSON. Lines and columns count from 1, columns in characters.
type Mistake struct {
	Line, Column int
	Message      string
}

func (m *Mistake) pos() *diag.Pos { return &diag.Pos{Line: m.Line, Column: m.Column} }

// decoded returns a JSON value; numbers keep their digits.
func decoded(text string) (any, *Mistake) {
	p := &parser{text: text, places: map[string]int{}}
	return p.parse()
}

// parser reads JSON, and records the places of its values.
type parser struct {
	text   string
	d      *json.Decoder
	places map[string]int // offsets by JSON pointers
}

// maxDepth bounds the nesting of JSON.
const maxDepth = 200

func (p *parser) parse() (any, *Mistake) {
	p.d = json.NewDecoder(strings.NewReader(p.text))
	p.d.UseNumber()
	if i := invalidUTF8(p.text); i >= 0 {
		return nil, p.at(i, "the text is not UTF-8")
	}
	v, err := p.value("", maxDepth)
	if err != nil {
		return nil, p.mistake(err)
	}
	end := p.next()
	if _, err := p.d.Token(); !errors.Is(err, io.EOF) {
		return nil, p.at(end, "there is more text behind the value")
	}
	return v, nil
}

func invalidUTF8(text string) int {
	for i, r := range text {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(text[i:]); n == 1 {
			return i
		}
	}
	return -1
}

// next returns the offset of the next value.
func (p *parser) next() int {
	i := min(int(p.d.InputOffset()), len(p.text))
	for i < len(p.text) && strings.IndexByte(" \t\r\n,:", p.text[i]) >= 0 {
		i++
	}
	return i
}

// mistaken is a mistake at an offset.
type mistaken struct {
	offset  int
	message string
}

// Error implements error.
func (m *mistaken) Error() string { return m.message }

func (p *parser) value(at string, depth int) (any, error) {
	start := p.next()
	p.places[at] = start
	if depth == 0 {
		return nil, &mistaken{start, fmt.Sprintf("it has more than %d levels", maxDepth)}
	}
	t, err := p.d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		return p.object(at, depth)
	case json.Delim('['):
		return p.list(at, depth)
	}
	return t, nil
}

func (p *parser) object(at string, depth int) (any, error) {
	out := map[string]any{}
	for p.d.More() {
		start := p.next()
		t, err := p.d.Token()
		if err != nil {
			return nil, err
		}
		name, is := t.(string)
		if !is {
			return nil, &mistaken{start, "a name between quotes is expected"}
		}
		if _, twice := out[name]; twice {
			return nil, &mistaken{start, fmt.Sprintf("the name %q occurs twice", name)}
		}
		here := at + "/" + escaped(name)
		if out[name], err = p.value(here, depth-1); err != nil {
			return nil, err
		}
		p.places[here] = start // where the name is, which people look for
	}
	_, err := p.d.Token()
	return out, err
}

func (p *parser) list(at string, depth int) (any, error) {
	out := []any{}
	for p.d.More() {
		v, err := p.value(item(at, len(out)), depth-1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := p.d.Token()
	return out, err
}

// mistake returns the place of an error.
func (p *parser) mistake(err error) *Mistake {
	var wrong *mistaken
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return p.at(wrong.offset, wrong.message)
	case errors.As(err, &syntax) && !strings.Contains(syntax.Error(), "unexpected end"):
		return p.at(p.wrongFrom(syntax), syntax.Error())
	}
	return p.at(len(p.text), "the text ends too early")
}

// wrongFrom returns the offset of the character that an error names. Decoders count it or not.
func (p *parser) wrongFrom(err *json.SyntaxError) int {
	at := max(0, min(int(err.Offset), len(p.text)))
	if at < len(p.text) && strings.HasPrefix(err.Error(), "invalid character '"+p.text[at:at+1]) {
		return at
	}
	return max(0, at-1)
}

func (p *parser) at(offset int, message string) *Mistake {
	before := p.text[:max(0, min(offset, len(p.text)))]
	line := strings.LastIndexByte(before, '\n') + 1
	return &Mistake{
		Line: strings.Count(before, "\n") + 1, Column: utf8.RuneCountInString(before[line:]) + 1,
		Message: message,
	}
}

// placeOf returns the place of the value of a pointer, or of the nearest value around it.
func (p *parser) placeOf(pointer string) *Mistake {
	for {
		if offset, is := p.places[pointer]; is {
			return p.at(offset, "")
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return p.at(0, "")
		}
		pointer = pointer[:i]
	}
}
