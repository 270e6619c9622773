package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// targets holds the resources that a targeted export selects; nil: everything. See
// docs/design/targets.md.
type targets struct {
	asked  map[resource.ID]bool // selected by the filter, in the model or in the version in force
	needed map[resource.ID]bool // their requirements in the model, direct or indirect
}

// shows reports whether a preview shows the effect on a resource. runs means that the resource
// would run although no check of it is requested.
func (t *targets) shows(id resource.ID, runs bool) bool {
	return t == nil || t.asked[id] || t.needed[id] && runs
}

// match reports whether an export asks for a row.
func (t *targets) match(r *state.Row) bool { return t == nil || t.asked[r.ID] || t.needed[r.ID] }

// targeted is the working state of one call of target.
type targeted struct {
	p       *exporting
	x       Export
	base    state.Version
	entries map[resource.ID]version.Entry      // of the base
	old     map[resource.ID]*resource.Resource // the same, decoded
	index   map[resource.ID]int                // of the model's resources
	mine    []int                              // the targeted ones among these
	removed map[resource.ID]bool               // of the base, resources that are left out
	moved   moves                              // ids of the base whose things have other ids now
	others  map[resource.ID]bool               // of the base, matches of the filter that others own
	// resources of the base that a later export leaves out, since they are still required
	late map[resource.ID]bool
	kept []*resource.Resource // resources of the base that stay
	set  intents
	sets []string
}

// target builds the version of a targeted export. It takes the selected resources from the model,
// and all other resources from the version in force, unchanged.
func (p *exporting) target(ctx context.Context, x Export) (*targeted, error) {
	base, err := p.pl.Client.Version(ctx, p.was, p.env.Released)
	if err != nil {
		return nil, err
	}
	t := &targeted{p: p, x: x, base: base, index: map[resource.ID]int{}}
	if t.entries, err = version.ReadChunks(ctx, p.pl.Files, base.Chunks); err != nil {
		return nil, err
	}
	for i := range x.Model.Resources {
		t.index[x.Model.Resources[i].ID] = i
	}
	if err := t.current(ctx); err != nil {
		return nil, err
	}
	if err := t.find(ctx); err != nil {
		return nil, err
	}
	t.keep()
	m := &model.Model{Agents: t.agents(x.Model.Agents), WhereAgent: x.Model.AtAgent}
	for _, i := range t.mine {
		m.Resources = append(m.Resources, x.Model.Resources[i])
	}
	m.Where = func(i int, a string) diag.Pos {
		if i < len(t.mine) {
			return x.Model.At(t.mine[i], a)
		}
		return diag.Pos{}
	}
	if err := p.checkDescribed(ctx, m, true); err != nil {
		return nil, err
	}
	if problems := t.check(m); len(problems) > 0 {
		return nil, problems.Err()
	}
	return t, t.resolve(ctx, m)
}

// current decodes the base as it is in force. If a value became known after the version was stored,
// the row has the value and the version does not. Resources that are not targeted keep that value.
func (t *targeted) current(ctx context.Context) error {
	var open []resource.ID
	for id := range t.entries {
		if en := t.entries[id]; en.HasReferences() {
			open = append(open, id)
		}
	}
	slices.Sort(open)
	rows, err := t.p.load(ctx, open)
	if err != nil {
		return err
	}
	for id, row := range rows {
		if !row.Orphaned && !row.Removing && !row.Damaged() && row.Compliance != state.Undefined {
			t.entries[id] = version.Entry{ID: id, Hash: row.Hash, Body: row.Body}
		}
	}
	t.old = make(map[resource.ID]*resource.Resource, len(t.entries))
	for id, en := range t.entries {
		if t.old[id], err = resource.Decode(en.Body); err != nil {
			return fault.Wrap(fault.Damaged, "read version", err)
		}
	}
	return nil
}

