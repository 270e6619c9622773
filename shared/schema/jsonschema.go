package schema

import (
	"math"
	"slices"

	"southbound/shared/resource"
)

// JSONSchema returns a JSON Schema (draft 2020-12) for literal values of this type in documents,
// for editors. It accepts whatever Check accepts, and in places more: it cannot express whether 1.0
// is an integer, the forms of times, and long character classes. It accepts references inside lists
// and maps; the schema of Compiled.JSONSchema also accepts a reference in place of a whole value.
func (d *DataType) JSONSchema() map[string]any {
	switch d.kind {
	case kindString:
		return addSizes(d, map[string]any{"type": "string"}, "minLength", "maxLength")
	case kindEnum:
		return enumSchema(d)
	case kindPattern:
		return patternSchema(d)
	case kindInteger:
		return integerSchema(d)
	case kindFloat:
		return floatSchema(d)
	case kindNumeric:
		return map[string]any{"type": "number"}
	case kindBoolean:
		if len(d.words) == 1 {
			return map[string]any{"const": d.words[0] == "true"}
		}
		return map[string]any{"type": "boolean"}
	case kindTimestamp:
		return map[string]any{"type": "string", "format": "date-time"}
	case kindSensitive:
		return referenceSchema(false, d.takesParts(), nil)
	case kindArray, kindTuple, kindHash, kindStruct:
		return itemsSchema(d)
	case kindOptional:
		return anyOf(d.of[0].JSONSchema(), map[string]any{"type": "null"})
	case kindVariant:
		out := make([]map[string]any, len(d.of))
		for i, o := range d.of {
			out[i] = o.JSONSchema()
		}
		return anyOf(out...)
	}
	return map[string]any{}
}

func anyOf(schemas ...map[string]any) map[string]any {
	list := make([]any, len(schemas))
	for i, s := range schemas {
		list[i] = s
	}
	return map[string]any{"anyOf": list}
}

// referenceSchema accepts the forms of references in documents. The argument literal is the schema
// of a value that is wrapped, or nil for none.
func referenceSchema(file, text bool, literal map[string]any) map[string]any {
	form := func(limit int, keys ...any) map[string]any {
		return map[string]any{"required": keys, "maxProperties": limit}
	}
	forms := []any{form(2, "secret"), form(1, "parameter"), form(2, "fact", "of")}
	if text {
		forms = append(forms, textSchema(), form(2, "file", "with"))
	}
	if file {
		forms = append(forms, form(1, "file"))
	}
	if literal != nil {
		forms = append(forms, wrapped(literal))
	}
	return map[string]any{"type": "object", "anyOf": forms}
}

// textSchema accepts {text: [part, ...]}.
func textSchema() map[string]any {
	part := anyOf(map[string]any{"type": "string"}, map[string]any{"type": "object"})
	return map[string]any{"required": []any{"text"}, "maxProperties": 1,
		"properties": map[string]any{"text": map[string]any{"type": "array", "items": part}}}
}

// takesParts reports whether this type or one of its choices accepts a text of parts.
func (d *DataType) takesParts() bool {
	switch d.kind {
	case kindOptional, kindVariant, kindSensitive:
		return slices.ContainsFunc(d.of, (*DataType).takesParts)
	}
	return acceptsParts(d, resource.Text{}, observed)
}

// wrapped accepts {value: ...}.
func wrapped(literal map[string]any) map[string]any {
	return map[string]any{"type": "object", "required": []any{"value"}, "maxProperties": 1,
		"properties": map[string]any{"value": literal}}
}

// nothing returns the notations of null.
func nothing() map[string]any {
	return map[string]any{"enum": []any{nil, map[string]any{"value": nil}}}
}

