package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// targeted is the working state of one call of targetedEdit.
type targeted struct {
	*edit
	p      *planning
	x      Export
	index  map[resource.ID]int  // of the model's resources
	others map[resource.ID]bool // of the base, matches of the filter that others own
	// resources of the base that a later export leaves out, since they are still required
	late map[resource.ID]bool
}

// targetedEdit returns the edit of a targeted export. It puts the selected resources of the model, and
// drops the selected resources of the version in force that are not in the model.
func targetedEdit(ctx context.Context, p *planning, x Export) (*edit, error) {
	base, err := p.pl.Client.Version(ctx, p.was, p.env.Released)
	if err != nil {
		return nil, err
	}
	entries, err := version.ReadChunks(ctx, p.pl.Files, base.Chunks)
	if err == nil {
		err = useRows(ctx, p, entries, base.Agents)
	}
	if err != nil {
		return nil, err
	}
	e, err := newEdit(ctx, p, base, entries)
	if err != nil {
		return nil, err
	}
	e.Frozen = true
	t := &targeted{edit: e, p: p, x: x, index: indexOf(x.Model)}
	if err := t.find(ctx); err != nil {
		return nil, err
	}
	t.keep()
	if err := p.pl.checkDescribed(ctx, p.was, e.Put, true); err != nil {
		return nil, err
	}
	return e, t.decideAgents(ctx)
}