// find selects the resources of the export.
func (t *targeted) find(ctx context.Context) error {
	status, err := t.p.pl.Client.WithStatus(ctx, t.p.env.Name, t.x.Target.Status)
	if err != nil {
		return err
	}
	picks := func(id resource.ID, set string) bool {
		return t.x.Target.Picks(id, set) && (status == nil || status[id])
	}
	out := &targets{asked: map[resource.ID]bool{}, needed: map[resource.ID]bool{}}
	t.removed, t.late = map[resource.ID]bool{}, map[resource.ID]bool{}
	for id, r := range t.old {
		if picks(id, r.Set) {
			out.asked[id] = true
			if _, stays := t.index[id]; !stays {
				t.removed[id] = true
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
	for i := range resources {
		if id := resources[i].ID; out.asked[id] || out.needed[id] {
			t.mine = append(t.mine, i)
		}
	}
	t.p.targets = out
	t.takeAlong(out)
	if err := t.leaveOwned(ctx); err != nil {
		return err
	}
	if len(out.asked) == 0 && status == nil && !t.x.Defer {
		return fault.New(fault.Invalid, "",
			"nothing matches, neither in the documents nor in the version in force").
			WithHint("`southbound resources` lists all resources")
	}
	return nil
}

// leaveOwned keeps selected resources of sets that belong to other owners if the documents do not
// have them. It rejects documents that describe resources of these sets.
func (t *targeted) leaveOwned(ctx context.Context) error {
	var sets []string
	for id := range t.removed {
		sets = append(sets, t.old[id].Set)
	}
	mine := &model.Model{Where: func(i int, a string) diag.Pos { return t.x.Model.At(t.mine[i], a) }}
	for _, i := range t.mine {
		r := t.x.Model.Resources[i]
		mine.Resources = append(mine.Resources, r)
		if sets = append(sets, r.Set); t.old[r.ID] != nil {
			sets = append(sets, t.old[r.ID].Set)
		}
	}
	slices.Sort(sets)
	sets = slices.DeleteFunc(slices.Compact(sets), func(set string) bool { return set == "" })
	owned, err := t.p.pl.ownedOf(ctx, t.p.env.Name, sets)
	if err != nil || len(owned) == 0 {
		return err
	}
	t.others = map[resource.ID]bool{}
	for id := range t.removed {
		if owned[t.old[id].Set] {
			delete(t.removed, id)
			t.others[id] = true
		}
	}
	problems := refuseOwned(mine, owned, hintKept)
	for i := range mine.Resources {
		r := &mine.Resources[i]
		if was := t.old[r.ID]; was != nil && owned[was.Set] && was.Set != r.Set {
			problems.Add(hasOwned(mine, i, was.Set))
		}
	}
	return problems.Err()
}

// keep selects the resources of the base that stay: all resources outside of the export, and
// resources of other owners. With Defer, resources that these still require stay, too.
func (t *targeted) keep() {
	about := t.p.targets
	t.require()
	var follow []resource.ID
	stay := func(id resource.ID) {
		t.kept = append(t.kept, t.old[id])
		follow = append(follow, id)
	}
	for _, id := range slices.Sorted(maps.Keys(t.old)) {
		if !about.asked[id] && !about.needed[id] || t.others[id] {
			stay(id)
		}
	}
	for ; t.x.Defer && len(follow) > 0; follow = follow[1:] {
		r := t.old[follow[0]]
		for _, id := range r.Requires {
			if t.removed[id] && !t.p.pl.Checker.RequiresByType(r, t.old[id]) {
				delete(t.removed, id)
				delete(about.asked, id)
				t.late[id] = true
				stay(id)
			}
		}
	}
	for _, r := range t.kept {
		r.Requires = slices.DeleteFunc(slices.Clone(r.Requires), func(id resource.ID) bool {
			return t.removed[id] && t.p.pl.Checker.RequiresByType(r, t.old[id])
		})
	}
}

// agents returns the agents of a model that have targeted resources.
func (t *targeted) agents(of []resource.Agent) []resource.Agent {
	used := map[string]bool{}
	for _, i := range t.mine {
		used[t.x.Model.Resources[i].Agent] = true
	}
	return slices.DeleteFunc(slices.Clone(of), func(a resource.Agent) bool { return !used[a.Name] })
}

// check checks the targeted resources, which are all of m, together with the resources that stay.
func (t *targeted) check(m *model.Model) diag.Problems {
	pl, n := t.p.pl, len(m.Resources)
	all := slices.Clone(m.Resources)
	byID := map[resource.ID]int{}
	for _, r := range t.kept {
		all = append(all, *r)
	}
	for i := range all {
		byID[all[i].ID] = i
	}
	pl.Checker.Relate(all, byID)
	t.restoreKept(all, byID)
	copy(m.Resources, all[:n])
	var problems diag.Problems
	for _, r := range t.kept {
		for _, id := range r.Requires {
			if t.removed[id] {
				problems.Add(
					diag.Problem{Resource: string(r.ID), Hint: "target both, or apply everything",
						Message: fmt.Sprintf(
							"requires %s, which leaves; what requires it is not targeted",
							id,
						)},
				)
			}
		}
	}
	if len(problems) == 0 {
		problems = pl.Checker.CheckThere(all, m.At)
	}
	problems = append(problems, pl.Checker.CheckThings(all, n,
		model.TargetsOf(MergeAgents(t.base.Agents, m.Agents), true), m.At)...)
	problems = append(problems, pl.Checker.CheckCycles(all, m.At)...)
	t.sets = setsOf(all)
	return problems
}

// restoreKept restores the resources that stay, at the end of all. It marks a resource as
// subscribed if another resource subscribes to it by its type, even if only one of the two is
// targeted. The mark is no new intent.
func (t *targeted) restoreKept(all []resource.Resource, byID map[resource.ID]int) {
	for i, r := range t.kept {
		all[len(all)-len(t.kept)+i] = *r
	}
	for i := range all {
		for _, id := range all[i].Subscriptions {
			if j, there := byID[id]; there {
				all[j].Subscribed = true
			}
		}
	}
	for i, r := range t.kept {
		r.Subscribed = all[len(all)-len(t.kept)+i].Subscribed
	}
}

// resolver returns the resolver of references.
func (t *targeted) resolver() *resolver { return &resolver{t.p.planning} }

// resolve makes the entries of the version.
func (t *targeted) resolve(ctx context.Context, m *model.Model) error {
	known, refs, err := t.resolver().references(ctx, m, kept{})
	if err != nil {
		return err
	}
	agents, problems := t.resolver().resolveAgents(ctx, m, known, nil)
	problems = append(problems, t.decideReach(&agents)...)
	problems = append(
		problems,
		t.p.pl.Checker.CheckReach(
			&model.Model{Resources: m.Resources, Agents: agents.list, Where: m.Where},
			true,
		)...)
	if len(problems) > 0 {
		return problems.Err()
	}
	t.set, err = t.resolver().resolveEach(ctx, m, refs, known, agents, kept{})
	if err != nil {
		return err
	}
	again := t.gather(m, agents)
	if t.set.entries, err = version.NewEntries(m.Resources, agents.byName); err != nil {
		return err
	}
	files := map[string]bool{}
	for _, h := range t.set.files {
		files[h] = true
	}
	for _, r := range t.kept {
		en := t.entries[r.ID]
		was, err := resource.Decode(en.Body)
		switch {
		case again[r.ID]:
			en, err = version.NewEntry(r, agents.byName[r.Agent])
		case err != nil || !slices.Equal(was.Requires, r.Requires) ||
			was.Subscribed != r.Subscribed:
			en.Body, err = r.Encode()
		}
		if err != nil {
			return fault.Wrap(fault.Internal, "encode resource "+string(r.ID), err)
		}
		t.set.entries = append(t.set.entries, en)
		for _, ref := range resource.References(r.Attributes) {
			if f, is := ref.(resource.File); is {
				files[f.Hash] = true
			}
		}
	}
	t.set.files = slices.Sorted(maps.Keys(files))
	slices.SortFunc(
		t.set.entries,
		func(a, b version.Entry) int { return strings.Compare(string(a.ID), string(b.ID)) },
	)
	return nil
}

// decideReach decides how the agents are reached. If all resources of an agent are targeted, the
// documents decide; otherwise the agent is reached as before.
func (t *targeted) decideReach(agents *agentSet) diag.Problems {
	var problems diag.Problems
	shared, asked := map[string]bool{}, map[string]bool{}
	for _, r := range t.kept {
		shared[r.Agent] = shared[r.Agent] || !t.late[r.ID]
	}
	for id := range t.p.targets.asked {
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
			problems.Add(
				diag.Problem{
					Pos:  t.x.Model.AtAgent(was.Name),
					Hint: fmt.Sprintf("target all of it (agent=%s), or apply everything", was.Name),
					Message: fmt.Sprintf(
						"the documents describe the agent %q in another way than before, and not "+
							"all that it has is targeted",
						was.Name,
					),
				},
			)
			continue
		}
		agents.byName[was.Name] = was
	}
	agents.list = slices.SortedFunc(
		maps.Values(agents.byName),
		func(a, b resource.Agent) int { return strings.Compare(a.Name, b.Name) },
	)
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
		return t.asked[r.ID] && !r.Removing || t.needed[r.ID] && r.Unfinished()
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
