package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/resource"
)

// Interrupted explains an early end of waiting, and reports the requested changes that were made by
// then; nil: there were none.
func (w *Waiter) Interrupted(err error, of *Request) error {
	explained, early := w.endedEarly(err)
	if !early || of == nil {
		return explained
	}
	ctx, cancel := patience.WithTimeout(context.Background(), time.Second)
	defer cancel()
	done, err := w.did(ctx, *of)
	if err != nil || len(done.Changes) == 0 {
		return explained
	}
	if !w.JSON {
		var r api.Report
		r.Tell(done.Changes)
		showChanged(w.Console, &r)
	}
	return &output.PartlyDone{Err: explained, Changes: done.Changes}
}

// endedEarly explains an error if waiting was ended early, and reports whether it was.
func (w *Waiter) endedEarly(err error) (explained error, early bool) {
	switch kind := fault.KindOf(err); {
	case kind == fault.Canceled:
		rest := w.rest()
		return fault.New(kind, "", "interrupted; results are recorded, %s", rest.left()).
			WithHint("the same command, or `southbound deploy`, continues"), true
	case kind == fault.Timeout && errors.As(err, new(*fault.Error)):
		rest := w.rest()
		hint := "`southbound status` shows the progress, `southbound deploy` continues"
		if rest.scheduled == 0 && rest.unreached() != "" {
			hint = "`southbound deploy --retry-failed` tries again now; `southbound run` when it " +
				"is due"
		}
		return fault.New(kind, "", "the time to wait ran out%s%s; %s", rest.notFinished(),
			rest.unreached(), rest.left()).WithHint("%s", hint), true
	}
	return err, errors.As(err, new(*output.LeftBehind))
}

// rest describes the unfinished work when waiting is ended early.
type rest struct {
	known     bool
	scheduled int
	ids       []resource.ID // some of the scheduled resources
	down      []string      // the agents of unavailable resources
}

// rest reads the unfinished work. It writes the reasons why agents are unreachable immediately.
func (w *Waiter) rest() rest {
	ctx, cancel := patience.WithTimeout(context.Background(), time.Second)
	defer cancel()
	p, err := w.Home.Progress(ctx, w.Env)
	if err != nil {
		return rest{}
	}
	r := rest{known: true, scheduled: p.Scheduled, ids: slices.Clone(p.Running)}
	if p.Scheduled > 0 {
		w.someOf(ctx, state.StatusAvailable, func(id resource.ID) bool {
			if !slices.Contains(r.ids, id) {
				r.ids = append(r.ids, id)
			}
			return len(r.ids) < maxUnfinished
		})
	}
	if p.ByStatus()[state.StatusUnavailable] == 0 {
		return r
	}
	w.someOf(ctx, state.StatusUnavailable, func(id resource.ID) bool {
		if !slices.Contains(r.down, id.Agent()) {
			r.down = append(r.down, id.Agent())
		}
		return len(r.down) < MaxAgents
	})
	if health, err := w.Home.Health(ctx, w.Env); err == nil && !w.Quiet {
		list := &problemList{Console: w.To(w.Err)}
		for _, g := range health.Groups[:min(len(health.Groups), MaxAgents)] {
			if g.Status == state.StatusUnavailable {
				list.group(g)
			}
		}
	}
	return r
}

// someOf calls f with resources of a status, until f returns false.
func (w *Waiter) someOf(ctx context.Context, status state.Status, f func(resource.ID) bool) {
	_ = w.Home.Resources(ctx, w.Env, []string{"status=" + string(status)},
		func(r *api.Resource) error {
			if !f(r.ID) {
				return home.ErrEnough
			}
			return nil
		})
}

// left describes the state of the unfinished work.
func (r rest) left() string {
	if r.known && r.scheduled == 0 {
		return "nothing is left scheduled"
	}
	return "the rest stays scheduled"
}

// unreached names the agents of unavailable resources.
func (r rest) unreached() string {
	if len(r.down) == 0 {
		return ""
	}
	slices.Sort(r.down)
	return "; unavailable: resources on " + output.Named(r.down)
}

// maxUnfinished is how many unfinished resources a message names.
const maxUnfinished = 3

// notFinished names the resources that are still scheduled.
func (r rest) notFinished() string {
	if r.scheduled == 0 {
		return ""
	}
	what := output.Are(r.scheduled, "resource") + " not finished"
	if n := min(len(r.ids), maxUnfinished, r.scheduled); n > 0 {
		what += ": " + output.OneLine(output.MoreIDs(r.ids[:n], r.scheduled))
	}
	return "; " + what
}
