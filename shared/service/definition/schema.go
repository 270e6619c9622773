package definition

import "strings"

// Schema returns a JSON Schema for the attributes of an order. It omits attributes that only the
// model sets.
func (s *Service) Schema() map[string]any {
	out := s.Part.schema(false)
	out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	out["title"] = s.Name
	describe(out, s.Description)
	return out
}

func describe(of map[string]any, text *string) {
	if text != nil {
		of["description"] = *text
	}
}

// schema describes the members of a part. With all, it includes attributes that only the model
// sets. This is for members that the model itself sets.
func (p *Part) schema(all bool) map[string]any {
	properties, required := map[string]any{}, []any{}
	for i := range p.Attributes {
		a := &p.Attributes[i]
		if a.Modifier == ReadOnly && !all {
			continue
		}
		properties[a.Name] = a.schema()
		if !a.DefaultSet && !a.Optional() && a.Modifier != ReadOnly {
			required = append(required, a.Name)
		}
	}
	for i := range p.Embedded {
		e := &p.Embedded[i]
		if e.Modifier == ReadOnly && !all {
			continue
		}
		properties[e.Name] = e.Limits.of(e.Part.schema(e.Modifier == ReadOnly), e.Description)
		if e.Lower > 0 && e.Modifier != ReadOnly {
			required = append(required, e.Name)
		}
	}
	for i := range p.Relations {
		r := &p.Relations[i]
		if r.Modifier == ReadOnly && !all {
			continue
		}
		properties[r.Name] = r.Limits.of(map[string]any{"type": "string"}, r.Description)
		if r.Lower > 0 && r.Modifier != ReadOnly {
			required = append(required, r.Name)
		}
	}
	return map[string]any{
		"type": "object", "properties": properties, "required": required,
		"additionalProperties": false,
	}
}

// of describes members: one, perhaps null, or a list.
func (l Limits) of(one map[string]any, description *string) map[string]any {
	out := one
	switch {
	case l.Many():
		out = map[string]any{"type": "array", "items": one, "minItems": l.Lower}
		if one["type"] == "string" {
			out["uniqueItems"] = true // ids
		}
		if l.Upper != nil {
			out["maxItems"] = *l.Upper
		}
	case l.Lower == 0:
		out = map[string]any{"anyOf": []any{one, map[string]any{"type": "null"}}}
	}
	describe(out, description)
	return out
}

// schema describes a value of an attribute.
func (a *Attribute) schema() map[string]any {
	out := map[string]any{}
	types := map[string]string{
		"string": "string", "int": "integer", "float": "number", "number": "number",
		"bool": "boolean", "dict": "object", "list": "array",
	}
	if t, ok := types[a.Base()]; ok {
		out["type"] = t
	}
	a.validation(out)
	if a.List() {
		out = map[string]any{"type": "array", "items": out}
	}
	if a.Optional() {
		out = map[string]any{"anyOf": []any{out, map[string]any{"type": "null"}}}
	}
	describe(out, a.Description)
	if a.DefaultSet {
		out["default"] = a.Default
	}
	if a.Modifier == ReadOnly {
		out["readOnly"] = true
	}
	return out
}

// validation adds the constraints of a value besides its type.
func (a *Attribute) validation(out map[string]any) {
	if a.ValidationType == nil {
		return
	}
	kind := strings.TrimSuffix(strings.TrimSuffix(*a.ValidationType, "?"), "[]")
	if kind == "enum" {
		out["enum"] = a.ValidationParam["values"]
		return
	}
	for from, to := range map[string]string{
		"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "lt": "exclusiveMaximum",
		"multiple_of": "multipleOf", "min_length": "minLength", "max_length": "maxLength",
	} {
		if v, ok := a.ValidationParam[from]; ok {
			out[to] = v
		}
	}
	if regex, ok := a.ValidationParam["regex"].(string); ok {
		out["pattern"] = pattern(regex)
	}
	formats := map[string]string{
		"datetime.date": "date", "datetime.time": "time", "datetime.datetime": "date-time",
		"ipaddress.IPv4Address": "ipv4", "ipaddress.IPv6Address": "ipv6", "uuid.UUID": "uuid",
		"pydantic.EmailStr": "email", "pydantic.AnyUrl": "uri", "pydantic.AnyHttpUrl": "uri",
		"pydantic.HttpUrl": "uri",
	}
	if f, ok := formats[kind]; ok {
		out["format"] = f
	}
}

// pattern converts a regular expression that matches from the beginning into one that matches
// anywhere.
func pattern(regex string) string {
	if strings.HasPrefix(regex, "^") && !strings.Contains(regex, "|") {
		return regex
	}
	return "^(?:" + regex + ")"
}
