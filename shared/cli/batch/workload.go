package batch

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/api"
	"southbound/shared/cli/output"
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

// WorkloadOf returns the agents with work of an export. plan was made without reading; read, unless
// it is nil, was made after the machines were read.
func WorkloadOf(x deploy.Export, f Flags, plan, read []deploy.PlannedChange) Workload {
	w := Workload{Known: agentsIn(plan)}
	if f.Batch == "" {
		w.Agents = w.Known
		return w
	}
	for i := range x.Model.Resources {
		w.Known = append(w.Known, x.Model.Resources[i].Agent)
	}
	slices.Sort(w.Known)
	w.Known = slices.Compact(w.Known)
	b := newBusy()
	if read != nil {
		b.plan(read)
		plan = slices.Clone(plan)
		for i := range plan {
			plan[i].ReloadFor = nil // reloads are known only after reading
		}
	}
	b.plan(plan)
	w.Agents = b.in(describedIn(x.Model))
	return w
}

// OfExport divides the agents with work of an export into waves. plan is the plan without reading;
// with x.Check, the machines are read as well.
func (v *Waves) OfExport(
	ctx context.Context, x deploy.Export, f Flags, plan deploy.DryRun,
) ([][]string, error) {
	var read []deploy.PlannedChange
	if _, _, err := f.Waves(WorkloadOf(x, f, plan.Planned, nil)); err != nil {
		return nil, err // before the machines are read
	}
	if x.Check && f.Batch != "" {
		v.Say("reading the machines, to find the agents that have work")
		d, err := v.Home.Plan(ctx, v.Env, x, deploy.CompareOptions{Read: true})
		if err != nil {
			return nil, err
		}
		read = d.Planned
	}
	out, err := CutWaves(v.Console, f, WorkloadOf(x, f, plan.Planned, read))
	if err == nil {
		err = v.Gated(ctx, f.Gate, x.Model.Resources, out)
	}
	return out, err
}

// OfWork returns the agents with work of a deploy or a repair. A repair reads the machines.
func (v *Waves) OfWork(ctx context.Context, work api.Work, f Flags) (w Workload, err error) {
	agents, err := v.Home.Agents(ctx, v.Env)
	if err != nil {
		return w, err
	}
	for _, a := range agents {
		w.Known = append(w.Known, a.Name)
	}
	if f.Batch == "" {
		w.Agents, err = v.AgentsOf(ctx, work.Filter)
		return w, err
	}
	b := newBusy()
	if work.Repair {
		d, err := v.Home.DryRun(ctx, v.Env, 0, work.Filter, false)
		if err != nil {
			return w, err
		}
		b.plan(d.Planned)
	}
	statuses := []state.Status{state.StatusAvailable, state.StatusDeploying}
	if work.Repair || work.RetryFailed {
		statuses = append(statuses, state.StatusFailed, state.StatusSkipped, state.StatusUnavailable)
	}
	err = v.Home.Resources(ctx, v.Env, work.Filter, func(r *api.Resource) error {
		if slices.Contains(statuses, r.Status) {
			b.works[r.Agent] = true
		}
		return nil
	})
	w.Agents = b.in(nil)
	return w, err
}

// CutWaves divides agents with work into waves. It reports the agents that --batch names and that
// have no work.
func CutWaves(c *output.Console, f Flags, w Workload) ([][]string, error) {
	out, idle, err := f.Waves(w)
	if err == nil && len(idle) > 0 {
		c.Say("nothing to do on %s", output.Named(idle))
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
