package schema

import (
	"encoding/base64"
	"math/big"
	"net/url"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// foreignKinds are the types of the language without values in documents: code, classes, resources
// of a catalogue. They are parsed, so that Variant[String, Callable] means String here, and accept
// nothing.
func foreignKinds() []kind {
	return []kind{
		"Callable", "CatalogEntry", "Class", "Default", "Deferred", "Error", "Iterator", "Object",
		"Regexp", "Resource", kindRuntime, "Type",
		"TypeAlias", "TypeReference", "TypeSet", "Unit",
	}
}

// foreign builds one of them. Types among its parameters are checked where all of them have to be
// types.
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
			if p.open || slices.Contains(foreignKinds(), kind(p.text)) ||
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
		c, err := semver.NewConstraint(p.text)
		if p.kind != nodeString || err != nil {
			b.fail(p, "", "expected a range of versions in quotes, such as '>=1.2.0 <2.0.0'")
			return
		}
		d.words = append(d.words, quote(p.text))
		d.ranges = append(d.ranges, c)
	}
}

// acceptsForm reports whether a text has the form that the type stands for.
func acceptsForm(d *DataType, s string) bool {
	var err error
	switch d.kind {
	case kindSemVer:
		var v *semver.Version
		if v, err = semver.StrictNewVersion(s); err == nil && len(d.ranges) > 0 {
			return slices.ContainsFunc(d.ranges,
				func(c *semver.Constraints) bool { return c.Check(v) })
		}
	case kindSemVerRange:
		_, err = semver.NewConstraint(s)
	case kindURI:
		_, err = url.Parse(s)
	case kindBinary:
		_, err = base64.StdEncoding.DecodeString(s)
	default:
		return false
	}
	return err == nil
}

// acceptsIterable reports whether a value can be gone through, item by item, with every item of the
// type: a list, the pairs of a map, the characters of a text, the numbers below a number.
func acceptsIterable(d *DataType, v any, from origin) bool {
	var items []any
	switch v := v.(type) {
	case []any:
		items = v
	case map[string]any:
		for k, e := range v {
			items = append(items, []any{k, e})
		}
	case string:
		for _, r := range v {
			items = append(items, string(r))
		}
	case *big.Int:
		return v != nil && v.Sign() > 0 && len(d.of) == 0
	case int64:
		if items = []any{int64(0), v - 1}; v <= 0 {
			items = nil
		}
		if v < 0 {
			return false
		}
	default:
		return false
	}
	return len(d.of) == 0 ||
		!slices.ContainsFunc(items, func(e any) bool { return !d.of[0].accepts(e, from) })
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
