package schema

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/schema/puppet"
)

// DataType is a parsed data type expression, such as Optional[Integer[0, 65535]]. It is immutable.
//
// The language is a part of that of Puppet's data types: Any, Data, Optional, Variant; String, Enum,
// Pattern; Integer, Float, Numeric, Boolean; Array, Tuple, Hash, Struct; Sensitive; and Timestamp,
// whose values are texts as in RFC 3339. Enum, Pattern, Struct, Optional and Variant without
// parameters are refused: what they should mean is not agreed.
//
// What it has as methods is what others ask of a type. How a value is checked, explained, described
// and so on, kind by kind, are functions over it, in a file for each of these purposes.
type DataType struct {
	kind     kind
	alias    string      // the name under which the expression was found, "" for none
	of       []*DataType // parameters that are types
	size     interval    // of an Integer's value, and of how many characters or items there may be
	floats               // of a Float's value
	words    []string    // of an Enum, sorted; the parameter of a Boolean
	literal  bool        // an Enum that was written as one quoted word
	patterns []oneForm
	members  []member
	undef    bool // accepts undef
	weight   int  // how many types it is made of, aliases written out
	secret   bool // is or holds Sensitive
}

// kind is the outermost name of an expression.
type kind string

const (
	kindAny       kind = "Any"
	kindOptional  kind = "Optional"
	kindVariant   kind = "Variant"
	kindString    kind = "String"
	kindEnum      kind = "Enum"
	kindPattern   kind = "Pattern"
	kindInteger   kind = "Integer"
	kindFloat     kind = "Float"
	kindNumeric   kind = "Numeric"
	kindBoolean   kind = "Boolean"
	kindData      kind = "Data"
	kindArray     kind = "Array"
	kindTuple     kind = "Tuple"
	kindHash      kind = "Hash"
	kindStruct    kind = "Struct"
	kindSensitive kind = "Sensitive"
	kindTimestamp kind = "Timestamp"
)

func kinds() []kind {
	return []kind{
		kindAny, kindArray, kindBoolean, kindData, kindEnum, kindFloat, kindHash, kindInteger,
		kindNumeric, kindOptional, kindPattern, kindSensitive, kindString, kindStruct,
		kindTimestamp, kindTuple, kindVariant,
	}
}

// oneForm is one regular expression of a Pattern.
type oneForm struct {
	source string // between slashes, as written
	re     *puppet.Regexp
}

// member is one key of a Struct.
type member struct {
	name     string
	typ      *DataType
	optional bool // may be absent, though its type does not accept undef
}

// mayBeAbsent reports whether a Struct may lack the member.
func (m *member) mayBeAbsent() bool { return m.optional || m.typ.undef }

// interval is a range of integers; nil leaves an end open.
type interval struct {
	min, max *big.Int
	lo, hi   int64 // the same within int64; lo above hi when nothing there is in it
}

// floats is a range of floats; an infinity leaves an end open.
type floats struct{ low, high float64 }

func newInterval(lo, hi *big.Int) interval {
	r := interval{min: lo, max: hi, lo: math.MinInt64, hi: math.MaxInt64}
	if lo != nil && (lo.IsInt64() || lo.Sign() > 0) {
		r.lo = math.MaxInt64
		if lo.IsInt64() {
			r.lo = lo.Int64()
		} else {
			r.hi = math.MinInt64
		}
	}
	if hi != nil && (hi.IsInt64() || hi.Sign() < 0) {
		if hi.IsInt64() {
			r.hi = min(r.hi, hi.Int64())
		} else {
			r.lo, r.hi = math.MaxInt64, math.MinInt64
		}
	}
	return r
}

func (r *interval) has(n int64) bool { return r.lo <= n && n <= r.hi }

func (r *interval) hasBig(n *big.Int) bool {
	return (r.min == nil || n.Cmp(r.min) >= 0) && (r.max == nil || n.Cmp(r.max) <= 0)
}

// open reports whether every size is in r.
func (r *interval) open() bool { return r.max == nil && (r.min == nil || r.min.Sign() == 0) }

// ParseDataType reads an expression; there are no aliases. Errors are fault.Invalid and say what
// was expected at which column.
func ParseDataType(expr string) (*DataType, error) { return parseDataType(expr, nil) }

