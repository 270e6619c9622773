package catalog

import (
	"cmp"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/types"
	"southbound/shared/service/lifecycle"
)

// machine returns the lifecycle of a binding; nil if it is invalid.
func (c *collector) machine(b *eval.Instance) *lifecycle.Machine {
	o := one(b, "lifecycle")
	if o == nil {
		return nil // such a model does not compile
	}
	m, err := lsm.Machine(func(of types.Object, name string) (types.Value, error) {
		v, ok := found(of).Value(name)
		if !ok {
			return nil, eval.ErrMissing
		}
		return v, nil
	}, o)
	if err != nil {
		c.bad(o.Pos(), "lifecycle", "compute it from known values", "%v", err)
		return nil
	}
	wrong := m.Check()
	transfers := list(o, "transfers")
	slices.SortFunc(transfers, func(a, b *eval.Instance) int {
		return cmp.Compare(a.Number(), b.Number())
	})
	for _, p := range wrong {
		c.problems.Add(diag.Problem{
			Pos: place(p, o, transfers), Code: CodeService, Message: p.Message, Hint: p.Hint,
			Related: []diag.Related{{Pos: b.Pos(), Message: "it is bound here"}},
		})
	}
	if len(wrong) > 0 {
		return nil
	}
	return m
}

// place returns the position of the state or the transfer of a problem.
func place(p lifecycle.Problem, machine *eval.Instance, transfers []*eval.Instance) diag.Pos {
	if p.Transfer >= 0 && p.Transfer < len(transfers) {
		return transfers[p.Transfer].Pos()
	}
	for _, t := range append([]*eval.Instance{machine}, transfers...) {
		for _, end := range []string{"initial_state", "source", "target", "error"} {
			if t.Type().Place(end) < 0 {
				continue
			}
			if s := one(t, end); s != nil && text(s, "name") == p.State {
				return s.Pos()
			}
		}
	}
	return machine.Pos()
}
