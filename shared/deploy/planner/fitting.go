package planner

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// withoutFacts returns the values without those of facts.
func (v *values) withoutFacts() *values {
	out := *v
	out.known = maps.Clone(v.known)
	maps.DeleteFunc(out.known, func(k state.ParameterKey, _ resource.Data) bool { return k.Of != "" })
	return &out
}

// nowhere returns the reason why a path into a known fact, to which v refers, leads nowhere; nil if
// there is none. The error is fault.NotFound.
func (v *values) nowhere(in any) error {
	for _, ref := range resource.References(in) {
		f, is := ref.(resource.Fact)
		if !is {
			continue
		}
		if data, known := v.known[state.ParameterKey{Name: f.Key(), Of: f.Of}]; known {
			if _, err := f.In(data.Value()); err != nil {
				return fault.Wrap(fault.NotFound, model.FactText(f), err)
			}
		}
	}
	return nil
}

// explainFact adds to the problem of a value the facts that it comes from. written is the attribute
// with references.
func explainFact(t *schema.Compiled, p *diag.Problem, written, value any) {
	for _, ref := range resource.References(written) {
		if f, is := ref.(resource.Fact); is {
			p.Message += ": the value comes from " + model.FactText(f)
			break
		}
	}
	fact, whole := written.(resource.Fact)
	a, ok := t.Attribute(p.Attribute)
	if _, text := value.(string); !whole || !ok || text || !resource.FitsText(value) {
		return
	}
	if data, err := resource.DataOf(value); err == nil && a.DataType.Check(data.Text()) == nil {
		p.Hint = fmt.Sprintf("write {text: [{fact: %q, of: ...}]} to use it as a text", fact.Name)
	}
}

// coerce adapts the value of a parameter or fact to the attribute: a text to the number or boolean that
// the attribute requires, and a whole number to a float or back. A value that does not fit stays as it
// is.
func coerce(t *schema.Compiled, name string, value any) any {
	if t == nil {
		return value
	}
	a, ok := t.Attribute(name)
	if !ok || a.DataType.Check(value) == nil {
		return value
	}
	switch v := value.(type) {
	case string:
		return parsed(a, v)
	case int64:
		if f := float64(v); int64(f) == v && a.DataType.Check(f) == nil {
			return f
		}
	case float64:
		if n := int64(v); float64(n) == v && a.DataType.Check(n) == nil {
			return n
		}
	}
	return value
}

// parsed is coerce for a text that does not fit.
func parsed(a *schema.CompiledAttribute, text string) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && a.DataType.Check(n) == nil {
		return n
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && a.DataType.Check(f) == nil {
		return f
	}
	if b, err := strconv.ParseBool(text); err == nil && a.DataType.Check(b) == nil &&
		(text == "true" || text == "false") {
		return b
	}
	return text
}

// problemText returns the reason of a resource whose value does not fit.
func problemText(p *diag.Problem) string {
	out := p.Message
	if p.Attribute != "" && !strings.HasPrefix(out, p.Attribute) {
		out = p.Attribute + ": " + out
	}
	if p.Hint != "" {
		out += "; " + p.Hint
	}
	return out
}
