package source

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader converts JSON to nodes. The library parses the grammar.
type jsonReader struct {
	*report
	dec    *jsontext.Decoder
	text   []byte
	seen   int   // the offset in text whose place at is
	at     place // of text[seen]
	single bool  // the text is one line of JSON lines
}

// jsonBlanks are the white space between tokens.
const jsonBlanks = " \t\r\n"

// errReported ends a parse whose problem has been reported.
var errReported = errors.New("reported")

// newJSON returns a reader for a text that starts at a place of its file.
func (r *report) newJSON(text []byte, at place) *jsonReader {
	// The library does not return the place of the first of two equal names, so append reports
	// duplicates.
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	return &jsonReader{report: r, dec: dec, text: text, at: at}
}

// place returns the place of an offset. Offsets must not decrease from one call to the next.
func (j *jsonReader) place(offset int) place {
	j.at, j.seen = j.at.after(j.text[j.seen:offset]), offset
	return j.at
}

// next returns the kind of the next token and where it starts.
func (j *jsonReader) next() (jsontext.Kind, place) {
	k := j.dec.PeekKind()
	i := int(j.dec.InputOffset())
	if k == jsontext.KindInvalid {
		return k, j.at // reading it fails, and that error has the place
	}
	for i < len(j.text) && strings.IndexByte(jsonBlanks+",:", j.text[i]) >= 0 {
		i++
	}
	return k, j.place(i)
}

// fail reports a syntax error.
func (j *jsonReader) fail(err error) error {
	offset, message := int(j.dec.InputOffset()), err.Error()
	var se *jsontext.SyntacticError
	if errors.As(err, &se) {
		offset, message = int(se.ByteOffset), se.Err.Error()
	}
	offset = min(max(offset, j.seen), len(j.text))
	hint := ""
	switch {
	case len(bytes.Trim(j.text[offset:], jsonBlanks)) == 0:
		message, hint = "it ends early", "close the open brackets and quotes"
		if j.single {
			hint = "close the open brackets and quotes; a document is one line"
		}
		offset = len(bytes.TrimRight(j.text, jsonBlanks))
	case strings.Contains(message, "max depth"):
		message, hint = "lists and maps are nested too deeply", "write it less nested"
	case j.single && len(bytes.Trim(j.text[:offset], jsonBlanks)) == 0:
		hint = "standard input holds JSON, a document a line; name a YAML file by its path"
	default:
		hint = jsonHint(j.text, offset, message)
	}
	offset = max(offset, j.seen)
	j.syntax(j.place(offset), hint, "this is not valid JSON: %s", message)
	return errReported
}

// jsonHint returns a hint for the most likely cause of a syntax error at an offset inside the text.
func jsonHint(text []byte, offset int, message string) string {
	rest := text[offset:]
	for _, h := range []struct{ start, hint string }{
		{"#", "JSON has no comments"},
		{"/", "JSON has no comments"},
		{"'", `text stands in "double quotes"`},
		{"}", "no comma stands before a closing bracket"},
		{"]", "no comma stands before a closing bracket"},
	} {
		if bytes.HasPrefix(rest, []byte(h.start)) {
			return h.hint
		}
	}
	switch {
	case rest[0] == ',' && bytes.IndexAny(bytes.TrimLeft(rest[1:], jsonBlanks), "]}") == 0:
		return "no comma stands before a closing bracket"
	case strings.Contains(message, "escape") || strings.Contains(message, "surrogate"):
		return `an escape is \" \\ \/ \b \f \n \r \t or \u and four hexadecimal digits, two of these for characters beyond \uffff`
	case strings.Contains(message, "in string"):
		return `close the quotes, or write \n for a line break`
	case strings.Contains(message, "start of value") || strings.Contains(message, "literal"):
		return `text stands in "double quotes"; the words without quotes are true, false and null`
	case offset > 0 && text[offset-1] == '0' && '0' <= rest[0] && rest[0] <= '9':
		return "a number does not start with 0; put it in quotes if it is text"
	}
	return "look for a comma, a colon or quotes that are missing here or just before"
}

// end reports text after the value.
func (j *jsonReader) end() error {
	offset := int(j.dec.InputOffset())
	rest := bytes.TrimLeft(j.text[offset:], jsonBlanks)
	if len(rest) == 0 {
		return nil
	}
	j.syntax(j.place(len(j.text)-len(rest)), j.only(), "there is more after the document")
	return errReported
}

