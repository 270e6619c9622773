package deploy_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
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
				", of which something is not known"; !slices.Equal(row.Because(),
				[]resource.ID{step.want}) || row.Why() != want {
				t.Errorf("after %q: %s names %v (%s), want %s", step.set, name, row.Because(),
					row.Why(), step.want)
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
	if row := r.row("c"); !slices.Equal(row.Because(), []resource.ID{id("a"), id("b")}) {
		t.Errorf("c is %s because of %v, want a and b", row.Status(), row.Because())
	}
}

// TestSkippedNamesWhatFailsAnew pins the same of what sends events and fails with another intent:
// a run for the one before may have changed it, but it has not failed before.
func TestSkippedNamesWhatFailsAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := res("b")
	b.SendEvent = true
	r.w.fail["a"] = errors.New("no")
	r.export(deploy.Export{Model: modelOf(res("a"), b, res("c<a,b"))})
	r.drain()
	r.w.fail["b"] = errors.New("no")
	b = valued("b", "new")
	b.SendEvent = true
	r.export(deploy.Export{Model: modelOf(res("a"), b, res("c<a,b"))})
	r.drain()
	r.want("b", state.StatusFailed)
	if row := r.row("c"); !slices.Equal(row.Because(), []resource.ID{id("a"), id("b")}) {
		t.Errorf("c is %s because of %v, want a and b", row.Status(), row.Because())
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

// diesAfter is a State in which somebody changes the row of a resource while a release is written,
// whose planner then writes nothing more.
type diesAfter struct {
	state.State
	of   resource.ID
	dead bool
}

func (s *diesAfter) Commit(ctx context.Context, env string, c state.Commit) (state.Committed, error) {
	if s.dead {
		return state.Committed{}, fault.New(fault.Internal, "commit", "the process has died")
	}
	var row *state.Row
	c.Rows = slices.DeleteFunc(slices.Clone(c.Rows), func(r state.Row) bool {
		if r.ID == s.of {
			row = &r
		}
		return r.ID == s.of
	})
	done, err := s.State.Commit(ctx, env, c)
	if row != nil && err == nil {
		now, err := s.Rows(ctx, env, []resource.ID{s.of})
		if err != nil {
			return done, err
		}
		s.dead, done.Conflicts = true, append(done.Conflicts, now...)
	}
	return done, err
}

// TestBlockedByARelease pins that what requires something undefined is blocked, and blocked no
// longer, also if the release that says so was cut short before its row was written.
func TestBlockedByARelease(t *testing.T) {
	t.Parallel()
	lacks := valued("a", resource.Parameter{Name: "p"})
	for _, step := range []struct {
		why      string
		from, to resource.Resource
		want     state.Status
	}{
		{"it becomes undefined", res("a"), lacks, state.StatusBlocked},
		{"it was undefined", lacks, res("a"), state.StatusDeployed},
	} {
		r := newRig(t)
		r.export(deploy.Export{Model: modelOf(step.from, res("b<a"))})
		whole := r.e
		config := r.e.Config
		config.State = &diesAfter{State: r.home, of: id("b")}
		r.e = deploy.New(config)
		_, err := r.e.Export(t.Context(), "e",
			deploy.Export{Model: modelOf(step.to, res("b<a"))})
		if !fault.Is(err, fault.Internal) {
			t.Fatalf("%s: the export ends with %v", step.why, err)
		}
		r.e = whole
		if _, err := r.e.Sweep(t.Context(), "e"); err != nil {
			t.Fatal(err)
		}
		r.drain()
		row := r.row("b")
		if got := row.Status(); got != step.want {
			t.Errorf("%s: what requires it is %s, want %s", step.why, got, step.want)
		}
	}
}
