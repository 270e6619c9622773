package eval

import (
	"math"
	"strings"

	"southbound/shared/lang/types"
)

// joined formats the values of parts, and returns the text.
func joined(
	parts []part,
	n *formatNode,
	e *engine,
	s *scope,
	f frame,
) (text string, unknown bool, x *fail) {
	pieces := make([]string, 0, len(parts))
	size := 0
	for i := range parts {
		p := &parts[i]
		t := p.text
		if p.of != nil {
			var missing bool
			if t, missing, x = n.piece(p, unknown, e, s, f); x != nil {
				return "", false, x
			}
			unknown = unknown || missing
		}
		if size += len(t); size > e.remaining() {
			return "", false, e.fits(size, n.at)
		}
		pieces = append(pieces, t)
	}
	if unknown {
		return "", true, nil
	}
	return strings.Join(pieces, ""), false, nil
}

// piece returns the text of a value, and whether the value is unknown. If whole is true, the whole
// text is unknown already, and piece does not format the value.
func (n *formatNode) piece(
	p *part, whole bool, e *engine, s *scope, f frame,
) (string, bool, *fail) {
	v, x := p.of.value(e, s, f)
	if x != nil || types.IsUnknown(v) {
		return "", true, x
	}
	format, unknown, x := joined(p.spec, n, e, s, f)
	if x != nil || unknown || whole {
		return "", unknown, x
	}
	t, x := n.shown(p, v, format, e)
	return t, false, x
}

// shown formats a value for the text. A float without a fraction is shown as an int.
func (n *formatNode) shown(
	p *part, v types.Value, format string, e *engine,
) (string, *fail) {
	if r, ok := v.(types.Reference); ok {
		return "", failed(
			CodeReference,
			n.at,
			"%s is a reference (%s), whose value is not known before it is deployed, so it "+
				"cannot be put into a text",
			p.name,
			r.ReferenceName(),
		)
	}
	if f, ok := v.(float64); ok && f == math.Trunc(f) && !math.IsInf(f, 0) {
		v, _ = types.Cast(types.Int, f)
	}
	if p.conversion != 0 || !n.python || format == "" {
		text, x := written(&e.scheduler, v, p.conversion == 'r' || p.conversion == 'a', n.at)
		if x != nil {
			return "", x
		}
		if v = text; p.conversion == 'a' {
			v = types.ASCII(text)
		}
	}
	if !n.python {
		return v.(string), nil // written has returned a string
	}
	out, err := types.Format(v, format)
	if err != nil {
		return "", failed(CodeFormat, n.at, "%s cannot be formatted: %v", p.name, err)
	}
	return out, nil
}
