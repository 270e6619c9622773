package schema

import (
	"math"
	"math/big"
	"regexp/syntax"
	"slices"
	"strings"

	"southbound/shared/resource"
)

// The limits of generated values for a type without limits.
const (
	longText = 1000
	longList = 20
	maxEdges = 40
)

// Edges returns boundary values of the type, for tests: the smallest and the largest, empty and
// long ones, each word, unusual texts. All of them match the type as a handler receives it, none is
// nil, and no two are equal. The result is empty if no value of the type was found.
func (d *DataType) Edges() []any {
	var out []any
	for _, v := range edgesOf(d, 0) {
		if v != nil && len(out) < maxEdges && d.Check(v) == nil &&
			!slices.ContainsFunc(out, func(o any) bool { return resource.Equal(o, v) }) {
			out = append(out, v)
		}
	}
	return out
}

func edgesOf(d *DataType, depth int) []any {
	if depth > 4 {
		return nil
	}
	switch d.kind {
	case kindOptional, kindVariant, kindSensitive:
		var out []any
		for _, o := range d.of {
			out = append(out, edgesOf(o, depth+1)...)
		}
		return out
	case kindString:
		return textEdges(d)
	case kindEnum:
		var out []any
		for _, w := range d.words {
			out = append(out, w)
		}
		return out
	case kindPattern:
		return patternEdges(d)
	case kindInteger:
		return integerEdges(d)
	case kindFloat, kindNumeric:
		return floatEdges(d)
	case kindBoolean:
		return []any{false, true}
	case kindTimestamp:
		return []any{"2000-02-29T23:59:59Z", "1969-12-31T23:59:59.999999999+14:00"}
	case kindArray, kindTuple, kindHash, kindStruct:
		return compoundEdges(d, depth)
	case kindAny, kindData:
		return append([]any{false, int64(0), int64(math.MaxInt64), -1.5}, oddTexts()...)
	}
	return nil
}

// oddTexts returns texts that programs often handle incorrectly.
func oddTexts() []any {
	return []any{"a", "", " ", " a ", "a b", "0", "false", "ü€😀", "e\u0301", `"quoted" 'twice' \`,
		"line\nline\n", "a\tb", "$HOME `id` $(id) %s", "-v", "a,b=c]", "#a;b"}
}

func textEdges(d *DataType) []any {
	out := oddTexts()
	shortest, longest := d.size.lo, d.size.hi
	if shortest > 0 && shortest <= longText {
		out = append([]any{strings.Repeat("a", int(shortest)), strings.Repeat("ü", int(shortest))},
			out...)
	}
	if longest > longText {
		longest = max(longText, shortest)
	}
	if longest > 0 && longest <= 64*longText {
		out = append(out, strings.Repeat("a", int(longest)), strings.Repeat("€", int(longest)))
	}
	return out
}

// patternEdges generates the shortest text of each pattern, and one with more repetitions. A text
// for a pattern that depends on its context may not match; Edges omits it.
func patternEdges(d *DataType) []any {
	out := oddTexts()
	for _, p := range d.patterns {
		re, err := syntax.Parse(p.re.String(), syntax.Perl)
		if err != nil {
			continue
		}
		re = re.Simplify()
		for _, last := range []bool{false, true} {
			for _, more := range []bool{false, true} {
				var b strings.Builder
				sample(&b, re, more, last, 0)
				out = append([]any{b.String()}, out...)
			}
		}
	}
	return out
}

// sample writes a text that an expression matches. If more is set, repetitions occur more than the
// minimum number of times. If last is set, the last alternative and the last character of a class
// are used.
func sample(b *strings.Builder, re *syntax.Regexp, more, last bool, depth int) {
	if depth > 50 || b.Len() > longText {
		return
	}
	sub := func(i int) { sample(b, re.Sub[i], more, last, depth+1) }
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if n := len(re.Rune); n > 0 && last {
			b.WriteRune(min(re.Rune[n-1], '~'))
		} else if n > 0 {
			b.WriteRune(max(re.Rune[0], min(re.Rune[1], ' ')))
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpStar, syntax.OpQuest:
		if more {
			sub(0)
		}
	case syntax.OpPlus:
		sub(0)
		if more {
			sub(0)
		}
	case syntax.OpCapture:
		sub(0)
	case syntax.OpConcat:
		for i := range re.Sub {
			sub(i)
		}
	case syntax.OpAlternate:
		if last {
			sub(len(re.Sub) - 1)
		} else {
			sub(0)
		}
	}
}

func integerEdges(d *DataType) []any {
	out := []any{int64(0), int64(1), int64(-1)}
	for _, n := range []int64{d.size.lo, d.size.lo + 1, d.size.hi - 1, d.size.hi, 255, 256,
		math.MaxInt32, math.MinInt32, 1 << 32, 1 << 53, 1<<53 + 1} {
		out = append(out, n)
	}
	for _, n := range []*big.Int{d.size.min, d.size.max} {
		if n != nil && !n.IsInt64() {
			out = append(out, n)
		}
	}
	return out
}

func floatEdges(d *DataType) []any {
	out := []any{0.0, 0.1, -0.5, 1e21, 5e-324, math.MaxFloat64}
	for _, f := range []float64{d.low, d.high} {
		if !math.IsInf(f, 0) && !math.IsNaN(f) {
			out = append(out, f)
		}
	}
	if d.kind != kindFloat {
		out = append(out, int64(0), int64(math.MaxInt64))
	}
	return out
}

func compoundEdges(d *DataType, depth int) []any {
	out := []any{[]any{}, map[string]any{}}
	switch d.kind {
	case kindArray, kindTuple:
		out = append(out, listEdges(d, depth)...)
	case kindHash:
		var keys, values []any
		if len(d.of) == 2 {
			keys, values = edgesOf(d.of[0], depth+1), edgesOf(d.of[1], depth+1)
		}
		whole := map[string]any{}
		for i, v := range values {
			if len(keys) > 0 {
				if key, ok := keys[i%len(keys)].(string); ok {
					out = append(out, map[string]any{key: v})
					whole[key] = v
				}
			}
		}
		out = append(out, whole)
	case kindStruct:
		least, whole := map[string]any{}, map[string]any{}
		for i := range d.members {
			m := &d.members[i]
			for _, v := range m.typ.Edges() {
				whole[m.name] = v
				if !m.mayBeAbsent() {
					least[m.name] = v
				}
				break
			}
		}
		out = append(out, least, whole)
	}
	return out
}

func listEdges(d *DataType, depth int) []any {
	if len(d.of) == 0 {
		return nil
	}
	var out []any
	if d.kind == kindTuple {
		var list []any
		for _, o := range d.of {
			if e := o.Edges(); len(e) > 0 {
				list = append(list, e[0])
			}
		}
		return []any{list}
	}
	var items []any
	if depth < 4 {
		items = d.of[0].Edges()
	}
	for _, v := range items {
		out = append(out, []any{v})
	}
	for _, n := range []int64{d.size.lo, d.size.hi, 2, longList} {
		if n > 1 && n <= 10*longList && len(items) > 0 {
			list := make([]any, n)
			for i := range list {
				list[i] = items[i%len(items)]
			}
			out = append(out, list)
		}
	}
	return out
}
