package planner

import (
	"testing"

	"southbound/shared/deploy/state"
)

// TestSetIsDecidedAgain pins that what had nothing to write is asked again when the row turns out
// to be another: a fact that a row was asked for already is asked of what takes its place.
func TestSetIsDecidedAgain(t *testing.T) {
	t.Parallel()
	p := &planning{}
	p.reset()
	ask := func(r *state.Row) bool {
		was := r.WantFacts()
		r.AskFacts()
		return !was
	}
	give := func(r *state.Row) bool {
		r.Version = 7
		return true
	}
	asked := &state.Row{ID: "t::T[a,name=x]", Rev: 3, Intent: state.Intent{FactsAsked: 1}}
	p.set(asked, ask)
	if len(p.order) != 0 {
		t.Error("a row of which nothing changes is to be written")
	}
	p.set(asked, give)
	replacement := state.Row{ID: asked.ID}
	if !p.reapply[asked.ID](&replacement) || !replacement.WantFacts() || replacement.Version != 7 {
		t.Errorf("the row that took its place is %+v", replacement)
	}
	if before := p.before[asked.ID]; before.Version != 0 || len(p.order) != 1 {
		t.Errorf("planned %v, before %+v", p.order, before)
	}
}