func (j *jsonReader) only() string {
	if j.single {
		return "each document stands on a line of its own"
	}
	return "a file holds one document; put the resources of all into one list, or into several " +
		"files"
}

// document reads a document except for the items of its list of resources, whose syntax it checks.
// It returns a reader for the items; nil if there is no such list.
func (j *jsonReader) document() (node, *jsonReader, error) {
	k, at := j.next()
	n := node{at: at, kind: object}
	if k != '{' {
		n, err := j.value(0)
		if err == nil {
			err = j.end()
		}
		return n, nil, err
	}
	if _, err := j.dec.ReadToken(); err != nil {
		return n, nil, j.fail(err)
	}
	var items *jsonReader
	var seen map[string]int
	for {
		name, keyAt, err := j.name()
		if err != nil {
			return n, nil, err
		}
		if name == nil {
			return n, items, j.end()
		}
		var m node
		if k, start := j.next(); *name == keyResources && k == '[' && items == nil {
			m = node{at: start, kind: list}
			items = j.newJSON(j.text[j.seen:], start)
			err = j.skip()
		} else {
			m, err = j.value(1)
		}
		if err != nil {
			return n, nil, err
		}
		m.key, m.keyAt = *name, keyAt
		n.items, seen = j.append(n.items, seen, m)
	}
}

// items reads the items of the list at the start of the text. The syntax of the list has been
// checked.
func (j *jsonReader) items(yield func(*node) bool) {
	_, err := j.dec.ReadToken()
	for err == nil && j.dec.PeekKind() != ']' {
		var n node
		if n, err = j.value(2); err != nil || !yield(&n) {
			return
		}
	}
}

// value reads the next value.
func (j *jsonReader) value(depth int) (node, error) {
	k, at := j.next()
	n := node{at: at}
	if j.values++; j.values > maxValues {
		j.tooMany(at)
		return n, errReported
	}
	switch k {
	case '{', '[':
		if depth >= maxDepth {
			j.add(at, "write it less nested", "lists and maps are nested deeper than %d", maxDepth)
			n.bad = true
			return n, j.skip()
		}
		if _, err := j.dec.ReadToken(); err != nil {
			return n, j.fail(err)
		}
		if k == '[' {
			return n, j.list(&n, depth)
		}
		return n, j.object(&n, depth)
	}
	raw, err := j.dec.ReadValue()
	if err != nil {
		return n, j.fail(err)
	}
	switch k {
	case '"':
		n.value, err = unquote(raw)
	case '0':
		j.number(raw, &n)
	case 't', 'f':
		n.value = k == 't'
	}
	return n, err
}

func (j *jsonReader) skip() error {
	if err := j.dec.SkipValue(); err != nil {
		return j.fail(err)
	}
	return nil
}

// unquote returns the value of a valid JSON string.
func unquote(raw []byte) (string, error) {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err
}

// number reads a number into n.
func (j *jsonReader) number(raw []byte, n *node) {
	s := string(raw)
	switch {
	case len(s) > maxDigits:
		n.bad = true
		j.add(n.at, "put it in quotes if it is text", "the number is too long")
	case bytes.ContainsAny(raw, ".eE"):
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			n.bad = true
			j.add(n.at, "put it in quotes if it is text", "the number %s is too large", short(s))
			return
		}
		n.value = f
	default:
		n.value = integer(s, 10)
	}
}

func (j *jsonReader) list(n *node, depth int) error {
	n.kind = list
	for {
		if j.dec.PeekKind() == ']' {
			_, err := j.dec.ReadToken()
			return err
		}
		e, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, e)
	}
}

func (j *jsonReader) object(n *node, depth int) error {
	n.kind = object
	var seen map[string]int
	for {
		name, at, err := j.name()
		if err != nil || name == nil {
			return err
		}
		m, err := j.value(depth + 1)
		if err != nil {
			return err
		}
		m.key, m.keyAt = *name, at
		n.items, seen = j.append(n.items, seen, m)
	}
}

// name reads the name of a member; nil at the end of the object.
func (j *jsonReader) name() (*string, place, error) {
	k, at := j.next()
	if k == '}' {
		_, err := j.dec.ReadToken()
		return nil, at, err
	}
	raw, err := j.dec.ReadValue()
	if err != nil {
		return nil, at, j.fail(err)
	}
	if k != '"' {
		return nil, at, j.fail(fmt.Errorf("the name of a member must be text"))
	}
	s, err := unquote(raw)
	return &s, at, err
}
