package names

import (
	"fmt"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// Describe returns a symbol's declaration, as models write it, and its documentation.
func (p *Project) Describe(x *Symbol) (code, doc string) {
	switch x.Kind {
	case Namespace:
		return "module " + x.Name, tidy(x.Doc)
	case Entity:
		return p.describeEntity(x)
	case Attribute:
		return x.Owner.FullName() + "." + x.Name + ": " + x.Type.String() + defaultOf(x), x.About()
	case Relation:
		return describeRelation(x), tidy(x.Doc)
	case Typedef:
		code := "typedef " + x.FullName()
		if x.Type.Of != nil {
			code += " as " + x.Type.String()
		}
		condition := strings.TrimSpace(strings.TrimPrefix(x.Detail(), "matching "))
		return code + " matching " + condition, tidy(x.Doc)
	case Implementation:
		code := "implementation " + x.FullName()
		if x.Of != nil {
			code += " for " + x.Of.FullName()
		}
		return code, tidy(x.Doc)
	case Plugin:
		doc := x.Plugin.Doc
		if x.Plugin.Deprecated {
			doc = strings.TrimSpace(doc + "\n\nDeprecated" + instead(x.Plugin) + ".")
		}
		return Signature(x.Plugin), doc
	case Primitive:
		return "type " + x.FullName(), ""
	}
	code = x.FullName()
	if t := p.TypeOf(x).String(); t != "" {
		code += ": " + t
	}
	return code, ""
}

func instead(q *eval.Plugin) string {
	if q.ReplacedBy == "" {
		return ""
	}
	return ": use " + q.ReplacedBy
}

func defaultOf(x *Symbol) string {
	if x.detail == nil {
		return ""
	}
	return " = " + x.Detail()
}

func describeRelation(x *Symbol) string {
	out := x.Owner.FullName() + "." + x.Name + " " + x.Detail() + " -- " + x.Type.Of.FullName()
	if x.Inverse != nil {
		out += "." + x.Inverse.Name + " " + x.Inverse.Detail()
	}
	return out
}

// describeEntity returns an entity with its attributes.
func (p *Project) describeEntity(x *Symbol) (code, doc string) {
	var b strings.Builder
	b.WriteString("entity " + x.FullName())
	for i, parent := range x.Parents {
		if i == 0 {
			b.WriteString(" extends ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(parent.FullName())
	}
	b.WriteString(":\n")
	for _, a := range x.own {
		if a.Kind == Attribute {
			fmt.Fprintf(&b, "    %s %s%s\n", a.Type, a.Name, defaultOf(a))
		}
	}
	b.WriteString("end")
	for _, a := range x.own {
		if a.Kind == Relation {
			b.WriteString("\n" + describeRelation(a))
		}
	}
	for _, i := range x.Indexes {
		b.WriteString("\nindex " + x.Name + "(" + strings.Join(i, ", ") + ")")
	}
	said, rest := Documented(x.Doc)
	for _, a := range x.own {
		if text := said[a.Name]; text != "" {
			rest += "\n- `" + a.Name + "`: " + strings.ReplaceAll(text, "\n", " ")
		}
	}
	return b.String(), strings.TrimSpace(rest)
}

// Signature returns the signature of a plugin.
func Signature(q *eval.Plugin) string {
	out := q.Name + "(" + strings.Join(parameters(q), ", ") + ")"
	if q.Result != "" {
		out += " -> " + q.Result
	}
	return out
}

func defaultParam(a eval.Param) string {
	if a.Default == nil {
		return ""
	}
	return " = " + types.Short(a.Default)
}

func typed(t string) string {
	if t == "" {
		return ""
	}
	return ": " + t
}
