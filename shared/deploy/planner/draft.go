package planner

import (
	"cmp"
	"context"
	"math"
	"slices"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Draft is the plan of an export of which nothing is stored.
type Draft struct {
	State string // identifies the plan and the state it is based on; see Export.Expect
	// Planned are the effects on every resource, in order of id; resources that leave come last.
	Planned []PlannedChange
	Rows    map[resource.ID]*state.Row // rows that a worker would check
	// Beside are rows outside of the export that are as wanted: they may be notified of changes.
	Beside map[resource.ID]*state.Row
	// Left maps a resource to the orphans that required it: those of this plan, and earlier ones.
	Left   map[resource.ID][]resource.ID
	Moves  []Move
	Graph  *version.Graph   // the graph that would be in force
	Agents []resource.Agent // of the version
	Strict provider.Strictness
}

// draftFence gives the rows of a draft generations that are greater than all stored ones, as those of
// an export are. A row is scheduled if its generation is greater than that of its last run.
const draftFence = math.MaxInt64 >> 20

// WaitsForRemoval reports whether a leaving resource has to be gone before a resource can be as
// wanted.
func (d *Draft) WaitsForRemoval(id resource.ID) bool {
	g := d.Graph
	n := g.Node(id)
	return n >= 0 && !g.Removing[n] && slices.ContainsFunc(g.Requires(n), func(q int32) bool {
		return g.Removing[q] && d.Rows[g.IDs[q]] != nil
	})
}

// Draft plans an export without a lease, and stores nothing. whole keeps values at full length.
func (pl *Planner) Draft(ctx context.Context, env string, x Export, whole bool) (*Draft, error) {
	pl = pl.in(ctx)
	stored, err := pl.checkDraft(ctx, env, x)
	if err != nil {
		return nil, err
	}
	p := newPlanning(pl, stored, commits{lease: state.Lease{Key: state.PlanKey, Fence: draftFence}})
	p.dry, p.repair = true, !pl.Intact(ctx, stored)
	of := &exporting{planning: p, all: true}
	next, err := of.next(ctx, x)
	if err = cmp.Or(err, pl.Checker.Err()); err != nil {
		return nil, err
	}
	if _, err = planRelease(ctx, p, next); err != nil {
		return nil, err
	}
	texts := run.FewTexts(run.TextsOf(ctx, run.FilesOf(pl.Files, x.Model.Files)))
	f := &forecast{rowEffects: rowEffects{&pl.Config, whole, texts}, plan: p,
		targets: of.targets}
	return f.draft(ctx, next.version.Agents)
}

// checkDraft checks an export without its base version, and returns the environment.
func (pl *Planner) checkDraft(ctx context.Context, env string, x Export) (state.Env, error) {
	problems := pl.validateExport(x)
	if err := cmp.Or(pl.Checker.Err(), problems.Err()); err != nil {
		return state.Env{}, err
	}
	stored, err := pl.State.Env(ctx, env)
	if err != nil {
		return stored, fault.Wrap(fault.Unknown, "read environment", err)
	}
	return stored, pl.checkSecrets(ctx, env, x, true)
}

// Check returns the reason why an export would be refused, with all its problems, and changes
// nothing.
func (pl *Planner) Check(ctx context.Context, env string, x Export) error {
	pl = pl.in(ctx)
	stored, err := pl.checkDraft(ctx, env, x)
	if err != nil {
		return err
	}
	check := func(repair bool) error {
		p := newPlanning(pl, stored, commits{})
		p.dry, p.repair = true, repair
		_, err := (&exporting{planning: p, check: true}).next(ctx, x)
		return cmp.Or(err, pl.Checker.Err())
	}
	// The first try may miss lost data that it does not read: such data does not concern the
	// export.
	if err = check(false); state.Unreadable(err) {
		if _, err = pl.needsRepair(ctx, env); err == nil {
			err = check(true)
		}
	}
	return err
}

// draft returns the plan as a Draft.
func (p *forecast) draft(ctx context.Context, agents []resource.Agent) (*Draft, error) {
	s, err := p.steps(ctx)
	if err != nil {
		return nil, err
	}
	out := &Draft{
		State:   s.digest(p.plan),
		Planned: s.planned,
		Rows:    s.rows,
		Beside:  s.beside,
		Left:    s.left,
		Moves:   p.plan.moves.list(),
		Agents:  agents,
		Strict:  p.plan.env.Settings.Strict,
	}
	out.Graph, err = p.graphOf(ctx)
	return out, err
}
