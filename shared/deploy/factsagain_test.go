package deploy_test

import (
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// TestPlanAppliedAgainForgetsNoValue applies a plan again after it has purged the resource of a fact.
// The plan said nothing of the dependant, so the dependant keeps its value. A later export of the same
// documents is a request of its own.
func TestPlanAppliedAgainForgetsNoValue(t *testing.T) {
	t.Parallel()
	r := learning(t)
	a := valued("a", "one")
	a.PurgeOnDelete = true
	r.release(a, valued("b", factOf("a")))
	next := func() deploy.Export { return deploy.Export{Model: modelOf(valued("b", factOf("a")))} }
	x := next()
	x.Expect = author{rig: r}.preview(next(), false).State
	r.export(x)
	r.drain()
	if _, there := r.w.things["a"]; there {
		t.Fatal("a was not purged")
	}
	x = deploy.Export{Model: next().Model, Expect: x.Expect}
	if out := r.export(x); out.Changed != 0 || out.Unchanged != 1 || out.New {
		t.Errorf("the second apply of the plan: %+v", out)
	}
	r.drain()
	r.want("b", state.StatusDeployed)
	r.export(next())
	r.want("b", state.StatusUndefined)
}

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

// listing reports a list with the value of the thing as a fact; the list of "none" is empty.
type listing struct{ handler }

func (l listing) Facts(_ *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	v := l.w.things[nameOf(req.Resource)]
	if v == "none" {
		return map[string]any{"list": []string{}}, nil
	}
	return map[string]any{"list": []string{v}}, nil
}

// TestDryRunKnowsPathsAfterDeploy makes a dry run of a resource with a path into a fact that leads
// nowhere now. If a deploy changes the resource of the fact, the value is known after the deploy. A
// parameter beside the fact, whose value the version does not have, changes nothing.
func TestDryRunKnowsPathsAfterDeploy(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Handlers["t::T"] = listing{handler{r.w}}
	text := resource.Text{Parts: []any{resource.Parameter{Name: "p"}, "-",
		resource.Fact{Name: "list/0", Of: id("a")}}}
	r.release(valued("a", "none"), valued("b", text))
	r.set("p", "one")
	r.want("b", state.StatusUndefined)
	is := func(want string) {
		t.Helper()
		d, err := r.e.DryRun(t.Context(), "e", 0)
		if err != nil || len(d.Planned) != 2 {
			t.Fatal(d, err)
		}
		if got := stepText(d.Planned[1]); got != want {
			t.Errorf("a dry run: %q, want %q", got, want)
		}
	}
	is(`b undefined (fact "list/0" of t::T[a,name=a]: "list" has no position 0: its length is 0; ` +
		`write a position below its length, counted from 0)`)
	r.w.things["a"] = "drift"
	is("b create after list/0 of a")
}
