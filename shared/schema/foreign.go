package schema

import (
	"slices"
	"strings"

	"southbound/shared/schema/puppet"
)

// isUnvalued reports whether no document has values of a kind.
func isUnvalued(k kind) bool { return slices.Contains(puppet.Unvalued(), string(k)) }

// foreign builds a type of which no document has values. Types among its parameters are checked
// where all of them have to be types.
func (b *builder) foreign(d *DataType, n *node) {
	d.foreign = true
	switch n.text {
	case "Callable", "Iterator", "Type":
		b.typesIn(n.params)
	}
	for i := range n.params {
		p := n.params[i]
		// Runtime[ruby, 'A::B'], however it is written
		if d.kind == kindRuntime && (p.kind == nodeWord || p.kind == nodeString) {
			p.kind = nodeString
			if i == 0 && plainWord(p.text) {
				p.kind = nodeWord
			}
		}
		d.words = append(d.words, p.normal())
	}
}

func plainWord(s string) bool {
	return s != "" && isLower(s[0]) &&
		strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 || !isWord(byte(r)) }) < 0
}

// itemType builds the type of an item of a Struct or Tuple. A word there is no type, but generators
// of modules have written it, and then it is a thing of Ruby, of which no document has one;
// Doubtful names it.
func (b *builder) itemType(n *node) *DataType {
	if n.kind == nodeWord || n.kind == nodeString {
		return &DataType{kind: kindRuntime, foreign: true, words: []string{"ruby", quote(n.text)},
			weight: 1}
	}
	return b.typ(n)
}

// meant returns a hint with the type that a word in place of a type most likely stands for; "" if
// there is none.
func (d *DataType) meant(aliases *aliasTable) string {
	if d == nil || d.kind != kindRuntime || len(d.words) != 2 {
		return ""
	}
	return nearestHint(strings.Trim(d.words[1], "'"), typeNames(aliases))
}

// hollowIn returns a type in d, or d itself, that accepts nothing, though it is not one of several;
// nil when there is none.
func hollowIn(d *DataType) *DataType {
	if d.foreign {
		return d
	}
	if d.kind == kindVariant {
		return nil
	}
	for _, o := range d.of {
		if h := hollowIn(o); h != nil {
			return h
		}
	}
	for i := range d.members {
		if h := hollowIn(d.members[i].typ); h != nil {
			return h
		}
	}
	return nil
}

func (b *builder) typesIn(params []node) {
	for i := range params {
		switch p := &params[i]; p.kind {
		case nodeType:
			if p.open || isUnvalued(kind(p.text)) ||
				!slices.Contains(kinds(), kind(p.text)) {
				b.typ(p) // Type[Enum] is any Enum
			}
		case nodeList:
			b.typesIn(p.params)
		}
	}
}

// normal writes a piece of an expression in its normal form.
func (n *node) normal() string {
	switch n.kind {
	case nodeInt:
		return n.num.String()
	case nodeFloat:
		return floatWord(n.float)
	case nodeString:
		return quote(n.text)
	case nodeRegexp:
		return "/" + n.text + "/"
	case nodeMap:
		var pairs []string
		for i := 0; i+1 < len(n.params); i += 2 {
			pairs = append(pairs, n.params[i].normal()+" => "+n.params[i+1].normal())
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	}
	inner := make([]string, len(n.params))
	for i := range n.params {
		inner[i] = n.params[i].normal()
	}
	switch {
	case n.kind == nodeList:
		return "[" + strings.Join(inner, ", ") + "]"
	case len(inner) > 0:
		return n.text + "[" + strings.Join(inner, ", ") + "]"
	}
	return n.text
}

// versions reads the ranges of a SemVer.
func (b *builder) versions(d *DataType, n *node) {
	for i := range n.params {
		p := &n.params[i]
		r, ok := puppet.ReadVersionRange(p.text)
		if p.kind != nodeString || !ok {
			b.fail(p, "", "expected a range of versions in quotes, such as '>=1.2.0 <2.0.0'")
			return
		}
		d.words = append(d.words, quote(p.text))
		d.ranges = append(d.ranges, r)
	}
}

// isEmpty reports whether no value but null is of the type, so that nobody can set it.
func isEmpty(d *DataType) bool {
	switch d.kind {
	case kindOptional, kindNotUndef, kindSensitive:
		return isEmpty(d.of[0])
	case kindVariant:
		return !slices.ContainsFunc(d.of, func(o *DataType) bool { return !isEmpty(o) })
	case kindArray, kindTuple:
		return d.size.lo > 0 &&
			slices.ContainsFunc(d.of, func(o *DataType) bool { return isEmpty(o) && !o.undef })
	case kindHash:
		return d.size.lo > 0 && len(d.of) == 2 &&
			(!hasText(d.of[0]) || isEmpty(d.of[1]) && !d.of[1].undef)
	case kindStruct:
		return slices.ContainsFunc(d.members,
			func(m member) bool { return !m.mayBeAbsent() && isEmpty(m.typ) && !m.typ.undef })
	case kindUndef:
		return true
	}
	return d.foreign
}

// hasText reports whether some text is of the type.
func hasText(d *DataType) bool {
	switch d.kind {
	case kindOptional, kindNotUndef, kindVariant:
		return slices.ContainsFunc(d.of, hasText)
	case kindUndef, kindArray, kindTuple, kindHash, kindStruct, kindCollection, kindSensitive,
		kindInteger, kindFloat, kindNumeric, kindBoolean:
		return false
	}
	return !d.foreign
}
