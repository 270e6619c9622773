package exportcmd

import (
	"cmp"
	"context"
	"slices"
	"time"

	"southbound/shared/api"
	"southbound/shared/cli/batch"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// targetHelp explains the effect of a filter on commands that read documents.
const targetHelp = "With a FILTER it handles matching resources and those that they require; all " +
	"others stay as they are.\n" + usage.FilterHelp

// targeted validates a filter and waves.
func (f *exportFlags) targeted(command string) error {
	if err := f.waves.Checked(); err != nil {
		return err
	}
	if (len(f.filter) > 0 || f.waves.Set()) && (f.partial || len(f.deleteSets) > 0) {
		return fault.New(fault.Usage, command,
			"a FILTER, --batch and --max-parallel do not go together with --partial").
			WithHint("set= selects a resource set")
	}
	return nil
}

// inOrder sorts a plan in the order of the waves, and reports the waves. read reports that the plan
// was compared with reality.
func (p *Planner) inOrder(ctx context.Context, planned []deploy.PlannedChange, x deploy.Export,
	f batch.Flags, read bool) error {
	if !f.Set() {
		return nil
	}
	unread := planned
	if read {
		d, err := p.Home.Plan(ctx, p.Env, x, deploy.CompareOptions{})
		if err != nil {
			return err
		}
		unread = d.Planned
	}
	var looked []deploy.PlannedChange
	if read {
		looked = planned
	}
	waves, err := batch.CutWaves(p.Console, f, batch.WorkloadOf(x, f, unread, looked))
	if err != nil {
		return err
	}
	of := map[string]int{}
	for i, wave := range waves {
		p.Say("wave %d of %d: %s", i+1, len(waves), output.Named(wave))
		for _, name := range wave {
			of[name] = i + 1
		}
	}
	at := func(w *deploy.PlannedChange) int { return cmp.Or(of[w.ID.Agent()], len(waves)+1) }
	slices.SortStableFunc(planned, func(x, y deploy.PlannedChange) int {
		return cmp.Compare(at(&x), at(&y))
	})
	return nil
}

// applyInWaves applies documents to agents in waves. Every wave is an export of the resources of
// its agents. The last wave exports everything, and checks only the resources of its agents.
func (e *Exporter) applyInWaves(
	ctx context.Context, path string, f exportFlags, read *input.Loaded, began time.Time,
) error {
	if read == nil {
		var err error
		if read, err = e.Docs.Load(ctx, path, f.partial); err != nil {
			return input.CutShort(ctx, err)
		}
	}
	if err := e.mend(ctx, read, e.mayHaveLost(ctx)); err != nil {
		return input.CutShort(ctx, err)
	}
	x := asExport(ctx, e.Docs, path, f, read)
	plan, err := e.Home.Plan(ctx, e.Env, x, deploy.CompareOptions{})
	if err == nil {
		x.Limits, err = e.allowed(ctx, plan, x, f)
	}
	if err != nil {
		return input.CutShort(ctx, err)
	}
	waves, err := e.Waves.OfExport(ctx, x, f.waves, plan)
	if err != nil {
		return input.CutShort(ctx, err)
	}
	if len(waves) == 0 && f.waves.Batch != "" {
		x.Check = false // everything was read, and has its described state
	}
	of, err := e.Waiter.Mark(ctx)
	if err != nil {
		return input.CutShort(ctx, err)
	}
	of.Nothing = !x.Check
	var r api.Report
	done, err := e.Waves.EachWave(ctx, batch.Round{Terms: f.filter, Flags: f.waves, Waves: waves, Of: of,
		Do: func(wave []string, last bool) error {
			part := x
			if part.CheckAgents = wave; !last {
				part.CheckAgents, part.Defer = nil, true
				if part.Target, err = state.ParseFilter(batch.AtAgents(f.filter, wave)); err != nil {
					return err
				}
			}
			pr := e.Waiter.Progress()
			out, err := e.Home.Export(ctx, e.Env, part, pr.Sent)
			pr.End()
			r.Version, r.Resources, r.Origin = out.Version, out.Resources, api.Origin(out.Origin)
			r.Changed, r.Removed, r.FilesUploaded = r.Changed+out.Changed, r.Removed+out.Removed,
				r.FilesUploaded+out.FilesUploaded
			return err
		}})
	if r.Version > 0 {
		e.Remember(path)
	}
	if err != nil {
		if r.Version == 0 {
			e.Waves.RefusedFirst(err)
		}
		return e.Waiter.Interrupted(err, &of)
	}
	r.Gate = done.Gate
	r.Environment, r.Unchanged, r.Repaired = e.Env, max(r.Resources-r.Changed, 0), done.Did.Fixed
	if r.Recovered, err = e.Waiter.Recovered(ctx, of); err != nil {
		return err
	}
	r.Tell(done.Did.Changes)
	return e.Results.Applied(ctx, r, done, f.filter, began)
}

// allowed returns the limits of every wave of an apply with a plan. A wave deletes no more than was
// planned, allowed and, on a terminal, confirmed.
func (e *Exporter) allowed(
	ctx context.Context, plan deploy.DryRun, x deploy.Export, f exportFlags,
) (*deploy.Limits, error) {
	gone := output.Deleted(plan.Planned)
	if f.allowDelete >= 0 && len(gone) > f.allowDelete {
		return nil, fault.New(fault.Refused, "",
			output.TooManyDeleted, output.Plural(len(gone), "resource"), f.allowDelete).
			WithHint("`southbound plan` lists them")
	}
	if err := e.mayDelete(ctx, x, gone, output.Left(plan.Planned), f); err != nil {
		return nil, err
	}
	return &deploy.Limits{Delete: len(gone), Leave: -1}, nil
}
