package eval

import (
	"math"

	"southbound/shared/lang/types"
)

// joined formats the values of parts, and returns the text: a string, or a *types.LaterText if values
// become known during deployment.
func joined(
	parts []part,
	n *formatNode,
	e *engine,
	s *scope,
	f frame,
) (text types.Value, unknown bool, x *fail) {
	pieces := make([]types.Value, 0, len(parts))
	size := 0
	lost := false // a part never becomes known
	for i := range parts {
		p := &parts[i]
		var t types.Value = p.text
		if p.of != nil {
			var missing bool
			if t, missing, x = n.piece(p, unknown && lost, e, s, f); x != nil {
				return nil, false, x
			}
			unknown = unknown || missing
			lost = lost || missing && !types.InText(t)
		}
		if literal, is := t.(string); is {
			size += len(literal)
		}
		if size > e.remaining() {
			return nil, false, e.fits(size, n.at)
		}
		pieces = append(pieces, t)
	}
	if lost {
		return &types.Unknown{}, true, nil
	}
	return types.JoinText(pieces...), unknown, nil
}

// piece returns the text of a value, or the value if it becomes known during deployment, and
// whether the value is unknown. If whole is true, the whole text is unknown already, and piece does
// not format the value.
func (n *formatNode) piece(
	p *part, whole bool, e *engine, s *scope, f frame,
) (types.Value, bool, *fail) {
	v, x := p.of.value(e, s, f)
	if x != nil {
		return "", true, x
	}
	if types.IsUnknown(v) {
		if p.conversion != 0 || len(p.spec) > 0 {
			v = &types.Unknown{} // the format of a later value
		}
		return v, true, nil
	}
	spec, unknown, x := joined(p.spec, n, e, s, f)
	if x != nil || unknown || whole {
		return "", unknown, x
	}
	format, literal := spec.(string)
	if r, ok := v.(types.Reference); ok || !literal {
		if types.InText(v) && p.conversion == 0 && format == "" && literal {
			return v, false, nil
		}
		return "", false, n.refused(p, r, literal)
	}
	t, x := n.shown(p, v, format, e)
	return t, false, x
}

// refused returns the error for a reference that cannot stand in a text.
func (n *formatNode) refused(p *part, r types.Reference, literal bool) *fail {
	switch {
	case !literal:
		return failed(CodeReference, n.at, "the format of %s is known only when resources are "+
			"deployed", p.name)
	case types.InText(r):
		return failed(CodeReference, n.at, "%s is a reference (%s), whose value is not known before "+
			"it is deployed, so it cannot be formatted", p.name, r.ReferenceName())
	}
	return failed(
		CodeReference,
		n.at,
		"%s is a reference (%s), whose value is not known before it is deployed, so it "+
			"cannot be put into a text",
		p.name,
		r.ReferenceName(),
	)
}

// shown formats a value for the text. A float without a fraction is shown as an int.
func (n *formatNode) shown(
	p *part, v types.Value, format string, e *engine,
) (string, *fail) {
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
