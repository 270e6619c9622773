package eval

import (
	"southbound/shared/lang/types"
	"strings"
)

// pluginType resolves the type of a parameter or a result, in the notation of Param.Type.
func (p *program) pluginType(n *namespace, q *boundPlugin, text string) types.Type {
	if strings.Contains(text, "|") {
		var out types.Union
		for part := range strings.SplitSeq(text, "|") {
			out = append(out, p.pluginType(n, q, strings.TrimSpace(part)))
		}
		return out
	}
	switch text {
	case "", "any", "expression":
		return types.Any
	case "null":
		return types.NullOnly
	case "list":
		return types.AnyList
	case "dict":
		return types.AnyDict
	case "reference":
		return types.Opaque
	}
	if of, ok := strings.CutSuffix(text, "?"); ok {
		return &types.Nullable{Of: p.pluginType(n, q, of)}
	}
	if of, ok := strings.CutSuffix(text, "[]"); ok {
		return &types.ListOf{Of: p.pluginType(n, q, of)}
	}
	t, f := n.typeOf(text, q.pos())
	if f != nil {
		p.problem(f)
		return types.Any
	}
	out, ok := t.(types.Type)
	if !ok {
		p.problem(failed(CodePlugin, q.pos(), "%s is not a type", text))
		return types.Any
	}
	return out
}
