package python

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"

	"southbound/shared/lang/types"
)

// parser parses the values of a frame: JSON whose objects have one member, a tag.
type parser struct {
	text []byte
	at   int
	// tag decodes a tagged value, for tags other than d and f.
	tag func(tag string, v types.Value) (types.Value, error)
}

var errFrame = errors.New("the Python process sent an invalid message")

// message parses a frame: a list whose first element is a string.
func (p *parser) message() (string, []types.Value, error) {
	v, err := p.value(0)
	if err != nil {
		return "", nil, err
	}
	list, ok := v.(*types.List)
	if !ok || len(list.Items) == 0 {
		return "", nil, errFrame
	}
	kind, ok := list.Items[0].(string)
	if !ok {
		return "", nil, errFrame
	}
	return kind, list.Items[1:], nil
}

func (p *parser) next() byte {
	if p.at >= len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) value(depth int) (types.Value, error) {
	if depth > maxDepth {
		return nil, errFrame
	}
	switch c := p.next(); {
	case c == '"':
		return p.string()
	case c == '[':
		return p.list(depth)
	case c == '{':
		return p.tagged(depth)
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	for _, w := range []struct {
		text string
		v    types.Value
	}{{"null", types.Null{}}, {"true", true}, {"false", false}} {
		if strings.HasPrefix(string(p.text[p.at:min(len(p.text), p.at+5)]), w.text) {
			p.at += len(w.text)
			return w.v, nil
		}
	}
	return nil, errFrame
}

func (p *parser) string() (string, error) {
	from := p.at + 1
	rest := p.text[from:]
	if n := bytes.IndexByte(rest, '"'); n >= 0 && bytes.IndexByte(rest[:n], '\\') < 0 {
		p.at = from + n + 1
		return string(rest[:n]), nil
	}
	for i := from; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			p.at = i + 1
			var s string
			err := json.Unmarshal(p.text[from-1:i+1], &s)
			return s, err
		}
	}
	return "", errFrame
}

func (p *parser) number() (types.Value, error) {
	from := p.at
	for p.at < len(p.text) && strings.IndexByte("+-.eE0123456789", p.text[p.at]) >= 0 {
		p.at++
	}
	text := string(p.text[from:p.at])
	if strings.ContainsAny(text, ".eE") {
		f, err := strconv.ParseFloat(text, 64)
		return f, err
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil, errFrame
	}
	return types.Integer(n), nil
}

// members calls f for each element up to the closing bracket; f parses the element.
func (p *parser) members(end byte, f func() error) error {
	p.at++
	for i := 0; p.next() != end; i++ {
		if i > 0 {
			if p.next() != ',' {
				return errFrame
			}
			p.at++
		}
		if err := f(); err != nil {
			return err
		}
	}
	p.at++
	return nil
}

func (p *parser) list(depth int) (types.Value, error) {
	out := &types.List{}
	err := p.members(']', func() error {
		v, err := p.value(depth + 1)
		out.Items = append(out.Items, v)
		return err
	})
	return out, err
}

// key parses a key and the colon.
func (p *parser) key() (string, error) {
	if p.next() != '"' {
		return "", errFrame
	}
	k, err := p.string()
	if err == nil && p.next() != ':' {
		err = errFrame
	}
	p.at++
	return k, err
}

func (p *parser) dict(depth int) (*types.Dict, error) {
	if p.next() != '{' {
		return nil, errFrame
	}
	out := types.NewDict(0)
	err := p.members('}', func() error {
		k, err := p.key()
		if err != nil {
			return err
		}
		v, err := p.value(depth + 1)
		out.Set(k, v)
		return err
	})
	return out, err
}

func (p *parser) tagged(depth int) (out types.Value, err error) {
	err = p.members('}', func() error {
		tag, err := p.key()
		if err != nil {
			return err
		}
		if tag == "d" {
			out, err = p.dict(depth + 1)
			return err
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if text, ok := v.(string); ok && tag == "f" {
			out, err = strconv.ParseFloat(text, 64)
			return err
		}
		out, err = p.tag(tag, v)
		return err
	})
	if err == nil && out == nil {
		err = errFrame
	}
	return out, err
}
