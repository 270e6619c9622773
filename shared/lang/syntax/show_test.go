package syntax

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// operators are what the reference compiler calls them.
var operators = map[string]string{
	"+": "Plus", "-": "Minus", "/": "Division", "*": "Multiplication", "%": "Modulo",
	"**": "Exponentiation", "==": "Equals",
	"!=": "NotEqual", "<": "LessThan", ">": "GreaterThan", "<=": "LessThanOrEqual",
	">=": "GreaterThanOrEqual", "and": "And",
	"or": "Or", "in": "In",
}

// show writes an expression as testdata/reference.jsonl has those of the reference compiler:
// without what is in lists, dictionaries and arguments, and with `d[k] is defined` as the three
// comparisons that it stands for there.
func show(e Expression) string {
	switch e := e.(type) {
	case *Defined:
		if l, ok := e.Value.(*Lookup); ok {
			text := show(l)
			return "(And (And (In " + show(l.Key) + " " + show(l.Map) + ") (NotEqual " + text +
				" null)) (NotEqual " + text + " L))"
		}
		return "(def " + show(e.Value) + ")"
	case *Operation:
		if e.Op == "not in" {
			return "(not (In " + show(e.Left) + " " + show(e.Right) + "))"
		}
		return "(" + operators[e.Op] + " " + show(e.Left) + " " + show(e.Right) + ")"
	case *Not:
		return "(not " + show(e.Value) + ")"
	case *Condition:
		return "(? " + show(e.If) + " " + show(e.Then) + " " + show(e.Else) + ")"
	case *Number:
		if e.Int != nil {
			return e.Int.String()
		}
		return strconv.FormatFloat(e.Float, 'g', -1, 64)
	case *Text:
		b, _ := json.Marshal(e.Value)
		return string(b)
	case *Attr:
		return show(e.Of) + "." + e.Name.Text
	case *Ref:
		return e.Name.Text
	case *Lookup:
		return show(e.Map) + "[" + show(e.Key) + "]"
	case *Group:
		return show(e.Value)
	case *Constant:
		return e.Text
	}
	return map[string]string{"*syntax.Pattern": "re", "*syntax.List": "L", "*syntax.Dict": "D",
		"*syntax.IndexLookup": "I", "*syntax.Call": "C",
		"*syntax.Construct": "K", "*syntax.Comprehension": "M", "*syntax.Format": "F",
		"*syntax.FText": "F"}[fmt.Sprintf("%T", e)]
}

// showAll writes statements in the same way.
func showAll(body []Statement) []string {
	out := []string{}
	for _, s := range body {
		switch s := s.(type) {
		case *Assign:
			out = append(out, "A "+show(s.Value))
		case *Bare:
			out = append(out, "B "+show(s.Value))
		default:
			out = append(out, strings.TrimPrefix(fmt.Sprintf("%T", s), "*syntax."))
		}
	}
	return out
}
