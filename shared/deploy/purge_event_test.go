package deploy_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestPurgeIsHeard pins that what required a resource which leaves and is purged reloads once, behind
// the purge, if the resource sends events and it receives them.
func TestPurgeIsHeard(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sends, purges, receives, reloads bool
	}{
		"all of it":       {true, true, true, true},
		"no events":       {false, true, true, false},
		"it stays there":  {true, false, true, false},
		"events unwanted": {true, true, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a, b := res("a"), res("b<a")
			a.SendEvent, a.PurgeOnDelete, b.ReceiveEvents = tc.sends, tc.purges, tc.receives
			r.release(a, b)
			r.runs()
			r.w.reload = nil
			alone := res("b")
			alone.ReceiveEvents = tc.receives
			r.release(alone)
			var want []string
			if tc.reloads {
				want = []string{"b"}
			}
			r.same("reloads", r.w.reload, want...)
			r.repair("")
			r.same("reloads after a repair", r.w.reload, want...)
		})
	}
}

// TestPurgeIsHeardByAll pins that each resource that stays reloads for a purge, and none that leaves,
// too.
func TestPurgeIsHeardByAll(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	config := r.e.Config
	config.State = &namesEntries{r.home, t}
	r.e = deploy.New(config)
	a := res("a")
	a.SendEvent, a.PurgeOnDelete = true, true
	r.release(a, res("b<a"), res("c<a"), res("d<a"))
	r.runs()
	r.w.reload = nil
	r.release(res("b"), res("c"))
	slices.Sort(r.w.reload)
	r.same("reloads", r.w.reload, "b", "c")
	if row := r.row("d"); !row.Orphaned || row.PendingPurges() != nil {
		t.Errorf("an orphan owes a reload: %+v", row)
	}
}

// namesEntries is a State that demands an id of its own for each entry of the outbox.
type namesEntries struct {
	state.State
	t *testing.T
}

func (s *namesEntries) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	ids := map[string]bool{}
	for _, o := range c.AddOutbox {
		if ids[o.ID] {
			s.t.Errorf("two entries have the id %s", o.ID)
		}
		ids[o.ID] = true
	}
	return s.State.Commit(ctx, env, c)
}

// TestPurgeIsHeardAfterReports pins that a resource which is only reported owes its reload until it
// is deployed.
func TestPurgeIsHeardAfterReports(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := res("a"), res("b<a")
	a.SendEvent, a.PurgeOnDelete = true, true
	r.release(a, b)
	r.runs()
	r.w.reload = nil
	alone := res("b")
	alone.ReportOnly = true
	r.release(alone)
	r.repair("")
	r.same("reloads while it is only reported", r.w.reload)
	alone.ReportOnly = false
	r.release(alone)
	r.repair("")
	r.same("reloads", r.w.reload, "b")
}

// TestPurgeIsHeardLate has the event of a purge handled while its receiver is idle, running, about to
// fail, or undefined: it reloads once in each case, also with an intent that came in between.
func TestPurgeIsHeardLate(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"idle", "running", "failing", "undefined"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			b := res("b")
			if when == "undefined" {
				r.set("p", "one")
				b = valued("b", resource.Parameter{Name: "p"})
			}
			r.release(b)
			entry := state.Outbox{ID: "late", Kind: state.OutboxEvent, Of: "t::T[a,name=gone]", To: b.ID,
				At: r.row("b").SucceededAt.Add(-time.Millisecond), Ticket: math.MaxInt64,
				Priority: state.PriorityUserDeploy}
			config := r.e.Config
			config.State = &lateEntry{r.home, entry, 2} // it is read again under the lease
			other := deploy.New(config)
			r.runs()
			r.w.reload = nil
			sweep := func() {
				if _, err := other.Sweep(context.Background(), "e"); err != nil {
					t.Error(err)
				}
			}
			switch when {
			case "running":
				r.w.hook = func(call, _ string) {
					if call == "read" {
						r.w.hook = nil
						sweep()
					}
				}
				r.repair("")
			case "failing":
				r.w.fail["b"] = errors.New("broken")
				sweep()
				r.drain()
				delete(r.w.fail, "b")
				b.Attributes["value"] = "another"
				r.release(b)
			case "undefined":
				r.unset(state.ParameterKey{Name: "p"})
				r.release(b)
				r.want("b", state.StatusUndefined)
				sweep()
				r.drain()
				r.same("reloads while it is undefined", r.w.reload)
				r.set("p", "two")
			default:
				sweep()
			}
			r.drain()
			r.same("reloads", r.w.reload, "b")
			if row := r.row("b"); row.PendingPurges() != nil || row.Status() != state.StatusDeployed {
				t.Errorf("%s, reloads next for %v", row.Status(), row.PendingPurges())
			}
			r.repair("")
			r.same("reloads after a repair", r.w.reload, "b")
		})
	}
}

// TestOwedReload pins that purges add up to one reload, until a run has followed all of them.
func TestOwedReload(t *testing.T) {
	t.Parallel()
	row := state.Row{ID: "x"}
	row.AddPurges("b", "c")
	row.AddPurges("b", "a")
	if left := row.PendingPurges(); !slices.Equal(left, []resource.ID{"a", "b", "c"}) {
		t.Errorf("reloads for %v", left)
	}
	if row.Reloaded = row.Purges; row.PendingPurges() != nil {
		t.Error("reloads again")
	}
	row.AddPurges("d")
	if left := row.PendingPurges(); !slices.Equal(left, []resource.ID{"d"}) {
		t.Errorf("reloads for %v", left)
	}
}
