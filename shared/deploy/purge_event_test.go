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

// TestPurgeIsHeardLate has the event of a purge handled while its receiver is idle, running, or about
// to fail: it reloads once in each case, also with an intent that came in between.
func TestPurgeIsHeardLate(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"idle", "running", "failing"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			b := res("b")
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
			default:
				sweep()
			}
			r.drain()
			r.same("reloads", r.w.reload, "b")
			if row := r.row("b"); row.LeftBehind() != nil || row.Status() != state.StatusDeployed {
				t.Errorf("%s, reloads next for %v", row.Status(), row.LeftBehind())
			}
			r.repair("")
			r.same("reloads after a repair", r.w.reload, "b")
		})
	}
}

// TestNotesOfAReload pins that a reload that is owed is stored, and kept by a row that begins anew.
func TestNotesOfAReload(t *testing.T) {
	t.Parallel()
	row := state.Row{ID: resource.ID("x"),
		Notes: (&state.Notes{Written: map[string]string{"a": "w"}}).Encode()}
	row.LeaveBehind("b", "c")
	row.LeaveBehind("b", "a")
	if n := state.DecodeNotes(row.Notes); !slices.Equal(n.Left, []resource.ID{"a", "b", "c"}) ||
		n.Written["a"] != "w" {
		t.Errorf("%+v", n)
	}
	if row.Notes = row.KeptNotes(); len(row.LeftBehind()) != 3 {
		t.Error("it is forgotten with a new intent")
	}
}
