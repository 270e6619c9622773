package dynamo

import (
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// page is the part of a commit that one transaction writes.
type page struct {
	keep     []state.Kept
	dropKept []resource.ID
	// rows, with the entries, actions and facts that belong to them. A commit of one page also has
	// those of no row.
	rows    []state.Row
	outbox  []state.Outbox
	actions []state.Action
	facts   []state.Parameter

	dropParameters []state.ParameterKey
	dropOutbox     []string
	forget         []int
	settings       bool // the environment, the version and the agents of the commit

	first, last bool
}

// pager divides a commit into pages.
type pager struct {
	limits *Limits
	pages  []page
	items  int // of the last page
	bytes  int
	agents map[string]bool // of the rows of the last page
}

// room returns a page with room for some items with values of a size.
func (p *pager) room(items, bytes int) *page {
	items += bytes / partSize
	full := p.items+items > p.limits.Page || p.bytes+bytes > p.limits.Bytes
	if len(p.pages) == 0 || full && p.items+p.bytes > 0 {
		p.pages = append(p.pages, page{})
		p.items, p.bytes, p.agents = 0, 0, map[string]bool{}
	}
	p.items, p.bytes = p.items+items, p.bytes+bytes
	return &p.pages[len(p.pages)-1]
}

// attached are the parts of a commit that belong to a row.
type attached struct {
	outbox  []state.Outbox
	actions []state.Action
	facts   []state.Parameter
}

// size returns the number of items and the bytes.
func (a *attached) size() (items, bytes int) {
	for i := range a.actions {
		a.actions[i] = *fitted(&a.actions[i])
		bytes += sizeOf(&a.actions[i])
	}
	for i := range a.facts {
		bytes += 2 * len(a.facts[i].Value) // it is also stored as a change
	}
	return len(a.outbox) + len(a.facts), bytes
}

// pagesOf divides a commit. A prefix of the pages is a prefix of the rows, each with what belongs to
// it. Kept states, and entries, actions and facts that belong to none of the rows, come first: they
// may be stored without the rest. Parameters follow their entries, and come before the rows that have
// their values: if the rest is lost, the entry makes a sweep give the values to the rows. Requests
// come last, since they are complete only then.
func (s *store) pagesOf(in *state.Commit) []page {
	p := &pager{limits: &s.limits}
	releasing := in.Env != nil && in.Env.Releasing != 0
	if releasing {
		p.settings(in)
	}
	p.kept(in)
	of, others := attach(in)
	p.others(others)
	for _, parameter := range in.Parameters {
		if parameter.Of == "" {
			to := p.room(1, 2*len(parameter.Value))
			to.facts = append(to.facts, parameter)
		}
	}
	for i := range in.Rows {
		p.row(&in.Rows[i], of[in.Rows[i].ID])
		delete(of, in.Rows[i].ID)
	}
	for _, k := range in.DropParameters {
		to := p.room(1, 0)
		to.dropParameters = append(to.dropParameters, k)
	}
	for _, id := range in.DropOutbox {
		to := p.room(1, 0)
		to.dropOutbox = append(to.dropOutbox, id)
	}
	for _, n := range in.Forget {
		const items = 4 // a version may be large
		to := p.room(items, 0)
		to.forget = append(to.forget, n)
	}
	if !releasing {
		p.settings(in)
	}
	p.pages[0].first, p.pages[len(p.pages)-1].last = true, true
	return p.pages
}

// settings adds the environment, the version and the agents.
func (p *pager) settings(in *state.Commit) {
	items, bytes := 0, 0
	if in.Version != nil || len(in.Agents)+len(in.DropAgents) > 0 {
		items = 6 // they may be large
	}
	if in.Version != nil && in.Version.Contents != nil {
		bytes = len(in.Version.Contents.Sums) + len(in.Version.Contents.More)
	}
	p.room(items, bytes).settings = true
}

// kept adds kept states and removals of others.
func (p *pager) kept(in *state.Commit) {
	const items = 8 // to remove a large state
	for _, id := range in.DropKept {
		if !slices.ContainsFunc(in.Keep, func(k state.Kept) bool { return k.ID == id }) {
			to := p.room(min(items, p.limits.Page), 0)
			to.dropKept = append(to.dropKept, id)
		}
	}
	for _, k := range in.Keep {
		to := p.room(min(items, p.limits.Page), len(k.Sealed))
		to.keep = append(to.keep, k)
	}
}

// attach returns the parts of a commit by the row that they belong to, and the other parts.
func attach(in *state.Commit) (of map[resource.ID]*attached, others *attached) {
	of, others = make(map[resource.ID]*attached, len(in.Rows)), &attached{}
	for i := range in.Rows {
		of[in.Rows[i].ID] = &attached{}
	}
	at := func(id resource.ID) *attached {
		if a := of[id]; a != nil {
			return a
		}
		return others
	}
	for _, o := range in.AddOutbox {
		to := at(o.Of)
		to.outbox = append(to.outbox, o)
	}
	for _, a := range in.Actions {
		to := at(a.Resource)
		to.actions = append(to.actions, a)
	}
	for _, f := range in.Parameters {
		if f.Of != "" {
			to := at(f.Of)
			to.facts = append(to.facts, f)
		}
	}
	return of, others
}

// others adds what belongs to no row: facts before entries, which may be about them.
func (p *pager) others(o *attached) {
	for _, f := range o.facts {
		to := p.room(1, 2*len(f.Value))
		to.facts = append(to.facts, f)
	}
	for i := range o.actions {
		a := fitted(&o.actions[i])
		to := p.room(0, sizeOf(a))
		to.actions = append(to.actions, *a)
	}
	for _, e := range o.outbox {
		to := p.room(1, 0)
		to.outbox = append(to.outbox, e)
	}
}

// row adds a row with the parts that belong to it; nil: they were added with the same row before.
func (p *pager) row(r *state.Row, of *attached) {
	if of == nil { // twice in one commit: one transaction writes an item once
		of = &attached{}
		p.items = p.limits.Page
	}
	items, bytes := of.size()
	items, bytes = items+1, bytes+len(r.Body)+len(r.Waiting)+len(r.Notes)
	agent := r.Agent
	if !p.agents[agent] {
		items++ // of the index
	}
	to := p.room(items, bytes)
	p.agents[agent] = true
	to.rows = append(to.rows, *r)
	to.outbox = append(to.outbox, of.outbox...)
	to.actions = append(to.actions, of.actions...)
	to.facts = append(to.facts, of.facts...)
}

// Pages returns the commits that have, one after the other, the effect of the transactions of a
// commit, for simulators of the engine. A commit before the last one leaves the list of running
// resources as it is. If a row has conflicted, the caller has to remove DropOutbox, and the row from
// Checked.
func Pages(in *state.Commit, limits Limits) []state.Commit {
	pages := (&store{limits: limits}).pagesOf(in)
	out := make([]state.Commit, len(pages))
	for i := range pages {
		p := &pages[i]
		c := state.Commit{Guard: in.Guard, Plan: in.Plan, Until: in.Until, Rows: p.rows,
			AddOutbox: p.outbox, DropOutbox: p.dropOutbox, Actions: p.actions, Parameters: p.facts,
			DropParameters: p.dropParameters, Keep: p.keep, DropKept: p.dropKept, Forget: p.forget,
			Next: in.Next, SeenPlan: -1, Beside: in.Beside}
		if p.settings {
			c.Env, c.Version, c.Agents, c.DropAgents = in.Env, in.Version, in.Agents, in.DropAgents
		}
		if p.last {
			c.Checked, c.Epoch, c.WaveDone, c.SeenPlan = in.Checked, in.Epoch, in.WaveDone, in.SeenPlan
		} else if len(c.Next) == 0 {
			c.Next = []resource.ID{""} // is refused
		}
		out[i] = c
	}
	return out
}
