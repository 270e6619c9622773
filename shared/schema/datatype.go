package schema

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/schema/internal/puppet"
)

// DataType is a parsed data type expression, such as Optional[Integer[0, 65535]]. It is immutable.
//
// The language is a subset of Puppet's data types: Any, Data, Optional, Variant; String, Enum,
// Pattern; Integer, Float, Numeric, Boolean; Array, Tuple, Hash, Struct; Sensitive; and Timestamp,
// whose values are texts as in RFC 3339. Enum, Pattern, Struct, Optional and Variant without
// parameters are rejected, since there is no agreed meaning for them.
//
// The methods are the API of a type. The functions that check, explain and describe values for each
// kind are grouped by purpose, one file for each purpose.
type DataType struct {
	kind     kind
	alias    string      // the name by which the expression was looked up, or ""
	of       []*DataType // parameters that are types
	size     interval    // value of an Integer, or number of characters or items
	floats               // value of a Float
	words    []string    // words of an Enum, sorted; parameter of a Boolean
	literal  bool        // an Enum written as one quoted word
	patterns []oneForm
	members  []member
	undef    bool // accepts undef
	weight   int  // number of component types, with aliases expanded
	secret   bool // is or contains Sensitive
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
	source string // as written between slashes
	re     *puppet.Regexp
}

// member is one key of a Struct.
type member struct {
	name     string
	typ      *DataType
	optional bool // may be absent, even if its type does not accept undef
}

// mayBeAbsent reports whether a Struct may omit the member.
func (m *member) mayBeAbsent() bool { return m.optional || m.typ.undef }

// interval is a range of integers; a nil bound is open.
type interval struct {
	min, max *big.Int
	lo, hi   int64 // the bounds within int64; lo is above hi if the range has no int64
}

// floats is a range of floats; an infinite bound is open.
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

// open reports whether r contains every size.
func (r *interval) open() bool { return r.max == nil && (r.min == nil || r.min.Sign() == 0) }

// ParseDataType parses an expression without aliases. The error is fault.Invalid and states the
// expected text and the column.
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

// Optional reports whether an attribute of this type may be left out, that is, whether its
// outermost type is Optional.
func (d *DataType) Optional() bool { return d.kind == kindOptional }

// Unsealed returns the type of the content of a secret of type d.
func Unsealed(d *DataType) *DataType {
	switch d.kind {
	case kindOptional, kindSensitive:
		if len(d.of) == 1 {
			return Unsealed(d.of[0])
		}
	}
	return d
}

// Sensitive reports whether the type is or contains Sensitive.
func (d *DataType) Sensitive() bool { return d.secret }

// String returns the expression in its normal form: words are quoted, the words of an Enum are
// sorted without duplicates, and a space follows each comma. Parsing the result yields the same
// type. An alias is written as its name.
func (d *DataType) String() string {
	if d.alias != "" {
		return d.alias
	}
	return d.expansion()
}

// expansion is String with the outermost alias expanded.
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
		// A size that equals the number of types is the default and is omitted.
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

// bounds writes the bounds of a range; open is the text for an open lower bound before an upper
// bound.
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

// floatWord writes a float as in an expression; an open bound is default.
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

// shorten truncates a text for messages.
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
