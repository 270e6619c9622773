package source

import (
	"bytes"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// parseJSON reads one JSON document with places. Its scalars are read by the decoder of the resource package, so that both agree.
func (l *loader) parseJSON(file string, text []byte, line int32) *node {
	p := &jsonParser{l: l, file: file, b: text, line: line + 1, lineStart: 0}
	n := p.value(0)
	p.space()
	if !p.failed && p.i < len(text) {
		p.fail("there is more behind the document")
	}
	if p.failed {
		return nil
	}
	return n
}

type jsonParser struct {
	l         *loader
	file      string
	b         []byte
	i         int
	line      int32
	lineStart int
	failed    bool
}

func (p *jsonParser) here() place { return place{p.line, int32(p.i-p.lineStart) + 1} } //nolint:gosec // bounded

func (p *jsonParser) fail(msg string) *node {
	if !p.failed {
		p.failed = true
		p.l.problem(p.file, p.here(), "", "this is no JSON: %s", msg)
	}
	return &node{}
}

func (p *jsonParser) space() {
	for p.i < len(p.b) {
		switch p.b[p.i] {
		case '\n':
			p.line++
			p.lineStart = p.i + 1
		case ' ', '\t', '\r':
		default:
			return
		}
		p.i++
	}
}

func (p *jsonParser) value(depth int) *node {
	p.space()
	if p.i >= len(p.b) {
		return p.fail("it ends early")
	}
	if depth > maxDepth {
		return p.fail("it is nested deeper than " + strconv.Itoa(maxDepth))
	}
	n := &node{at: p.here()}
	switch p.b[p.i] {
	case '{':
		return p.object(n, depth)
	case '[':
		n.kind = list
		p.members(']', func() { n.items = append(n.items, p.value(depth+1)) })
		return n
	}
	raw := p.scalar()
	v, err := resource.DecodeValue(raw)
	if err != nil {
		return p.fail(err.(*fault.Error).Message) //nolint:errorlint,forcetypeassert // DecodeValue has no other
	}
	n.scalar = v
	return n
}

// scalar cuts the text of a string, number or word.
func (p *jsonParser) scalar() []byte {
	from := p.i
	if p.b[p.i] == '"' {
		for p.i++; p.i < len(p.b) && p.b[p.i] != '"' && p.b[p.i] != '\n'; p.i++ {
			if p.b[p.i] == '\\' {
				p.i++
			}
		}
		p.i = min(p.i+1, len(p.b))
		return p.b[from:p.i]
	}
	for p.i < len(p.b) && strings.IndexByte(" \t\r\n,]}:", p.b[p.i]) < 0 {
		p.i++
	}
	return p.b[from:p.i]
}

// members reads what stands between brackets, with commas.
func (p *jsonParser) members(end byte, item func()) {
	p.i++
	p.space()
	if p.i < len(p.b) && p.b[p.i] == end {
		p.i++
		return
	}
	for !p.failed {
		item()
		p.space()
		switch {
		case p.failed:
		case p.i < len(p.b) && p.b[p.i] == ',':
			p.i++
		case p.i < len(p.b) && p.b[p.i] == end:
			p.i++
			return
		default:
			p.fail("expected , or " + string(end))
		}
	}
}

func (p *jsonParser) object(n *node, depth int) *node {
	n.kind = object
	seen := map[string]bool{}
	p.members('}', func() {
		p.space()
		at := p.here()
		if p.i >= len(p.b) || p.b[p.i] != '"' {
			p.fail("expected a name in quotes")
			return
		}
		key, err := resource.DecodeValue(p.scalar())
		text, ok := key.(string)
		if err != nil || !ok {
			p.fail("the name does not read")
			return
		}
		if seen[text] {
			p.l.problem(p.file, at, "remove one of the two", "%q is there twice", text)
		}
		p.space()
		if p.i >= len(p.b) || p.b[p.i] != ':' {
			p.fail("expected :")
			return
		}
		p.i++
		v := p.value(depth + 1)
		if !seen[text] {
			n.keys, n.keyAt, n.items = append(n.keys, text), append(n.keyAt, at), append(n.items, v)
		}
		seen[text] = true
	})
	return n
}

// lines splits JSON lines; empty lines are left out.
func lines(text []byte, f func(line int32, doc []byte)) {
	n := int32(0)
	for l := range bytes.Lines(text) {
		if len(bytes.TrimSpace(l)) > 0 {
			f(n, bytes.TrimRight(l, "\r\n"))
		}
		n++
	}
}
