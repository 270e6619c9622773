package schema

import (
	"fmt"
	"math"
	"strings"
)

// maxWords is the maximum number of words of an Enum that a message lists.
const maxWords = 12

// Describe describes the valid values of the type for people, as in "an Integer between 0 and
// 65535".
func (d *DataType) Describe() string {
	switch d.kind {
	case kindAny:
		return "any value"
	case kindOptional:
		if len(d.of) == 1 && d.of[0].kind != kindAny {
			return d.of[0].Describe()
		}
		return "a value"
	case kindVariant:
		return describeVariant(d)
	case kindString:
		return "a String" + describeSize(d, "character", "of")
	case kindEnum:
		return describeEnum(d)
	case kindPattern:
		sources := make([]string, len(d.patterns))
		for i, p := range d.patterns {
			sources[i] = "/" + shorten(p.source, 120) + "/"
		}
		return "a String that matches " + strings.Join(sources, " or ")
	case kindInteger, kindFloat:
		return describeRange(d)
	case kindNumeric:
		return "a number"
	case kindBoolean:
		if len(d.words) == 1 {
			return "the Boolean " + d.words[0]
		}
		return "a Boolean"
	case kindTimestamp:
		return "a time such as 2026-01-31T12:00:00Z"
	case kindSensitive:
		return "a secret, which is " + d.of[0].Describe()
	case kindData:
		return "data"
	}
	return describeItems(d)
}

func describeVariant(d *DataType) string {
	parts := make([]string, len(d.of))
	for i, o := range d.of {
		parts[i] = o.Describe()
	}
	return strings.Join(parts, " or ")
}

func describeEnum(d *DataType) string {
	words := make([]string, 0, maxWords+1)
	for i, w := range d.words {
		if i == maxWords && len(d.words) > maxWords+1 {
			words = append(words, fmt.Sprintf("%d more", len(d.words)-i))
			break
		}
		words = append(words, fmt.Sprintf("%q", w))
	}
	switch last := len(words) - 1; {
	case last == 0:
		return words[0]
	default:
		return "one of " + strings.Join(words[:last], ", ") + " and " + words[last]
	}
}

func describeRange(d *DataType) string {
	var lo, hi string
	if d.kind == kindInteger {
		if d.size.min != nil {
			lo = d.size.min.String()
		}
		if d.size.max != nil {
			hi = d.size.max.String()
		}
	} else {
		if !math.IsInf(d.low, 0) {
			lo = fmt.Sprint(d.low)
		}
		if !math.IsInf(d.high, 0) {
			hi = fmt.Sprint(d.high)
		}
	}
	article := "a "
	if d.kind == kindInteger {
		article = "an "
	}
	switch {
	case lo != "" && lo == hi:
		return "the " + string(d.kind) + " " + lo
	case lo != "" && hi != "":
		return article + string(d.kind) + " between " + lo + " and " + hi
	case lo != "":
		return article + string(d.kind) + " of at least " + lo
	case hi != "":
		return article + string(d.kind) + " of at most " + hi
	}
	return article + string(d.kind)
}

// describeSize describes the allowed number of units. It returns "" if any number is allowed.
func describeSize(d *DataType, unit, link string) string {
	lo, hi := d.size.min, d.size.max
	count := func(n fmt.Stringer) string {
		if n.String() == "1" {
			return "1 " + unit
		}
		return n.String() + " " + unit + "s"
	}
	switch {
	case d.size.open():
		return ""
	case hi == nil:
		return " " + link + " at least " + count(lo)
	case lo == nil || lo.Sign() == 0:
		return " " + link + " at most " + count(hi)
	case lo.Cmp(hi) == 0:
		return " " + link + " exactly " + count(lo)
	}
	return " " + link + " " + lo.String() + " to " + count(hi)
}

func describeItems(d *DataType) string {
	size := describeSize(d, "item", "with")
	switch d.kind {
	case kindArray:
		if len(d.of) == 1 {
			return "an Array of " + d.of[0].String() + size
		}
		return "an Array" + size
	case kindTuple:
		types := make([]string, len(d.of))
		for i, o := range d.of {
			types[i] = o.String()
		}
		if len(types) > 0 {
			return "an Array of " + strings.Join(types, ", ") + size
		}
		return "an Array" + size
	case kindHash:
		if len(d.of) == 2 {
			return "a Hash of " + d.of[0].String() + " to " + d.of[1].String() + size
		}
		return "a Hash" + size
	}
	return "a Hash with " + describeMembers(d)
}

// describeMembers lists the keys of a Struct.
func describeMembers(d *DataType) string {
	var must, may []string
	for i := range d.members {
		if m := &d.members[i]; m.mayBeAbsent() {
			may = append(may, m.name)
		} else {
			must = append(must, m.name)
		}
	}
	switch {
	case len(must) == 0 && len(may) == 0:
		return "nothing in it"
	case len(may) == 0:
		return strings.Join(must, ", ")
	case len(must) == 0:
		return "any of " + strings.Join(may, ", ")
	}
	return strings.Join(must, ", ") + " and any of " + strings.Join(may, ", ")
}
