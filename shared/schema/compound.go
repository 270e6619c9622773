package schema

import (
	"math/big"
	"slices"
	"strings"
)

// wrapper builds a type with one inner type.
func (b *builder) wrapper(d *DataType, n *node) {
	if len(n.params) == 0 && d.kind == kindOptional {
		b.needs(n, "a type")
		return
	}
	if !b.atMost(n.params, 1) {
		return
	}
	inner := &DataType{kind: kindAny, undef: true}
	if len(n.params) == 1 {
		p := &n.params[0]
		if d.kind != kindSensitive &&
			(p.kind == nodeString || p.kind == nodeWord && !b.misspelt(p.text)) {
			inner = &DataType{kind: kindEnum, words: []string{p.text}, literal: true}
		} else {
			inner = b.typ(p)
		}
	}
	d.of = []*DataType{inner}
	d.undef = d.kind == kindOptional
	d.secret = d.kind == kindSensitive
}

// misspelt reports whether a bare word is the name of a type in another case, as in
// Optional[string], and so probably not meant as a word.
func (b *builder) misspelt(word string) bool {
	return slices.ContainsFunc(typeNames(b.aliases),
		func(name string) bool { return strings.EqualFold(name, word) })
}

func (b *builder) variant(d *DataType, n *node) *DataType {
	if !b.needs(n, "the types it stands for") {
		return d
	}
	seen := map[string]bool{}
	for i := range n.params {
		o := b.typ(&n.params[i])
		among := []*DataType{o}
		if o.kind == kindVariant && o.alias == "" { // a Variant in a Variant is flattened
			among = o.of
		}
		for _, o := range among {
			if s := o.String(); !seen[s] {
				seen[s] = true
				d.of = append(d.of, o)
				d.undef = d.undef || o.undef
				d.secret = d.secret || o.secret
			}
		}
	}
	if len(d.of) == 1 {
		return d.of[0]
	}
	return d
}

// items builds Array, Hash and Tuple from types and an optional size.
func (b *builder) items(d *DataType, n *node) {
	types := 0
	for types < len(n.params) && n.params[types].kind != nodeInt &&
		n.params[types].kind != nodeDefault {
		d.of = append(d.of, b.typ(&n.params[types]))
		types++
	}
	rest := n.params[types:]
	b.sized(d, rest, false)
	switch {
	case d.kind == kindArray && types > 1:
		b.fail(&n.params[1], "Tuple[…] has several types", "expected a size")
	case d.kind == kindHash && types == 1:
		b.fail(n, "write Hash[String, …]", "Hash needs the types of its keys and of its values")
	case d.kind == kindHash && types > 0 && !hasText(d.of[0]):
		b.fail(&n.params[0], "write String, Pattern or Enum", "the keys of documents are text,")
	case d.kind == kindHash && types > 2:
		b.fail(&n.params[2], "", "expected a size")
	case d.kind == kindTuple && types == 0 && len(rest) > 0:
		b.fail(&rest[0], "", "expected a type")
	case d.kind == kindTuple && types > 0 && len(rest) == 0:
		size := big.NewInt(int64(types))
		d.size = newInterval(size, size)
	}
	if d.kind == kindArray && types == 1 && d.of[0].kind == kindAny && d.of[0].alias == "" {
		d.of = nil
	}
}

func (b *builder) structure(d *DataType, n *node) {
	if !b.needs(n, "its keys: {key => Type, …}") {
		return
	}
	if n.params[0].kind != nodeMap || len(n.params) > 1 {
		b.fail(&n.params[0], "", "expected one {key => Type, …}")
		return
	}
	pairs := n.params[0].params
	seen := map[string]bool{}
	for i := 0; i+1 < len(pairs) && b.p.err == nil; i += 2 {
		m := b.memberKey(&pairs[i])
		m.typ = b.typ(&pairs[i+1])
		m.optional = m.optional && !m.typ.undef // the type already implies it
		if seen[m.name] {
			b.fail(&pairs[i], "", "the key %q is there twice", m.name)
		}
		seen[m.name] = true
		d.members = append(d.members, m)
		d.secret = d.secret || m.typ.secret
	}
}

// memberKey parses k, 'k' or Optional[k]. Optional[k] => T rejects an explicit null if T does not
// accept null.
func (b *builder) memberKey(n *node) member {
	m := member{}
	key := n
	if n.kind == nodeType && len(n.params) == 1 && n.text == string(kindOptional) {
		m.optional = true
		key = &n.params[0]
	}
	if (key.kind != nodeWord && key.kind != nodeString) || key.text == "" {
		b.fail(key, "", "expected a key: a word, or a string in quotes")
	}
	m.name = key.text
	return m
}

// hasText reports whether the type accepts any text.
func hasText(d *DataType) bool {
	switch d.kind {
	case kindOptional, kindVariant:
		return slices.ContainsFunc(d.of, hasText)
	case kindString, kindEnum, kindPattern, kindTimestamp, kindAny, kindData:
		return true
	}
	return false
}
