package planner

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Request selects the released resources that a request is for.
type Request struct {
	Filter state.Filter
	// RetryFailed includes resources that back off, and resources whose failure waits for a new
	// intent or a person.
	RetryFailed bool
}

// Deploy schedules the matching resources that are not deployed as wanted, and returns their
// number.
func (pl *Planner) Deploy(ctx context.Context, env string, req Request) (int, error) {
	n := 0
	err := pl.schedule(ctx, env, func(p *planning) error {
		err := p.scheduleUnfinished(ctx, state.PriorityUserDeploy, req.RetryFailed, req.Filter.Match)
		if err == nil && req.RetryFailed && req.Filter.ID != "" {
			err = recordDecision(ctx, p, req.Filter)
		}
		n = len(p.order)
		return err
	})
	return n, err
}

// recordDecision treats a request for one resource as a person's decision that its create, whose
// outcome is unknown, may begin again. A glob is no such decision, since the person has not checked all
// resources that it may match.
func recordDecision(ctx context.Context, p *planning, f state.Filter) error {
	id := resource.ID(f.ID)
	rows, err := p.load(ctx, []resource.ID{id})
	if r := rows[id]; r != nil && f.Match(r) {
		p.apply(p.planned(r), step.Requested{Priority: state.PriorityUserDeploy, Decided: true})
	}
	return err
}

// Repair schedules all matching resources for a check against reality, and returns their number.
func (pl *Planner) Repair(ctx context.Context, env string, req Request) (int, error) {
	if req.Filter.Empty() {
		return pl.repairAll(ctx, env)
	}
	n := 0
	err := pl.schedule(ctx, env, func(p *planning) error {
		err := pl.Client.EachRow(ctx, env, func(r *state.Row) error {
			if r.Runnable() && req.Filter.Match(r) {
				p.apply(r, step.Requested{Priority: state.PriorityUserRepair, Check: true})
			}
			return nil
		})
		n = len(p.order)
		return err
	})
	return n, err
}

// repairAll starts a wave, and returns the number of resources.
func (pl *Planner) repairAll(ctx context.Context, env string) (int, error) {
	n := 0
	err := pl.plan(ctx, env, func(p *planning) error {
		graph, err := pl.Graphs.Get(ctx, p.env.Graph)
		if err != nil {
			return err
		}
		n = len(graph.IDs)
		p.startWave(state.PriorityUserRepair, false)
		if err := p.retryRemovals(ctx, state.PriorityUserRepair); err != nil {
			return err
		}
		return p.commitAll(ctx)
	})
	return n, err
}

// SetParameters stores parameters. Resources that were undefined because of them get their intent
// and are scheduled.
func (pl *Planner) SetParameters(ctx context.Context, env string, ps ...state.Parameter) error {
	for i := range ps {
		if err := checkParameterName(ps[i].Name); err != nil {
			return err
		}
		ps[i].Updated = pl.Clock.Now()
	}
	return pl.changeParameters(ctx, env, func(p *planning) { p.store.set = ps })
}

// isUnknown reports whether a name stands for a value that a model did not know.
func isUnknown(name string) bool {
	_, is := resource.Parameter{Name: name}.Unknown()
	return is
}

// maxParameterName bounds the names of parameters, in characters.
const maxParameterName = 255

// checkParameterName rejects invalid names of parameters. Messages, tables and logs show a name
// within one line.
func checkParameterName(name string) error {
	switch {
	case name == "":
		return fault.New(fault.Invalid, "set parameter", "a parameter needs a name")
	case isUnknown(name):
		return fault.New(fault.Invalid, "set parameter",
			"%q stands for a value that a model did not know, and is no parameter", name).
			WithHint("see to it that the model knows the value where it is compiled, and export " +
				"it again")
	case name == "/": // it cannot be a path segment of a URL
		return fault.New(fault.Invalid, "set parameter",
			"a slash alone is not a valid name of a parameter").
			WithHint("use letters, digits and signs")
	case utf8.RuneCountInString(name) > maxParameterName:
		return fault.New(
			fault.Invalid,
			"set parameter",
			"the name of a parameter has at most %d characters",
			maxParameterName,
		)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool {
		return !unicode.IsPrint(r)
	}):
		return fault.New(fault.Invalid, "set parameter",
			"the name %q has characters that are not shown, such as line breaks", name).
			WithHint("use letters, digits and signs")
	}
	return nil
}

// DeleteParameters removes parameters and facts. Resources that were deployed with their values
// stay as they are until the next export.
func (pl *Planner) DeleteParameters(
	ctx context.Context,
	env string,
	keys ...state.ParameterKey,
) error {
	return pl.changeParameters(ctx, env, func(p *planning) { p.store.unset = keys })
}

func (pl *Planner) changeParameters(
	ctx context.Context,
	env string,
	change func(p *planning),
) error {
	return pl.plan(ctx, env, func(p *planning) error {
		change(p)
		p.env.Fingerprint, p.env.Applied = "", "" // the same documents may have another meaning now
		// Stored only if a row conflicts, until that row is planned again. The values are stored by
		// then, so the rows that wait for them must be resolved even after a crash.
		resolve := state.Outbox{ID: pl.NewID(), Kind: state.OutboxFact, At: pl.Clock.Now()}
		p.add, p.drop = []state.Outbox{resolve}, []string{resolve.ID}
		var changed []resource.ID
		about := map[state.ParameterKey]bool{}
		for i := range p.store.set {
			changed = append(changed, p.store.set[i].Of)
			about[state.ParameterKey{Name: p.store.set[i].Name, Of: p.store.set[i].Of}] = true
		}
		for _, key := range p.store.unset {
			about[key] = true
		}
		if err := applyKnownValues(ctx, p, changed, about); err != nil {
			return err
		}
		return p.commit(ctx, scheduleChanges)
	})
}

// checksAll reports whether an export requests a check of all resources.
func checksAll(x *Export) bool {
	return x.Check && x.Target.Empty() && len(x.CheckAgents) == 0
}

// request plans the requests of an export besides the release, and writes the whole plan.
func (p *exporting) request(ctx context.Context, x Export) error {
	some := x.Check && !checksAll(&x)
	switch {
	case some:
		if err := p.checkTargets(ctx, x.CheckAgents); err != nil {
			return err
		}
	case x.Check:
		p.startWave(state.PriorityUserRepair, false)
		if err := p.retryRemovals(ctx, state.PriorityUserRepair); err != nil {
			return err
		}
	}
	if x.RetryFailed {
		if err := p.scheduleUnfinished(ctx, state.PriorityUserDeploy, true,
			p.targets.match); err != nil {
			return err
		}
	}
	again, err := p.retry(ctx, x.Retry)
	if err != nil {
		return err
	}
	if some || x.RetryFailed || again {
		graph, err := p.pl.Graphs.Get(ctx, p.env.Graph)
		if err != nil {
			return err
		}
		p.orderBy(graph) // with what the release has planned
	}
	return p.commitAll(ctx)
}

// retry schedules failed and skipped resources among ids, and reports whether there may be any. If
// the environment has none, it reads no row.
func (p *exporting) retry(ctx context.Context, ids []resource.ID) (bool, error) {
	if len(ids) == 0 {
		return false, nil
	}
	n, err := countRows(ctx, p.planning, state.StatusFailed, state.StatusUnavailable,
		state.StatusSkipped)
	if err != nil || n == 0 {
		return false, err
	}
	return true, retryRows(ctx, p.planning, ids, state.PriorityNewVersion, nil)
}
