package schema

import (
	"math/big"
	"slices"
)

// JSONSchema returns a JSON Schema (draft 2020-12) for the attributes of a resource of this type in
// a document, including references and rules. It accepts whatever Check accepts. It does not
// include the checks of Validate.
func (c *Compiled) JSONSchema() map[string]any {
	properties, required := map[string]any{}, []any{}
	for i := range c.compiled {
		a := &c.compiled[i]
		if a.Behaviour == ReadOnly {
			continue
		}
		s := a.jsonSchema()
		if a.Description != "" {
			s["description"] = a.Description
		}
		if a.Default != nil && !a.Sensitive {
			s["default"] = a.Default
		}
		properties[a.Name] = s
		if a.Default == nil && (a.Behaviour == Namevar || !a.DataType.Optional()) {
			required = append(required, a.Name)
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "required": required,
		"additionalProperties": false}
	var rules []any
	for i := range c.Rules {
		if s := ruleSchema(c, &c.Rules[i]); s != nil {
			rules = append(rules, s)
		}
	}
	if len(rules) > 0 {
		out["allOf"] = rules
	}
	return out
}

func (a *CompiledAttribute) jsonSchema() map[string]any {
	var s map[string]any
	if a.Behaviour == Namevar { // neither a reference nor empty
		literal := a.DataType.JSONSchema()
		s = anyOf(literal, wrapped(literal))
		s["not"] = map[string]any{"enum": []any{"", map[string]any{"value": ""}}}
	} else {
		s = a.DataType.inDocument()
	}
	if a.Default != nil && len(s) > 0 { // null selects the default
		s = anyOf(s, nothing())
	}
	return s
}

// TitleSchema returns a JSON Schema for titles, and the naming attributes that a title can give.
func (c *Compiled) TitleSchema() (title map[string]any, gives []string) {
	title = map[string]any{"type": "string", "minLength": 1}
	if len(c.titles) == 0 {
		first := c.namevars[:min(1, len(c.namevars))]
		if len(first) == 1 {
			d := c.compiled[c.index[first[0]]].DataType
			if wantsText(d) { // other types are parsed from the text
				return map[string]any{"allOf": []any{title, d.JSONSchema()}}, first
			}
		}
		return title, first
	}
	var patterns []map[string]any
	for _, p := range c.titles {
		gives = append(gives, p.re.SubexpNames()...)
		if text, ok := p.re.ECMA(); ok {
			patterns = append(patterns, map[string]any{"pattern": text})
		}
	}
	if len(patterns) == len(c.titles) {
		title["anyOf"] = anyOf(patterns...)["anyOf"]
	}
	gives = slices.DeleteFunc(gives,
		func(name string) bool { return !slices.Contains(c.namevars, name) })
	return title, gives
}

// ruleSchema returns the schema for a rule, or nil if JSON Schema cannot express it.
func ruleSchema(c *Compiled, r *Rule) map[string]any {
	given := make([]any, len(r.Attributes))
	for i, name := range r.Attributes {
		given[i] = givenSchema(c, name)
	}
	not := func(s map[string]any) map[string]any { return map[string]any{"not": s} }
	all, some := map[string]any{"allOf": given}, map[string]any{"anyOf": given}
	var demand map[string]any
	switch r.Kind {
	case ExactlyOneOf:
		demand = map[string]any{"oneOf": given}
	case AtLeastOneOf:
		demand = some
	case AtMostOneOf:
		demand = map[string]any{"oneOf": append(slices.Clone(given), not(some))}
	case AllOrNoneOf:
		demand = anyOf(all, not(some))
	case AllOf:
		demand = all
	case NoneOf:
		demand = not(some)
	}
	if r.If == "" {
		return demand
	}
	condition := conditionSchema(c, r)
	if condition == nil || demand == nil {
		return nil
	}
	return map[string]any{"if": condition, "then": demand}
}

// givenSchema accepts attributes in which the named one has a value. Naming attributes always have a
// value, if necessary from a title.
func givenSchema(c *Compiled, name string) map[string]any {
	if a, ok := c.Attribute(name); ok && (a.Default != nil || a.Behaviour == Namevar) {
		return map[string]any{}
	}
	return map[string]any{"required": []any{name},
		"properties": map[string]any{name: map[string]any{"not": nothing()}}}
}

// conditionSchema accepts attributes for which a rule applies. It returns nil if JSON Schema cannot
// express the condition.
func conditionSchema(c *Compiled, r *Rule) map[string]any {
	if len(r.Is) == 0 {
		return givenSchema(c, r.If)
	}
	a, ok := c.Attribute(r.If)
	if !ok || a.Behaviour == Namevar {
		return nil // the value may be in the title
	}
	var values []any
	byDefault := false
	for _, v := range r.Is {
		switch v.(type) {
		case string, bool, int64, float64, *big.Int:
		default:
			return nil
		}
		values = append(values, v, map[string]any{"value": v})
		byDefault = byDefault || sameValue(v, a.Default)
	}
	if byDefault {
		values = append(values, nil, map[string]any{"value": nil})
	}
	out := map[string]any{"properties": map[string]any{r.If: map[string]any{"enum": values}}}
	if !byDefault {
		out["required"] = []any{r.If}
	}
	return out
}
