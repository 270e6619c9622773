package cli

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
)

// busy records which agents have work, and which could not be read.
type busy struct{ works, unread map[string]bool }

func newBusy() busy { return busy{map[string]bool{}, map[string]bool{}} }

// plan adds the agents with work in a plan or a dry run. Resources that are already deployed are no
// work, and neither are resources that are only compared or not known yet.
func (b busy) plan(planned []deploy.PlannedChange) {
	for i := range planned {
		w := &planned[i]
		switch {
		case w.Failed:
			b.unread[w.ID.Agent()] = true
		case w.Action == "create", w.Action == "update", w.Action == "delete",
			len(w.ReloadFor) > 0, len(w.After) > 0, w.Rechecked, w.MovedFrom != "":
			b.works[w.ID.Agent()] = true
		}
	}
}

// in returns the agents in order: agents in described first, in that order, then others by name.
// Agents without known work that could not be read come last.
func (b busy) in(described []string) []string {
	var first, last []string
	add := func(name string) {
		if b.works[name] {
			first = append(first, name)
		} else if b.unread[name] {
			last = append(last, name)
		}
	}
	for _, name := range described {
		add(name)
	}
	all := maps.Clone(b.works)
	maps.Copy(all, b.unread)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(described, name) {
			add(name)
		}
	}
	return append(first, last...)
}

// describedIn returns the agents that a model describes, in its order.
func describedIn(m *model.Model) []string {
	out := make([]string, len(m.Agents))
	for i := range m.Agents {
		out[i] = m.Agents[i].Name
	}
	return out
}

// workloadOf returns the agents with work of an export. plan was made without reading; read, unless
// it is nil, was made after the machines were read.
func workloadOf(x deploy.Export, f waveFlags, plan, read []deploy.PlannedChange) workload {
	w := workload{known: agentsIn(plan)}
	if f.batch == "" {
		w.agents = w.known
		return w
	}
	for i := range x.Model.Resources {
		w.known = append(w.known, x.Model.Resources[i].Agent)
	}
	slices.Sort(w.known)
	w.known = slices.Compact(w.known)
	b := newBusy()
	if read != nil {
		b.plan(read)
		plan = slices.Clone(plan)
		for i := range plan {
			plan[i].ReloadFor = nil // reloads are known only after reading
		}
	}
	b.plan(plan)
	w.agents = b.in(describedIn(x.Model))
	return w
}

// ofExport divides the agents with work of an export into waves. plan is the plan without reading;
// with x.Check, the machines are read as well.
func (v *waves) ofExport(
	ctx context.Context, x deploy.Export, f waveFlags, plan deploy.DryRun,
) ([][]string, error) {
	var read []deploy.PlannedChange
	if _, _, err := f.waves(workloadOf(x, f, plan.Planned, nil)); err != nil {
		return nil, err // before the machines are read
	}
	if x.Check && f.batch != "" {
		v.say("reading the machines, to find the agents that have work")
		d, err := v.home.Plan(ctx, v.env, x, deploy.CompareOptions{Read: true})
		if err != nil {
			return nil, err
		}
		read = d.Planned
	}
	out, err := cutWaves(v.console, f, workloadOf(x, f, plan.Planned, read))
	if err == nil {
		err = v.gated(ctx, f.gate, x.Model.Resources, out)
	}
	return out, err
}

// ofWork returns the agents with work of a deploy or a repair. A repair reads the machines.
func (v *waves) ofWork(ctx context.Context, work api.Work, f waveFlags) (w workload, err error) {
	agents, err := v.home.Agents(ctx, v.env)
	if err != nil {
		return w, err
	}
	for _, a := range agents {
		w.known = append(w.known, a.Name)
	}
	if f.batch == "" {
		w.agents, err = v.agentsOf(ctx, work.Filter)
		return w, err
	}
	b := newBusy()
	if work.Repair {
		d, err := v.home.DryRun(ctx, v.env, 0, work.Filter, false)
		if err != nil {
			return w, err
		}
		b.plan(d.Planned)
	}
	statuses := []state.Status{state.StatusAvailable, state.StatusDeploying}
	if work.Repair || work.RetryFailed {
		statuses = append(statuses, state.StatusFailed, state.StatusSkipped, state.StatusUnavailable)
	}
	err = v.home.Resources(ctx, v.env, work.Filter, func(r *api.Resource) error {
		if slices.Contains(statuses, r.Status) {
			b.works[r.Agent] = true
		}
		return nil
	})
	w.agents = b.in(nil)
	return w, err
}

// cutWaves divides agents with work into waves. It reports the agents that --batch names and that
// have no work.
func cutWaves(c *console, f waveFlags, w workload) ([][]string, error) {
	out, idle, err := f.waves(w)
	if err == nil && len(idle) > 0 {
		c.say("nothing to do on %s", named(idle))
	}
	return out, err
}

// agentsIn returns the agents of a plan, sorted.
func agentsIn(planned []deploy.PlannedChange) []string {
	names := map[string]bool{}
	for i := range planned {
		names[planned[i].ID.Agent()] = true
	}
	return slices.Sorted(maps.Keys(names))
}
