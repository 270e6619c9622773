package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// targetHelp explains what a filter means where documents are.
const targetHelp = "With a FILTER it is about what matches and what that requires; everything else stays as it is.\n" + filterHelp

// pathAndFilter wants a path and takes the terms of a filter.
func pathAndFilter(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exactArgs(1, "one path")(cmd, args)
	}
	for _, term := range args[1:] {
		if !strings.ContainsAny(term, filterSigns) {
			return fault.New(fault.Usage, words(cmd), "expected one path, got %s, and %q is not a filter", plural(len(args), "argument"), term).
				WithHint("%s", filterHelp)
		}
	}
	_, err := state.ParseFilter(args[1:])
	return err
}

// filterSigns are the signs of which every term of a filter has one.
const filterSigns = "=[*?"

// targeted reports what is wrong with a filter and waves.
func (f *exportFlags) targeted(command string) error {
	if _, err := f.waves.waves(nil); err != nil {
		return err
	}
	if (len(f.filter) > 0 || f.waves.set()) && (f.partial || len(f.deleteSets) > 0) {
		return fault.New(fault.Usage, command, "a FILTER, --batch and --max-parallel do not go together with --partial").
			WithHint("set= selects a resource set")
	}
	return nil
}

// agentsIn returns the agents of what a plan tells of, sorted.
func agentsIn(planned []deploy.PlannedChange) []string {
	names := map[string]bool{}
	for i := range planned {
		names[planned[i].ID.Agent()] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// inOrder puts a plan in the order of the waves, and says which these are.
func (a *app) inOrder(planned []deploy.PlannedChange, f waveFlags) error {
	if !f.set() {
		return nil
	}
	waves, err := f.waves(agentsIn(planned))
	if err != nil {
		return err
	}
	of := map[string]int{}
	for i, wave := range waves {
		a.say("wave %d of %d: %s", i+1, len(waves), named(wave))
		for _, name := range wave {
			of[name] = i
		}
	}
	slices.SortStableFunc(planned, func(x, y deploy.PlannedChange) int {
		return cmp.Compare(of[x.ID.Agent()], of[y.ID.Agent()])
	})
	return nil
}

// applyInWaves applies documents to agents in waves. Every wave is an export of its own, of what is
// at its agents; the last one is of all, and checks only what is at its agents.
func (a *app) applyInWaves(ctx context.Context, path string, f exportFlags, read *loaded, began time.Time) error {
	if read == nil {
		var err error
		if read, err = a.load(ctx, path, f); err != nil {
			return cutShort(ctx, err)
		}
	}
	if err := a.mend(ctx, read, a.mayHaveLost(ctx)); err != nil {
		return cutShort(ctx, err)
	}
	x := a.asExport(ctx, path, f, read)
	plan, err := a.home.Plan(ctx, a.env, x, deploy.CompareOptions{})
	if err == nil {
		x.Limits, err = a.allowed(ctx, plan, f)
	}
	if err != nil {
		return cutShort(ctx, err)
	}
	of, err := a.mark(ctx)
	if err != nil {
		return cutShort(ctx, err)
	}
	of.nothing = !f.check
	var r api.Report
	agents := agentsIn(plan.Planned)
	done, err := a.eachWave(ctx, f.filter, f.waves, agents, of, func(wave []string, last bool) error {
		part := x
		if part.CheckAgents = wave; !last {
			part.CheckAgents, part.Defer = nil, true
			if part.Target, err = state.ParseFilter(atAgents(f.filter, wave)); err != nil {
				return err
			}
		}
		pr := a.progress()
		out, err := a.home.Export(ctx, a.env, part, pr.sent)
		pr.end()
		r.Version, r.Resources, r.Origin = out.Version, out.Resources, api.Origin(out.Origin)
		r.Changed, r.Removed, r.FilesUploaded = r.Changed+out.Changed, r.Removed+out.Removed, r.FilesUploaded+out.FilesUploaded
		return err
	})
	if err != nil {
		return a.interrupted(err)
	}
	r.Environment, r.Unchanged, r.Repaired = a.env, max(r.Resources-r.Changed, 0), done.Did.fixed
	r.Tell(done.Did.changes)
	return a.applied(ctx, r, done, f.filter, began)
}

// allowed returns the limits of every wave of an apply of which a plan was made: nothing more is
// deleted than was planned, allowed and, on a terminal, confirmed.
func (a *app) allowed(ctx context.Context, plan deploy.DryRun, f exportFlags) (*deploy.Limits, error) {
	gone := deleted(plan.Planned)
	if f.allowDelete >= 0 && len(gone) > f.allowDelete {
		return nil, fault.New(fault.Refused, "", "%s would be deleted, and %d may; nothing was done", plural(len(gone), "resource"), f.allowDelete).
			WithHint("`southbound plan` lists them")
	}
	stay := left(plan.Planned)
	if _, sits := terminal(a.stdin); sits && !f.yes && len(gone)+len(stay) > 0 {
		if err := a.confirm(ctx, gone, stay); err != nil {
			return nil, err
		}
	}
	return &deploy.Limits{Delete: len(gone), Leave: -1}, nil
}

func (a *app) dryRunNow(ctx context.Context, number int, terms []string, waves waveFlags, exitCode bool) error {
	if err := a.openExisting(ctx); err != nil {
		return err
	}
	if p, err := a.home.Progress(ctx, a.env); err != nil {
		return err
	} else if number == 0 && p.Released == 0 {
		return fault.New(fault.NotFound, "dryrun", "nothing is released yet").
			WithHint("`southbound apply PATH` starts; `southbound plan PATH --read` compares what is not stored")
	}
	d, err := a.dryRun(ctx, number, terms, waves)
	if fault.Is(context.Cause(ctx), fault.Timeout) {
		return tooLate("everything was compared with reality", d.Left)
	}
	if err != nil {
		return err
	}
	a.say("dry run of version %d: %d of %d compared with reality", d.Version, d.Covered,
		len(d.Planned))
	return a.showPlan(d.Planned, exitCode)
}

// dryRun compares what matches of a version with reality, in waves if that is asked for.
func (a *app) dryRun(ctx context.Context, number int, terms []string, f waveFlags) (deploy.DryRun, error) {
	if !f.set() {
		return a.home.DryRun(ctx, a.env, number, terms, a.full)
	}
	agents, err := a.agentsOfVersion(ctx, number, terms)
	if err != nil {
		return deploy.DryRun{}, err
	}
	waves, err := f.waves(agents)
	if err != nil {
		return deploy.DryRun{}, err
	}
	all := deploy.DryRun{Version: number}
	for i, wave := range waves {
		a.say("wave %d of %d: %s", i+1, len(waves), named(wave))
		d, err := a.home.DryRun(ctx, a.env, number, atAgents(terms, wave), a.full)
		if err != nil {
			all.Left = slices.Concat(append([][]string{d.Left}, waves[i+1:]...)...)
			return all, err
		}
		all.Version, all.Covered = d.Version, all.Covered+d.Covered
		all.Planned = append(all.Planned, d.Planned...)
		failed := slices.ContainsFunc(d.Planned, func(w deploy.PlannedChange) bool { return w.Failed })
		if rest := slices.Concat(waves[i+1:]...); failed && f.batch != "" && len(rest) > 0 {
			a.say("wave %d did not go well; not looked at: %s", i+1, named(rest))
			break
		}
	}
	return all, nil
}

// agentsOfVersion returns the agents of what matches in a version, 0 for the one that is released.
func (a *app) agentsOfVersion(ctx context.Context, number int, terms []string) ([]string, error) {
	if number == 0 {
		return a.agentsOf(ctx, terms)
	}
	f, err := state.ParseFilter(terms)
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	err = a.home.Descriptions(ctx, a.env, number, "", func(d *api.Description) error {
		if len(f.Agents) == 0 || slices.Contains(f.Agents, d.Agent) {
			names[d.Agent] = true
		}
		return nil
	})
	return slices.Sorted(maps.Keys(names)), err
}

// versionAndFilter reads the arguments of dryrun: the number of a version, 0 if there is none, and
// the terms of a filter.
func versionAndFilter(args []string) (number int, terms []string, err error) {
	if len(args) > 0 && !strings.ContainsAny(args[0], filterSigns) {
		if number, err = strconv.Atoi(args[0]); err != nil || number < 1 {
			return 0, nil, fault.New(fault.Usage, "dryrun", "%q is not a version, and not a filter", args[0]).
				WithHint("`southbound versions` lists versions; %s", filterHelp)
		}
		args = args[1:]
	}
	if len(args) > 0 && !strings.ContainsAny(args[0], filterSigns) {
		return 0, nil, fault.New(fault.Usage, "dryrun", "expected at most one version, and %q is not a filter", args[0]).WithHint("%s", filterHelp)
	}
	_, err = state.ParseFilter(args)
	return number, args, err
}
