package deploy_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestBlockedNamesWhatIsNotKnown pins that what is blocked names what it waits for now, also when
// something else that it waited for has become known, and that what requires it names the same.
func TestBlockedNamesWhatIsNotKnown(t *testing.T) {
	r := newRig(t)
	lacks := func(name string) resource.Resource {
		out := res(name)
		out.Attributes["note"] = resource.Parameter{Name: "of-" + name}
		return out
	}
	r.export(deploy.Export{Model: modelOf(lacks("a"), lacks("b"), res("c<a,b"), res("d<c"))})
	for _, step := range []struct {
		set  string // the parameter that becomes known
		want resource.ID
	}{{"", id("a")}, {"of-a", id("b")}} {
		if step.set != "" {
			if err := r.e.SetParameters(context.Background(), "e",
				state.Parameter{Name: step.set, Value: "x", Source: "user"}); err != nil {
				t.Fatal(err)
			}
			r.drain()
		}
		for _, name := range []string{"c", "d"} {
			row := r.row(name)
			if want := "requires " + string(step.want) +
				", of which something is not known"; !slices.Equal(row.Causes,
				[]resource.ID{step.want}) || row.Reason != want {
				t.Errorf("after %q: %s names %v (%s), want %s", step.set, name, row.Causes,
					row.Reason, step.want)
			}
		}
	}
}

// TestSkippedNamesWhatFailsLater pins that what is skipped names all root causes, also one that had
// succeeded and fails while nobody asks for what requires it.
func TestSkippedNamesWhatFailsLater(t *testing.T) {
	r := newRig(t)
	r.w.fail["a"] = errors.New("no")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c<a,b"))})
	r.drain()
	r.w.fail["b"] = errors.New("no")
	if _, err := r.e.Repair(context.Background(), "e",
		deploy.Request{Filter: state.Filter{ID: string(id("b"))}}); err != nil {
		t.Fatal(err)
	}
	r.drain()
	r.want("b", state.StatusFailed)
	if row := r.row("c"); !slices.Equal(row.Causes, []resource.ID{id("a"), id("b")}) {
		t.Errorf("c is %s because of %v, want a and b", row.Status(), row.Causes)
	}
}

// TestFailureCostsItself pins that a failure schedules nothing else: dependants stay deployed,
// whether there was a check of everything before or not, and what is only compared and never
// complies does not wake what was skipped because of it at every check.
func TestFailureCostsItself(t *testing.T) {
	for _, wave := range []bool{false, true} {
		r := newRig(t)
		r.export(deploy.Export{Model: modelOf(res("a"), res("b<a"), res("c<a"))})
		r.drain()
		if wave {
			r.repair("")
		}
		r.w.fail["a"] = errors.New("no")
		r.actions()
		r.repair("a")
		r.want("b", state.StatusDeployed)
		if n := r.actions(); n != 1 {
			t.Errorf("after a wave: %v: %d actions for a failure, want 1", wave, n)
		}
		delete(r.w.fail, "a")
		r.repair("a")
		if n := r.actions(); n != 1 {
			t.Errorf("after a wave: %v: %d actions for a recovery, want 1", wave, n)
		}
	}
	r := newRig(t)
	compared := res("a")
	compared.ReportOnly = true
	r.w.things["a"] = "other"
	r.export(deploy.Export{Model: modelOf(compared, res("b<a"), res("c<a"))})
	r.drain()
	r.want("a", state.StatusNonCompliant)
	r.want("b", state.StatusSkipped)
	r.actions()
	r.repair("a")
	if n := r.actions(); n != 1 {
		t.Errorf("%d actions for a check of what never complies, want 1", n)
	}
}

// repair checks one resource, or everything.
func (r *rig) repair(name string) {
	r.t.Helper()
	var req deploy.Request
	if name != "" {
		req.Filter.ID = string(id(name))
	}
	if _, err := r.e.Repair(context.Background(), "e", req); err != nil {
		r.t.Fatal(err)
	}
	r.drain()
}

// actions returns how many actions were recorded since it was called last.
func (r *rig) actions() int {
	r.t.Helper()
	all, err := r.home.Actions(context.Background(), "e", state.ActionQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	n := len(all) - r.recorded
	r.recorded = len(all)
	return n
}
