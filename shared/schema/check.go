package schema

import (
	"math/big"
	"slices"
	"time"
	"unicode/utf8"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// origin is the source of a value.
type origin bool

const (
	// observed values come from a target or are resolved: they contain the plain value of
	// Sensitive[T].
	observed origin = false
	// authored values are from a document: only a secret matches Sensitive[T].
	authored origin = true
)

// Check returns nil if a value matches this type. Otherwise it returns fault.Invalid with the
// expected and the actual value, but without the value if the type is or contains Sensitive. For
// Sensitive[T], Check accepts the plain T, as a handler receives it. A document is checked by
// Compiled.Check, which requires a secret there. Secrets, parameters and facts match every type:
// their values are checked once they are known. A file, and a text of parts, match where text does.
func (d *DataType) Check(v any) error {
	if d.accepts(v, observed) {
		return nil
	}
	text, hint := d.explain(v, observed).render(!d.secret)
	return fault.New(fault.Invalid, "", "%s", text).WithHint("%s", hint)
}

func (d *DataType) accepts(v any, from origin) bool {
	switch d.kind {
	case kindOptional:
		return v == nil || d.of[0].accepts(v, from)
	case kindVariant:
		for _, o := range d.of {
			if o.accepts(v, from) {
				return true
			}
		}
		return false
	}
	switch v := v.(type) {
	case resource.Secret, resource.Parameter, resource.Fact:
		return true
	case resource.File:
		return d.acceptsFile()
	case resource.Text:
		return acceptsParts(d, v, from)
	default:
		if d.kind == kindSensitive {
			return from == observed && d.of[0].accepts(v, from)
		}
		return acceptsLiteral(d, v, from)
	}
}

// acceptsFile reports whether the type accepts a file. Types that accept arbitrary text do.
// Uploaded files are stored unencrypted, so Sensitive types do not accept them.
func (d *DataType) acceptsFile() bool {
	switch d.kind {
	case kindString, kindPattern, kindAny, kindData:
		return true
	}
	return false
}

// acceptsParts reports whether the type may accept a text of parts. Its value is checked once it is
// known.
func acceptsParts(d *DataType, t resource.Text, from origin) bool {
	switch d.kind {
	case kindSensitive:
		return d.of[0].accepts(t, observed) && (from == observed || resource.HasSecret(t))
	case kindString, kindPattern, kindEnum, kindTimestamp, kindAny, kindData:
		return true
	}
	return false
}

func acceptsLiteral(d *DataType, v any, from origin) bool {
	switch v := v.(type) {
	case nil:
		return d.undef
	case bool:
		switch d.kind {
		case kindBoolean:
			return len(d.words) == 0 || (d.words[0] == "true") == v
		case kindAny, kindData:
			return true
		}
	case string:
		return acceptsText(d, v)
	case int64:
		if d.kind == kindInteger {
			return d.size.has(v)
		}
		return acceptsNumber(d)
	case *big.Int:
		if d.kind == kindInteger {
			return v != nil && d.size.hasBig(v)
		}
		return v != nil && acceptsNumber(d)
	case float64:
		if d.kind == kindFloat {
			return d.low <= v && v <= d.high
		}
		return acceptsNumber(d)
	case []any:
		return acceptsList(d, v, from)
	case map[string]any:
		return acceptsMap(d, v, from)
	}
	return false
}

// acceptsNumber reports whether the type accepts every number.
func acceptsNumber(d *DataType) bool {
	switch d.kind {
	case kindNumeric, kindAny, kindData:
		return true
	}
	return false
}

func acceptsText(d *DataType, s string) bool {
	switch d.kind {
	case kindString:
		return d.size.open() || d.size.has(int64(utf8.RuneCountInString(s)))
	case kindEnum:
		_, found := slices.BinarySearch(d.words, s)
		return found
	case kindPattern:
		return slices.ContainsFunc(d.patterns, func(p oneForm) bool { return p.re.MatchString(s) })
	case kindAny, kindData:
		return true
	case kindTimestamp:
		_, err := time.Parse(time.RFC3339Nano, s)
		return err == nil
	}
	return false
}

func acceptsList(d *DataType, list []any, from origin) bool {
	switch d.kind {
	case kindAny, kindData:
		return true
	case kindArray, kindTuple:
	default:
		return false
	}
	if !d.size.has(int64(len(list))) {
		return false
	}
	for i, e := range list {
		if t := d.item(i); t != nil && !t.accepts(e, from) {
			return false
		}
	}
	return true
}

// item returns the type of item i of a list, or nil if any value is accepted. The last type of a
// Tuple applies to all further items.
func (d *DataType) item(i int) *DataType {
	switch {
	case len(d.of) == 0:
		return nil
	case d.kind == kindTuple:
		return d.of[min(i, len(d.of)-1)]
	}
	return d.of[0]
}

func acceptsMap(d *DataType, m map[string]any, from origin) bool {
	switch d.kind {
	case kindAny, kindData:
		return true
	case kindStruct:
		return acceptsStruct(d, m, from)
	case kindHash:
	default:
		return false
	}
	if !d.size.has(int64(len(m))) {
		return false
	}
	if len(d.of) == 0 {
		return true
	}
	for k, e := range m {
		if !d.of[0].accepts(k, observed) || !d.of[1].accepts(e, from) {
			return false
		}
	}
	return true
}

func acceptsStruct(d *DataType, m map[string]any, from origin) bool {
	known := 0
	for i := range d.members {
		v, ok := m[d.members[i].name]
		switch {
		case ok && !d.members[i].typ.accepts(v, from), !ok && !d.members[i].mayBeAbsent():
			return false
		case ok:
			known++
		}
	}
	return known == len(m)
}
