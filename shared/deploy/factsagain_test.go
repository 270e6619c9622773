package deploy_test

import (
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
)

// TestTargetedPlanKnowsFactsLater compares a targeted plan with its apply, after several earlier
// applies: the plan shows the resource that is asked for facts, as the apply schedules it.
func TestTargetedPlanKnowsFactsLater(t *testing.T) {
	t.Parallel()
	r := learning(t)
	for _, text := range []string{"one", "two", "three"} {
		r.release(valued("a", text), res("b"), res("c<b"))
	}
	only, err := state.ParseFilter([]string{string(id("c"))})
	if err != nil {
		t.Fatal(err)
	}
	x := func() deploy.Export {
		return deploy.Export{Target: only,
			Model: modelOf(valued("a", "three"), valued("b", factOf("a")), res("c<b"))}
	}
	planned := author{rig: r}.preview(x(), false)
	lines := map[string]bool{}
	for _, w := range planned.Planned {
		lines[stepText(w)] = true
	}
	if want := "b update after v of a (may change: known after apply)"; !lines[want] {
		t.Errorf("%q is not in the plan: %v", want, lines)
	}
	next := x()
	next.Expect = planned.State
	r.export(next)
	r.drain()
	r.want("b", state.StatusDeployed)
}
