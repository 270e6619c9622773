package schema

import (
	"math"
	"math/big"
	"strings"

	"southbound/shared/schema/internal/puppet"
)

// builder converts nodes into data types. It reports errors through the parser, which knows the
// text.
//
// Large: it has a method for each kind of type, since the kinds have different parameters. The
// methods report errors in one place and resolve names in the same aliases.
type builder struct {
	p       *parser
	aliases *aliasTable
}

func (b *builder) fail(n *node, hint, format string, args ...any) *DataType {
	b.p.failAt(n.at, hint, format, args...)
	return &DataType{kind: kindAny, undef: true}
}

// typ builds the type that n names, and rejects it if it is too large after its aliases are
// expanded.
func (b *builder) typ(n *node) *DataType {
	d := b.named(n)
	if d.weight == 0 {
		d.weight = 1
		for _, o := range d.of {
			d.weight += o.weight
		}
		for i := range d.members {
			d.weight += d.members[i].typ.weight
		}
	}
	if d.weight > maxWeight {
		return b.fail(n, "", "%s stands for more than %d types", n.text, maxWeight)
	}
	return d
}

func (b *builder) named(n *node) *DataType {
	if n.kind != nodeType {
		hint := ""
		if n.kind == nodeWord || n.kind == nodeString {
			hint = nearestHint(n.text, typeNames(b.aliases))
		}
		return b.fail(n, hint, "expected a type")
	}
	d := &DataType{kind: kind(n.text), floats: floats{math.Inf(-1), math.Inf(1)}}
	switch d.kind {
	case kindAny, kindData:
		b.none(n)
		d.undef = true
	case kindNumeric:
		if n.open {
			return b.fail(n, "Variant[Integer[…], Float[…]] has ranges",
				"Numeric has no parameters,")
		}
	case kindString:
		b.sized(d, n.params, true)
	case kindInteger:
		b.integer(d, n)
	case kindFloat:
		b.float(d, n)
	case kindBoolean:
		b.boolean(d, n)
	case kindEnum:
		b.enum(d, n)
	case kindPattern:
		b.pattern(d, n)
	case kindOptional, kindSensitive:
		b.wrapper(d, n)
	case kindVariant:
		return b.variant(d, n)
	case kindArray, kindHash, kindTuple:
		b.items(d, n)
	case kindStruct:
		b.structure(d, n)
	case kindTimestamp:
		b.none(n)
	default:
		return b.alias(n)
	}
	for _, o := range d.of {
		d.secret = d.secret || o.secret
	}
	return d
}

// alias looks up a name that is not a type of the language.
func (b *builder) alias(n *node) *DataType {
	d, err := b.aliases.lookup(n.text)
	switch {
	case err != nil:
		return b.fail(n, "", "the alias %s: %s;", n.text, err)
	case d == nil:
		names := typeNames(b.aliases)
		return b.fail(n, orList(nearestHint(n.text, names), "there are ", names),
			"%q is neither a type nor an alias", n.text)
	case n.open:
		return b.fail(n, "", "the alias %s has no parameters,", n.text)
	}
	named := *d
	named.alias = n.text
	return &named
}

func typeNames(aliases *aliasTable) []string {
	names := aliases.names()
	for _, k := range kinds() {
		names = append(names, string(k))
	}
	return names
}

func (b *builder) none(n *node) {
	if n.open {
		b.fail(n, "", "%s has no parameters,", n.text)
	}
}

// integerOf returns the number in n, or nil for default.
func (b *builder) integerOf(n *node, what string) *big.Int {
	switch n.kind {
	case nodeInt:
		return n.num
	case nodeDefault:
		return nil
	}
	b.fail(n, "", "expected %s", what)
	return nil
}

// atMost rejects more parameters than limit.
func (b *builder) atMost(params []node, limit int) bool {
	if len(params) > limit {
		b.fail(&params[limit], "", "expected no more parameters")
		return false
	}
	return true
}

