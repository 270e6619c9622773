package jinja

import (
	"slices"
	"strings"

	"southbound/shared/lang/types"
)

// pprinter writes values on several lines, as Python's pformat does: 80 columns, keys sorted.
type pprinter struct {
	s *state
	b strings.Builder
}

func pprintFilter(s *state, a []types.Value) (types.Value, error) {
	if u := isUndefined(a[0]); u != nil {
		return "Undefined", nil
	}
	p := &pprinter{s: s}
	err := p.write(a[0], 0, 0, 0)
	return p.b.String(), err
}

// write writes a value from a column on, and reserves room for closing brackets after it.
func (p *pprinter) write(v types.Value, column, room, depth int) error {
	if err := p.s.spend(0); err != nil {
		return err
	}
	text, err := p.flat(v, depth)
	if err != nil {
		return err
	}
	if runes(text) <= 80-column-room {
		p.b.WriteString(text)
		return nil
	}
	if ofModel(v) {
		p.b.WriteString(text)
		return nil
	}
	if _, _, ok := entries(v); ok {
		return p.dict(v, column, room, depth)
	}
	items, kind := sequence(v)
	switch {
	case kind == 'l':
		return p.list("[", items, "]", column, room, depth)
	case kind == 't' && len(items) == 1:
		return p.list("(", items, ",)", column, room, depth)
	case kind == 't':
		return p.list("(", items, ")", column, room, depth)
	}
	if s, ok := stringOf(v); ok {
		p.text(s, column, room, depth)
		return nil
	}
	p.b.WriteString(text)
	return nil
}

// flat returns a value on one line, with the keys of dictionaries sorted.
func (p *pprinter) flat(v types.Value, depth int) (string, error) {
	sorted, err := p.sorted(v, depth)
	if err != nil {
		return "", err
	}
	return p.s.repr(sorted)
}

func (p *pprinter) sorted(v types.Value, depth int) (types.Value, error) {
	if depth > maxDepth {
		return nil, failf("the value is nested too deep")
	}
	if ofModel(v) {
		return v, nil // in Python it is opaque, neither a list nor a dict
	}
	if _, _, ok := entries(v); ok {
		pairs, err := p.pairs(v)
		if err != nil {
			return nil, err
		}
		d := newDict()
		for _, pair := range pairs {
			x, err := p.sorted(pair.items[1], depth+1)
			if err != nil {
				return nil, err
			}
			_ = d.set(pair.items[0], x) // it was a valid key
		}
		return d, nil
	}
	items, kind := sequence(v)
	if kind == 0 {
		return v, nil
	}
	out := make([]types.Value, len(items))
	for i, item := range items {
		var err error
		if out[i], err = p.sorted(item, depth+1); err != nil {
			return nil, err
		}
	}
	if kind == 't' {
		return &Tuple{items: out}, nil
	}
	return newList(out), nil
}

// pairs returns the entries of a dictionary sorted by key; keys without an order sort by class
// name.
func (p *pprinter) pairs(v types.Value) ([]*Tuple, error) {
	items, err := p.s.pairs(v)
	if err != nil {
		return nil, err
	}
	out := make([]*Tuple, len(items))
	for i, item := range items {
		out[i] = item.(*Tuple)
	}
	slices.SortStableFunc(out, func(a, b *Tuple) int {
		x, y := a.items[0], b.items[0]
		if before, err := less(x, y, 0); before || err != nil && classOf(x) < classOf(y) {
			return -1
		}
		if after, err := less(y, x, 0); after || err != nil && classOf(y) < classOf(x) {
			return 1
		}
		return 0
	})
	return out, nil
}

// classOf returns the Python class name of a key, by which keys without an order are sorted.
func classOf(v types.Value) string {
	switch v.(type) {
	case bool:
		return "bool"
	case float64:
		return "float"
	case types.Null:
		return "NoneType"
	case *Tuple:
		return "tuple"
	case string, Markup:
		return "str"
	}
	return "int"
}

func (p *pprinter) dict(v types.Value, column, room, depth int) error {
	pairs, err := p.pairs(v)
	if err != nil {
		return err
	}
	p.b.WriteString("{")
	for i, pair := range pairs {
		if i > 0 {
			p.b.WriteString(",\n" + strings.Repeat(" ", column+1))
		}
		key, err := p.flat(pair.items[0], depth+1)
		if err != nil {
			return err
		}
		p.b.WriteString(key + ": ")
		behind := 1
		if i == len(pairs)-1 {
			behind = room + 1
		}
		if err := p.write(pair.items[1], column+runes(key)+3, behind, depth+1); err != nil {
			return err
		}
	}
	p.b.WriteString("}")
	return nil
}

func (p *pprinter) list(
	open string,
	items []types.Value,
	end string,
	column, room, depth int,
) error {
	p.b.WriteString(open)
	for i, item := range items {
		if i > 0 {
			p.b.WriteString(",\n" + strings.Repeat(" ", column+1))
		}
		behind := 1
		if i == len(items)-1 {
			behind = room + len(end)
		}
		if err := p.write(item, column+1, behind, depth+1); err != nil {
			return err
		}
	}
	p.b.WriteString(end)
	return nil
}

// text writes a long string as several literals, split at line ends and between words.
func (p *pprinter) text(text string, column, room, depth int) {
	var chunks []string
	lines := splitLines(text, true)
	if depth == 0 {
		column, room = column+1, room+1
	}
	for i, line := range lines {
		last := 80 - column
		full := last
		if i == len(lines)-1 {
			last -= room
		}
		if quoted := types.Repr(line); runes(quoted) <= last {
			chunks = append(chunks, quoted)
			continue
		}
		part, words := "", wordsOf(line)
		for j, w := range words {
			limit := full
			if j == len(words)-1 && i == len(lines)-1 {
				limit -= room
			}
			if part != "" && runes(types.Repr(part+w)) > limit {
				chunks, part = append(chunks, types.Repr(part)), ""
			}
			part += w
		}
		if part != "" {
			chunks = append(chunks, types.Repr(part))
		}
	}
	if len(chunks) == 1 {
		p.b.WriteString(chunks[0])
		return
	}
	out := strings.Join(chunks, "\n"+strings.Repeat(" ", column))
	if depth == 0 {
		out = "(" + out + ")"
	}
	p.b.WriteString(out)
}

// wordsOf splits a line after white space.
func wordsOf(line string) []string {
	var out []string
	for rest := []rune(line); len(rest) > 0; {
		n := 0
		for n < len(rest) && rest[n] > ' ' {
			n++
		}
		for n < len(rest) && rest[n] <= ' ' {
			n++
		}
		out, rest = append(out, string(rest[:n])), rest[n:]
	}
	return out
}