func parseDataType(expr string, aliases *aliasTable) (*DataType, error) {
	p := &parser{s: expr}
	if len(expr) > maxExpression {
		return nil,
			fault.New(fault.Invalid, "read data type", "the expression is longer than %d bytes",
				maxExpression)
	}
	n := p.typ(0)
	if p.space(); p.err == nil && p.i != len(expr) {
		p.expected("nothing more")
	}
	if p.err != nil {
		return nil, p.err
	}
	b := &builder{p: p, aliases: aliases}
	d := b.typ(&n)
	if p.err != nil {
		return nil, p.err
	}
	return d, nil
}

// Optional reports whether an attribute of this type may be left out: whether its outermost type is
// Optional.
func (d *DataType) Optional() bool { return d.kind == kindOptional }

// Unsealed returns the type of what a secret holds that is of a type.
func Unsealed(d *DataType) *DataType {
	switch d.kind {
	case kindOptional, kindSensitive:
		if len(d.of) == 1 {
			return Unsealed(d.of[0])
		}
	}
	return d
}

// Sensitive reports whether the type is Sensitive, or holds one.
func (d *DataType) Sensitive() bool { return d.secret }

// String returns the expression in its normal form: words quoted, those of an Enum sorted and
// without repeats, one space behind commas. Reading it gives the same type. An alias stands under
// its own name.
func (d *DataType) String() string {
	if d.alias != "" {
		return d.alias
	}
	return d.expansion()
}

// expansion is String with the outermost alias replaced by what it stands for.
func (d *DataType) expansion() string {
	if d.literal {
		return quote(d.words[0])
	}
	if params := paramsOf(d); len(params) > 0 {
		return string(d.kind) + "[" + strings.Join(params, ", ") + "]"
	}
	return string(d.kind)
}

func paramsOf(d *DataType) []string {
	var out []string
	for _, o := range d.of {
		if bare := o.kind == kindAny && o.alias == ""; !bare || d.kind != kindSensitive {
			out = append(out, o.String())
		}
	}
	switch d.kind {
	case kindEnum:
		for _, w := range d.words {
			out = append(out, quote(w))
		}
	case kindBoolean:
		out = append(out, d.words...)
	case kindPattern:
		for _, p := range d.patterns {
			out = append(out, "/"+p.source+"/")
		}
	case kindFloat:
		out = append(out, floatBounds(d)...)
	case kindStruct:
		out = append(out, memberList(d))
	case kindInteger:
		out = append(out, bounds(d.size.min, d.size.max, "default")...)
	case kindTuple:
		// As many items as there are types is what no size means.
		if n := int64(len(d.of)); n > 0 && !(d.size.lo == n && d.size.hi == n) {
			out = append(out, bounds(d.size.min, d.size.max, "0")...)
		}
	default:
		if !d.size.open() {
			out = append(out, bounds(d.size.min, d.size.max, "0")...)
		}
	}
	return out
}

// bounds writes the ends of a range; open is how an open start is written before an end.
func bounds(lo, hi *big.Int, open string) []string {
	if lo != nil {
		open = lo.String()
	}
	switch {
	case hi != nil:
		return []string{open, hi.String()}
	case lo != nil:
		return []string{open}
	}
	return nil
}

func floatBounds(d *DataType) []string {
	switch {
	case !math.IsInf(d.high, 0):
		return []string{floatWord(d.low), floatWord(d.high)}
	case !math.IsInf(d.low, 0):
		return []string{floatWord(d.low)}
	}
	return nil
}

// floatWord writes a float as an expression has it; an open end is default.
func floatWord(f float64) string {
	if math.IsInf(f, 0) {
		return "default"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func memberList(d *DataType) string {
	list := make([]string, len(d.members))
	for i, m := range d.members {
		key := quote(m.name)
		switch {
		case m.optional:
			key = "Optional[" + key + "]"
		}
		list[i] = key + " => " + m.typ.String()
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func sprintf(format string, args []any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// shorten cuts a text for messages.
func shorten(s string, limit int) string {
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

func sortedWords(words []string) []string {
	slices.Sort(words)
	return slices.Compact(words)
}