// rangeOf parses the parameters min and max.
func (b *builder) rangeOf(params []node, what string) (lo, hi *big.Int) {
	if !b.atMost(params, 2) {
		return nil, nil
	}
	if len(params) > 0 {
		lo = b.integerOf(&params[0], what)
	}
	if len(params) > 1 {
		hi = b.integerOf(&params[1], what)
	}
	if lo != nil && hi != nil && lo.Cmp(hi) > 0 {
		b.fail(&params[0], "the smaller one stands first", "the range is empty: %s is above %s", lo,
			hi)
	}
	return lo, hi
}

func (b *builder) integer(d *DataType, n *node) {
	d.size = newInterval(b.rangeOf(n.params, "an integer or default"))
}

// sized parses the allowed number of characters or items. If clamp is set, a negative minimum
// counts as 0.
func (b *builder) sized(d *DataType, params []node, clamp bool) {
	lo, hi := b.rangeOf(params, "a number of characters or items, or default")
	for i, end := range []*big.Int{lo, hi} {
		if end != nil && end.Sign() < 0 && (i == 1 || !clamp) {
			b.fail(&params[i], "", "a size is not negative, expected 0 or more")
		}
	}
	if lo == nil || lo.Sign() < 0 {
		lo = new(big.Int)
	}
	d.size = newInterval(lo, hi)
}

func (b *builder) float(d *DataType, n *node) {
	if !b.atMost(n.params, 2) {
		return
	}
	for i, end := range []*float64{&d.low, &d.high} {
		if i >= len(n.params) {
			break
		}
		switch p := &n.params[i]; p.kind {
		case nodeFloat:
			*end = p.float
		case nodeInt:
			*end, _ = new(big.Float).SetInt(p.num).Float64()
			if math.IsInf(*end, 0) {
				b.fail(p, "", "the number is too large for a float")
			}
		case nodeDefault:
		default:
			b.fail(p, "", "expected a number or default")
		}
	}
	if d.low > d.high {
		b.fail(&n.params[0], "the smaller one stands first", "the range is empty: %v is above %v",
			d.low, d.high)
	}
	d.low, d.high = d.low+0, d.high+0
}

func (b *builder) boolean(d *DataType, n *node) {
	if !b.atMost(n.params, 1) || len(n.params) == 0 {
		return
	}
	if n.params[0].kind != nodeBool {
		b.fail(&n.params[0], "", "expected true or false")
	}
	d.words = []string{n.params[0].text}
}

// needs rejects a name without parameters, which has no agreed meaning.
func (b *builder) needs(n *node, what string) bool {
	if len(n.params) == 0 {
		b.fail(n, "", "%s needs %s", n.text, what)
	}
	return len(n.params) > 0
}

func (b *builder) enum(d *DataType, n *node) {
	if !b.needs(n, "the words it stands for") {
		return
	}
	for i := range n.params {
		p := &n.params[i]
		switch {
		case p.kind == nodeString || p.kind == nodeWord:
			d.words = append(d.words, p.text)
		case p.kind == nodeType || p.kind == nodeBool:
			b.fail(p, "write it in quotes: '"+p.text+"'",
				"expected a word in lower case or a string in quotes")
		default:
			b.fail(p, "", "expected a word or a string in quotes")
		}
	}
	d.words = sortedWords(d.words)
}

func (b *builder) pattern(d *DataType, n *node) {
	if !b.needs(n, "a /regular expression/") {
		return
	}
	for i := range n.params {
		p := &n.params[i]
		source := p.text
		switch {
		case p.kind == nodeRegexp:
		case p.kind == nodeString, p.kind == nodeWord:
			source = escapeSlashes(source)
		default:
			b.fail(p, "", "expected a /regular expression/")
			return
		}
		re, err := puppet.Compile(source)
		if err != nil {
			b.fail(p, "", "the regular expression cannot be used: %s;", err)
			return
		}
		d.patterns = append(d.patterns, oneForm{source, re})
	}
}

// escapeSlashes writes / as \/, as required between slashes.
func escapeSlashes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			b.WriteByte(s[i])
			i++
		case s[i] == '/':
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
