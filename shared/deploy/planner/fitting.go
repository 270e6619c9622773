package planner

import (
	"fmt"
	"strconv"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Values that do not fit their attributes: their conversion, and the reasons for people.

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
