package source

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// jsonReader makes nodes of JSON. The grammar is the library's.
type jsonReader struct {
	*report
	dec  *jsontext.Decoder
	text []byte
	seen int   // how much of text at has passed
	at   place // of text[seen]
	zero int64 // what dec calls the offset of text[0]
}

// errReported ends a parse whose problem has been reported.
var errReported = errors.New("reported")

// newJSON returns a reader of a text that starts at a place of its file.
func (r *report) newJSON(text []byte, at place) *jsonReader {
	// Names that are there twice are ours to report: the library does not say where the first one is.
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	return &jsonReader{report: r, dec: dec, text: text, at: at}
}

// place returns the place of an offset, which must not be before that of the call before.
func (j *jsonReader) place(offset int) place {
	j.at, j.seen = j.at.after(j.text[j.seen:offset]), offset
	return j.at
}

// next returns what kind of token comes next and where it starts.
func (j *jsonReader) next() (jsontext.Kind, place) {
	k := j.dec.PeekKind()
	i := int(j.dec.InputOffset())
	for i < len(j.text) && (j.text[i] <= ' ' || j.text[i] == ',' || j.text[i] == ':') {
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
	switch rest := j.text[offset:]; {
	case len(bytes.TrimSpace(rest)) == 0:
		message, hint = "it ends early", "close what is open"
	case bytes.HasPrefix(rest, []byte("#")) || bytes.HasPrefix(rest, []byte("/")):
		hint = "JSON has no comments"
	case bytes.HasPrefix(rest, []byte("'")):
		hint = `text stands in "double quotes"`
	case bytes.HasPrefix(rest, []byte("}")) || bytes.HasPrefix(rest, []byte("]")):
		hint = "no comma stands before a closing bracket"
	}
	j.add(j.place(offset), hint, "this is no JSON: %s", message)
	return errReported
}

// end reports what stands behind the value.
func (j *jsonReader) end() error {
	offset := int(j.dec.InputOffset())
	rest := bytes.TrimLeft(j.text[offset:], " \t\r\n")
	if len(rest) == 0 {
		return nil
	}
	j.add(j.place(len(j.text)-len(rest)), "a file holds one document; write several as a list of resources or as several files", "more stands behind the document")
	return errReported
}

// value reads the value that comes next.
func (j *jsonReader) value(depth int) (node, error) {
	k, at := j.next()
	n := node{at: at}
	switch k {
	case '{', '[':
		if depth >= maxDepth {
			j.add(at, "write it less nested", "lists and maps are nested deeper than %d", maxDepth)
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
		n.value, err = j.number(raw, at)
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

// unquote returns the text that a valid JSON string stands for.
func unquote(raw []byte) (string, error) {
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err
}

func (j *jsonReader) number(raw []byte, at place) (any, error) {
	s := string(raw)
	switch {
	case len(s) > maxDigits:
		j.add(at, "put it in quotes if it is text", "the number is too long")
		return nil, nil
	case bytes.ContainsAny(raw, ".eE"):
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			j.add(at, "put it in quotes if it is text", "the number %s is too large", short(s))
			return nil, nil
		}
		return f + 0, nil // no -0
	}
	return integer(s, 10), nil
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
	n.kind, n.items = object, make([]node, 0, 4)
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