// inDocument returns the schema of a value, or of a reference in its place.
func (d *DataType) inDocument() map[string]any {
	literal := d.JSONSchema()
	if len(literal) == 0 || d.kind == kindSensitive {
		return literal
	}
	if d.secret {
		switch d.kind {
		case kindOptional:
			return anyOf(d.of[0].inDocument(), nothing())
		case kindVariant:
			out := make([]map[string]any, len(d.of))
			for i, o := range d.of {
				out[i] = o.inDocument()
			}
			return anyOf(out...)
		}
	}
	inner := literal
	if d.compound() { // the items would appear twice
		inner = map[string]any{}
	}
	return anyOf(literal, referenceSchema(d.takesFile(), d.takesParts(), inner))
}

// compound reports whether values of the type contain items.
func (d *DataType) compound() bool {
	switch d.kind {
	case kindArray, kindTuple, kindHash, kindStruct:
		return true
	}
	for _, o := range d.of {
		if o.compound() {
			return true
		}
	}
	return false
}

// takesFile reports whether this type or one of its components accepts a file.
func (d *DataType) takesFile() bool {
	switch d.kind {
	case kindOptional, kindVariant:
		for _, o := range d.of {
			if o.takesFile() {
				return true
			}
		}
		return false
	}
	return d.acceptsFile()
}

// addSizes adds the allowed number of characters or items to a schema.
func addSizes(d *DataType, s map[string]any, least, limit string) map[string]any {
	if lo := d.size.min; lo != nil && lo.Sign() > 0 {
		s[least] = lo
	}
	if hi := d.size.max; hi != nil {
		s[limit] = hi
	}
	return s
}

func enumSchema(d *DataType) map[string]any {
	words := make([]any, len(d.words))
	for i, w := range d.words {
		words[i] = w
	}
	return map[string]any{"enum": words}
}

// patternSchema returns the expressions in ECMAScript syntax, unless they are too long for a
// schema.
func patternSchema(d *DataType) map[string]any {
	alternatives := make([]map[string]any, len(d.patterns))
	for i, p := range d.patterns {
		text, ok := p.re.ECMA()
		if !ok {
			return map[string]any{"type": "string"}
		}
		alternatives[i] = map[string]any{"pattern": text}
	}
	out := anyOf(alternatives...)
	if len(alternatives) == 1 {
		out = alternatives[0]
	}
	out["type"] = "string"
	return out
}

func integerSchema(d *DataType) map[string]any {
	out := map[string]any{"type": "integer"}
	if d.size.min != nil {
		out["minimum"] = d.size.min
	}
	if d.size.max != nil {
		out["maximum"] = d.size.max
	}
	return out
}

func floatSchema(d *DataType) map[string]any {
	out := map[string]any{"type": "number"}
	if !math.IsInf(d.low, 0) {
		out["minimum"] = d.low
	}
	if !math.IsInf(d.high, 0) {
		out["maximum"] = d.high
	}
	return out
}

func itemsSchema(d *DataType) map[string]any {
	switch d.kind {
	case kindArray:
		out := addSizes(d, map[string]any{"type": "array"}, "minItems", "maxItems")
		if len(d.of) == 1 {
			out["items"] = d.of[0].inDocument()
		}
		return out
	case kindTuple:
		out := addSizes(d, map[string]any{"type": "array"}, "minItems", "maxItems")
		if n := len(d.of); n > 0 {
			items := make([]any, n)
			for i, o := range d.of {
				items[i] = o.inDocument()
			}
			out["prefixItems"], out["items"] = items, d.of[n-1].inDocument()
		}
		return out
	case kindHash:
		out := addSizes(d, map[string]any{"type": "object"}, "minProperties", "maxProperties")
		if len(d.of) == 2 {
			out["additionalProperties"] = d.of[1].inDocument()
			if keys := d.of[0].JSONSchema(); len(keys) > 0 {
				out["propertyNames"] = keys
			}
		}
		return out
	}
	properties, required := map[string]any{}, []any{}
	for i := range d.members {
		m := &d.members[i]
		properties[m.name] = m.typ.inDocument()
		if !m.mayBeAbsent() {
			required = append(required, m.name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required,
		"additionalProperties": false}
}