// useRows replaces entries of the version in force by those that its rows have. If a value became
// known after the version was stored, the row has the value and the version does not. Resources that
// are not targeted keep that value. References to facts stay: rows follow them.
func useRows(
	ctx context.Context, p *planning, entries map[resource.ID]version.Entry, agents []resource.Agent,
) error {
	var open []resource.ID
	for id, en := range entries {
		if en.HasReferences() {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	rows, err := p.load(ctx, open)
	if err != nil {
		return err
	}
	byName := agentsByName(agents)
	for id, row := range rows {
		if !row.Orphaned && !row.Removing && !row.Damaged() && !row.Undefined() {
			if entries[id], err = writtenOf(row, byName); err != nil {
				return err
			}
		}
	}
	return nil
}

// find selects the resources of the export.
func (t *targeted) find(ctx context.Context) error {
	status, err := t.p.pl.Client.InState(ctx, t.p.env.Name, t.x.Target)
	if err != nil {
		return err
	}
	picks := func(id resource.ID, set string) bool {
		return t.x.Target.Picks(id, set) && (status == nil || status[id])
	}
	out := &targets{asked: map[resource.ID]bool{}, needed: map[resource.ID]bool{}}
	t.late = map[resource.ID]bool{}
	for id, r := range t.was {
		if picks(id, r.Set) {
			out.asked[id] = true
			if _, stays := t.index[id]; !stays {
				t.Drop[id] = true
			}
		}
	}
	resources := t.x.Model.Resources
	var follow []resource.ID
	for i := range resources {
		if r := &resources[i]; out.asked[r.ID] || picks(r.ID, r.Set) {
			out.asked[r.ID] = true
			follow = append(follow, r.Requires...)
		}
	}
	for len(follow) > 0 {
		id := follow[len(follow)-1]
		follow = follow[:len(follow)-1]
		if i, there := t.index[id]; there && !out.asked[id] && !out.needed[id] {
			out.needed[id] = true
			follow = append(follow, resources[i].Requires...)
		}
	}
	t.targets = out
	t.put()
	t.findMoved()
	if err := t.excludeOwned(ctx); err != nil {
		return err
	}
	if len(out.asked) == 0 && status == nil && !t.x.Defer {
		return fault.New(fault.Invalid, "",
			"nothing matches, neither in the documents nor in the version in force").
			WithHint("`southbound resources` lists all resources")
	}
	return nil
}

// put sets the model that the edit puts: the targeted resources, and their agents.
func (t *targeted) put() {
	var at []int
	used := map[string]bool{}
	for i := range t.x.Model.Resources {
		if r := &t.x.Model.Resources[i]; t.targets.asked[r.ID] || t.targets.needed[r.ID] {
			at, used[r.Agent] = append(at, i), true
		}
	}
	t.Put = withResources(&model.Model{WhereAgent: t.x.Model.AtAgent}, t.x.Model, at)
	t.Put.Agents = slices.DeleteFunc(slices.Clone(t.x.Model.Agents),
		func(a resource.Agent) bool { return !used[a.Name] })
}

// findMoved finds the resources of the base whose things have other ids in the documents. If the
// export selects the new id, the old one leaves with it.
func (t *targeted) findMoved() {
	t.Moved = map[resource.ID]resource.ID{}
	checker := t.p.pl.Checker
	var leave []*resource.Resource
	for _, id := range slices.Sorted(maps.Keys(t.was)) {
		if _, stays := t.index[id]; !stays {
			leave = append(leave, t.was[id])
		}
	}
	left := checker.Leaving(leave,
		model.TargetsOf(MergeAgents(t.base.Agents, t.Put.Agents), true))
	targets := model.TargetsOf(t.x.Model.Agents, true)
	for i := range t.Put.Resources {
		r := &t.Put.Resources[i]
		from, shared := checker.Moved(left, r, targets)
		for _, old := range from {
			if t.Moved[old.ID] != "" || shared && t.was[r.ID] != nil {
				continue
			}
			t.Moved[old.ID], t.targets.asked[old.ID], t.Drop[old.ID] = r.ID, true, true
			if shared {
				break
			}
		}
	}
}

// excludeOwned keeps selected resources of sets that belong to other owners if the documents do not
// have them. It rejects documents that describe resources of these sets.
func (t *targeted) excludeOwned(ctx context.Context) error {
	var sets []string
	for id := range t.Drop {
		sets = append(sets, t.was[id].Set)
	}
	for i := range t.Put.Resources {
		r := &t.Put.Resources[i]
		if sets = append(sets, r.Set); t.was[r.ID] != nil {
			sets = append(sets, t.was[r.ID].Set)
		}
	}
	slices.Sort(sets)
	sets = slices.DeleteFunc(slices.Compact(sets), func(set string) bool { return set == "" })
	owned, err := t.p.pl.ownedOf(ctx, t.p.env.Name, sets)
	if err != nil || len(owned) == 0 {
		return err
	}
	t.others = map[resource.ID]bool{}
	for id := range t.Drop {
		if owned[t.was[id].Set] {
			delete(t.Drop, id)
			t.others[id] = true
		}
	}
	problems := refuseOwned(t.Put, owned, hintKept)
	for i := range t.Put.Resources {
		r := &t.Put.Resources[i]
		if was := t.was[r.ID]; was != nil && owned[was.Set] && was.Set != r.Set {
			problems.Add(hasOwned(t.Put, i, was.Set))
		}
	}
	return problems.Err()
}

// keep records the resources of the base that stay: all resources outside of the export, and
// resources of other owners. With Defer, resources that these still require stay, too.
func (t *targeted) keep() {
	about := t.targets
	maps.DeleteFunc(t.Moved, func(id, _ resource.ID) bool { return !t.Drop[id] }) // others own it
	var follow []resource.ID
	stay := func(id resource.ID) {
		t.kept.resources[id] = true
		follow = append(follow, id)
	}
	for id := range t.was {
		if !about.asked[id] && !about.needed[id] || t.others[id] {
			stay(id)
		}
	}
	for ; t.x.Defer && len(follow) > 0; follow = follow[1:] {
		r := t.was[follow[0]]
		for _, id := range r.Requires {
			if t.Drop[id] && t.Moved[id] == "" &&
				!t.p.pl.Checker.RequiresByType(r, t.was[id]) {
				delete(t.Drop, id)
				delete(about.asked, id)
				t.late[id] = true
				stay(id)
			}
		}
	}
}

// decideAgents sets the agents of the version, with resolved options.
func (t *targeted) decideAgents(ctx context.Context) error {
	r := t.p.resolver()
	known, _, err := r.references(ctx, &model.Model{Agents: t.Put.Agents}, kept{})
	if err != nil {
		return err
	}
	agents, problems := r.resolveAgents(ctx, t.Put, known, nil)
	problems = append(problems, t.decideReach(&agents)...)
	t.Agents, t.problems = agents.list, problems
	for name := range agents.byName {
		t.kept.agents[name] = true
	}
	return nil
}

// decideReach decides how the agents are reached. If all resources of an agent are targeted, the
// documents decide; otherwise the agent is reached as before.
func (t *targeted) decideReach(agents *agentSet) diag.Problems {
	var problems diag.Problems
	shared, asked := map[string]bool{}, map[string]bool{}
	for id := range t.kept.resources {
		shared[id.Agent()] = shared[id.Agent()] || !t.late[id]
	}
	for id := range t.targets.asked {
		asked[id.Agent()] = true
	}
	for _, was := range t.base.Agents {
		now := agents.byName[was.Name]
		described := now.Described
		same := described && state.SameAgents([]resource.Agent{was}, []resource.Agent{now})
		if described && (same || !shared[was.Name]) {
			continue
		}
		if described && asked[was.Name] && !t.x.Defer {
			problems.Add(diag.Problem{Pos: t.x.Model.AtAgent(was.Name),
				Hint: fmt.Sprintf("target all of it (agent=%s), or apply everything", was.Name),
				Message: fmt.Sprintf("the documents describe the agent %q in another way than "+
					"before, and not all that it has is targeted", was.Name)})
			continue
		}
		agents.byName[was.Name] = was
	}
	agents.list = slices.SortedFunc(maps.Values(agents.byName), compareNames)
	return problems
}

// checkTargets schedules the resources of a targeted export for a comparison with reality, and
// those of their requirements that are not deployed as wanted. If agents are given, only resources
// at these agents are checked.
func (p *exporting) checkTargets(ctx context.Context, agents []string) error {
	asks := func(r *state.Row) bool {
		t := p.targets
		switch {
		case !r.Runnable() || len(agents) > 0 && !slices.Contains(agents, r.ID.Agent()):
			return false
		case t == nil:
			return !r.Removing
		}
		return t.asked[r.ID] && !r.Removing || t.needed[r.ID] && !r.AsWanted()
	}
	return p.pl.Client.EachRow(ctx, p.env.Name, func(r *state.Row) error {
		if r = p.planned(r); asks(r) {
			p.set(r, func(r *state.Row) bool {
				return asks(r) && p.change(r, step.Requested{Priority: state.PriorityUserRepair,
					Check: true})
			})
		}
		return nil
	})
}
