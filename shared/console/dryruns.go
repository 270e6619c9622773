package console

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"sync"
	"time"

	"southbound/shared/api"
	"southbound/shared/api/results"
	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// The bounds of the dry runs of a console.
const (
	maxActiveRuns = 4
	maxKeptRuns   = 20
	runKept       = 24 * time.Hour
)

// dryRuns are the dry runs that a console has started. They run in its process and their results are
// kept in its memory: the home may be one that has no jobs. States: running → ended, or canceled →
// ended.
type dryRuns struct {
	now  func() time.Time
	ends context.Context // ends all dry runs; nil: nothing does

	mu  sync.Mutex
	all []*dryRun // oldest first
}

// dryRun is one of them. Its fields after canceled are set when it ends.
type dryRun struct {
	id, env  string
	version  int // 0: that in force
	filters  [][]string
	started  time.Time
	stop     context.CancelFunc
	canceled bool
	ended    time.Time // zero: it runs
	result   deploy.DryRun
	err      error
}

func newDryRuns(o Options) *dryRuns { return &dryRuns{now: o.Now, ends: o.Stop} }

// differing counts the planned changes of a dry run.
func differing(run deploy.DryRun) int {
	n := 0
	for i := range run.Planned {
		l := results.PlanLineOf(&run.Planned[i])
		if l.Word() != "none" {
			n++
		}
	}
	return n
}

// begin starts a dry run and returns its id. It goes on when the request has ended.
func (d *dryRuns) begin(
	ctx context.Context, h api.Home, env string, version int, filters [][]string,
) (string, error) {
	raw := make([]byte, 8)
	_, _ = rand.Read(raw) // it never fails
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	x := &dryRun{id: hex.EncodeToString(raw), env: env, version: version, filters: filters,
		started: d.now(), stop: stop}
	if err := d.add(x); err != nil {
		stop()
		return "", err
	}
	unhook := func() bool { return true }
	if d.ends != nil {
		unhook = context.AfterFunc(d.ends, stop)
	}
	go func() {
		defer stop()
		defer unhook()
		run, err := compareAll(ctx, h, x)
		d.mu.Lock()
		defer d.mu.Unlock()
		x.result, x.err, x.ended = run, err, d.now()
	}()
	return x.id, nil
}

// compareAll makes the comparisons of a dry run one after the other.
func compareAll(ctx context.Context, h api.Home, x *dryRun) (deploy.DryRun, error) {
	var all deploy.DryRun
	for _, terms := range x.filters {
		run, err := h.DryRun(ctx, x.env, x.version, terms, false)
		all.Version, all.Refused = run.Version, run.Refused
		all.Planned = append(all.Planned, run.Planned...)
		all.Covered += run.Covered
		all.Unread = append(all.Unread, run.Unread...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// add adds a dry run and forgets old ones. It refuses one too many.
func (d *dryRuns) add(x *dryRun) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	active, kept := 0, 0
	for _, o := range d.all {
		if o.ended.IsZero() {
			active++
		} else {
			kept++
		}
	}
	if active >= maxActiveRuns {
		return fault.New(fault.Busy, "dry run", "%d dry runs run already", active).
			WithHint("wait until one has ended, or cancel one")
	}
	d.all = slices.DeleteFunc(d.all, func(o *dryRun) bool {
		old := !o.ended.IsZero() && (kept >= maxKeptRuns || x.started.Sub(o.ended) > runKept)
		if old {
			kept--
		}
		return old
	})
	d.all = append(d.all, x)
	return nil
}

// of returns the dry runs of an environment, newest first.
func (d *dryRuns) of(env string) []dryRun {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []dryRun
	for _, x := range slices.Backward(d.all) {
		if x.env == env {
			out = append(out, *x)
		}
	}
	return out
}

func (d *dryRuns) get(env, id string) (dryRun, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.all {
		if x.env == env && x.id == id {
			return *x, true
		}
	}
	return dryRun{}, false
}

// stop cancels a dry run; false: it does not run.
func (d *dryRuns) stop(env, id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, x := range d.all {
		if x.env == env && x.id == id && x.ended.IsZero() {
			x.canceled = true
			x.stop()
			return true
		}
	}
	return false
}
