package schema

import "strings"

// Simple returns the nearest type of a language with few types: string, int, float, bool, list or
// dict. A list of scalars is string[] or the like, and a type with values of several kinds is any.
// The result does not show whether a value may be missing.
func (d *DataType) Simple() string {
	switch d.kind {
	case kindOptional, kindSensitive:
		if len(d.of) == 1 {
			return d.of[0].Simple()
		}
		return simpleAny
	case kindVariant:
		return simpleVariant(d)
	case kindString, kindEnum, kindPattern, kindTimestamp:
		return "string"
	case kindInteger:
		return "int"
	case kindFloat:
		return "float"
	case kindBoolean:
		return "bool"
	case kindArray:
		return simpleList(d)
	case kindTuple:
		return "list"
	case kindHash, kindStruct:
		return "dict"
	}
	return simpleAny
}

const simpleAny = "any"

func simpleVariant(d *DataType) string {
	out := ""
	for _, of := range d.of {
		switch s := of.Simple(); {
		case s == out:
		case out == "":
			out = s
		default:
			return simpleAny
		}
	}
	if out == "" {
		return simpleAny
	}
	return out
}

func simpleList(d *DataType) string {
	if len(d.of) != 1 {
		return "list"
	}
	switch of := d.of[0].Simple(); {
	case d.of[0].undef, of == simpleAny, of == "dict", of == "list", strings.HasSuffix(of, "[]"):
		return "list"
	default:
		return of + "[]"
	}
}

// Required reports whether a document must set an attribute.
func (a *CompiledAttribute) Required() bool {
	return a.Default == nil && (a.Behaviour == Namevar || !a.DataType.Optional())
}
