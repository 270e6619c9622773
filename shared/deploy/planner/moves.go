package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// moves are the resources that leave a version while another id in it manages their thing: see
// docs/design/things.md.
type moves struct {
	// from maps a resource of the version to the row that it takes over, as it was last read.
	from map[resource.ID]*state.Row
	// to maps a resource that leaves to the resource that manages its thing now.
	to map[resource.ID]resource.ID
}

// mover plans the moves of a release.
type mover struct{ *releaser }

// findMoves finds the moved resources, and plans the move of their facts.
func (r *mover) findMoves(ctx context.Context) error {
	rows, err := r.leavingRows(ctx)
	if err != nil || len(rows) == 0 {
		return err
	}
	left, err := r.leavers(ctx, rows)
	if err != nil {
		return err
	}
	m := &moves{map[resource.ID]*state.Row{}, map[resource.ID]resource.ID{}}
	targets := model.TargetsOf(r.v.Agents, true)
	for i := range r.after {
		res, err := resource.Decode(r.after[i].Body)
		if err != nil {
			return fault.Wrap(fault.Damaged, "read version", err)
		}
		from, shared := r.p.pl.Checker.Moved(left, res, targets)
		for _, old := range from {
			m.add(rows[old.ID], res.ID, r.rows[res.ID], shared)
		}
	}
	r.p.moves = *m
	if err := moveFacts(ctx, r.p); err != nil {
		return err
	}
	return r.underWay(ctx)
}

// add records that the resource id manages the thing of a resource that leaves; row is its stored
// row, or nil. An id that has no state of its own takes over the state. If many resources may have
// the thing, each gives its state to one other resource, or leaves as usual.
func (m *moves) add(from *state.Row, id resource.ID, row *state.Row, shared bool) {
	_, gone := m.to[from.ID]
	if gone || from.ID == id {
		return
	}
	takes := m.from[id] == nil && (row == nil || row.Orphaned || row.Removing ||
		slices.Contains(row.EarlierIDs(), from.ID))
	if takes {
		m.from[id] = from
	}
	if takes || !shared {
		m.to[from.ID] = id
	}
}

// leavingRows returns the rows of resources that leave by this release, or have left and are not
// purged yet.
func (r *mover) leavingRows(ctx context.Context) (map[resource.ID]*state.Row, error) {
	if len(r.after) == 0 {
		return nil, nil
	}
	out := map[resource.ID]*state.Row{}
	for id := range r.before {
		if row := r.rows[id]; !r.index[id] && row != nil && !row.Orphaned && !row.Removing {
			out[id] = row
		}
	}
	old, err := r.p.inForce(ctx)
	if err != nil {
		return nil, err
	}
	var removing []resource.ID
	for n, id := range old.IDs {
		if old.Removing[n] && !r.index[id] {
			removing = append(removing, id)
		}
	}
	for _, id := range r.removing {
		if !r.index[id] {
			removing = append(removing, id)
		}
	}
	slices.Sort(removing)
	rows, err := r.p.load(ctx, slices.Compact(removing))
	for id, row := range rows {
		if row.Removing {
			out[id] = row
		}
	}
	return out, err
}

// leavers returns the resources that leave.
func (r *mover) leavers(
	ctx context.Context, rows map[resource.ID]*state.Row,
) (model.Leaving, error) {
	known, err := r.p.pl.State.Agents(ctx, r.p.env.Name)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	agents := make([]resource.Agent, 0, len(known))
	for _, a := range known {
		agents = append(agents, a.Agent)
	}
	var out []*resource.Resource
	for _, id := range slices.Sorted(maps.Keys(rows)) {
		if res, err := resource.Decode(rows[id].Body); err == nil { // otherwise a run reports it
			out = append(out, res)
		}
	}
	// A resource is purged where its agent is by then.
	return r.p.pl.Checker.Leaving(out, model.TargetsOf(MergeAgents(agents, r.v.Agents), true)), nil
}

// moveFacts plans that the facts of moved resources become facts of the ids that take over.
func moveFacts(ctx context.Context, p *planning) error {
	if len(p.moves.from) == 0 {
		return nil
	}
	to := map[resource.ID]resource.ID{}
	for id, from := range p.moves.from {
		to[from.ID] = id
	}
	facts, err := p.pl.State.Parameters(ctx, p.env.Name, state.ParameterQuery{Facts: true})
	if err != nil {
		return fault.Wrap(fault.Unknown, "read facts", err)
	}
	p.store.set, p.store.unset = nil, nil
	for _, f := range facts {
		if id := to[f.Of]; id != "" {
			p.store.unset = append(p.store.unset, state.ParameterKey{Name: f.Name, Of: f.Of})
			f.Of = id
			p.store.set = append(p.store.set, f)
		}
	}
	return nil
}

// underWay marks moved rows of which a run may be under way, or a change has not been notified yet.
// The receivers of their events are notified when the thing is deployed next.
func (r *mover) underWay(ctx context.Context) error {
	m := &r.p.moves
	if len(m.from) == 0 {
		return nil
	}
	leases, err := r.p.pl.State.Leases(ctx, r.p.env.Name)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read leases", err)
	}
	told, err := r.p.pl.State.Outbox(ctx, r.p.env.Name, maxNotices)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read outbox", err)
	}
	open := map[resource.ID]bool{}
	for i := range leases {
		for _, id := range leases[i].Running {
			open[id] = true
		}
	}
	for i := range told {
		open[told[i].Of] = open[told[i].Of] || told[i].Kind == state.OutboxEvent
	}
	for id, from := range m.from {
		names := append([]resource.ID{from.ID}, from.EarlierIDs()...)
		if slices.ContainsFunc(names, func(id resource.ID) bool { return open[id] }) {
			row, _ := step.Next(*from, step.HolderLost{})
			m.from[id] = &row
		}
	}
	return nil
}

// maxNotices bounds the outbox entries that a release with moves reads.
const maxNotices = 10_000

// moveAway plans to remove the rows of resources that left while another id manages their thing.
func (r *mover) moveAway() {
	m := &r.p.moves
	for _, id := range slices.Sorted(maps.Keys(m.to)) {
		row := r.rows[id]
		for _, from := range m.from {
			if from.ID == id {
				row = from
			}
		}
		gone := *row
		r.p.apply(&gone, step.Forgotten{Moved: true})
	}
}

// keptIn reports whether a resource that leaves, and would be purged with all its contents,
// contains paths that resources of the version keep.
func (r *mover) keptIn(row *state.Row) bool {
	res, err := resource.Decode(row.Body)
	checker := r.p.pl.Checker
	if err != nil || !checker.Gathers(res) {
		return false
	}
	t, known := checker.Type(res)
	if !known {
		return false
	}
	m := &model.Model{Agents: MergeAgents(r.agents, r.v.Agents)}
	for _, other := range r.decoded {
		m.Resources = append(m.Resources, *other)
	}
	m.Resources = append(m.Resources, *res)
	checker.Gather(m)
	with := m.Resources[len(m.Resources)-1].Attributes
	return !resource.Equal(with, t.Gather(res.Attributes, nil))
}

// moved returns requirements with the new ids of moved resources.
func (m *moves) moved(ids []resource.ID) []resource.ID {
	out := slices.Clone(ids)
	for i, id := range out {
		if to, moved := m.to[id]; moved {
			out[i] = to
		}
	}
	return out
}

// movedIn reports whether a resource that leaves a set gives its thing to another resource in it.
func movedIn(s *bounded) bool {
	var leave []*resource.Resource
	for id, r := range s.was {
		if s.now[id] == nil {
			leave = append(leave, r)
		}
	}
	left := s.plan.pl.Checker.Leaving(leave, s.base.targets)
	return slices.ContainsFunc(s.put, func(r resource.Resource) bool {
		from, _ := s.plan.pl.Checker.Moved(left, &r, s.base.targets)
		return len(from) > 0
	})
}

// Move is a thing that has another id since a release.
type Move struct {
	From resource.ID `json:"from"`
	To   resource.ID `json:"to"`
}

// list returns the moves of state, in order of the new ids.
func (m *moves) list() []Move {
	var out []Move
	for _, id := range slices.Sorted(maps.Keys(m.from)) {
		out = append(out, Move{m.from[id].ID, id})
	}
	return out
}

// maxMoves bounds how many moves are named.
const maxMoves = 1_000

// first returns how many moves there are, and the first of them.
func (m *moves) first() (int, []Move) {
	list := m.list()
	return len(list), list[:min(len(list), maxMoves)]
}

// takeFirst returns the rows of the next commit, and the rows that a later commit removes: a moved row
// stays until the row that takes over is stored, so that no state is lost by a crash in between.
func (m *moves) takeFirst(rows, wait []state.Row) (now, last []state.Row) {
	if len(m.to) == 0 {
		return rows, nil
	}
	last = wait
	for i := range rows {
		if rows[i].Gone && m.to[rows[i].ID] != "" {
			last = append(last, rows[i])
		} else {
			now = append(now, rows[i])
		}
	}
	if len(now) == 0 {
		return last, nil
	}
	return now, last
}

// moveAgain plans moves again if another writer has changed their rows since they were read. It
// returns the rows to write for them; first is the revision of rows that were new.
func moveAgain(
	ctx context.Context, p *planning, first int64, conflicts []state.Row,
) (rows []state.Row, err error) {
	changed := map[resource.ID]*state.Row{}
	for i := range conflicts {
		changed[conflicts[i].ID] = &conflicts[i]
	}
	for _, id := range slices.Sorted(maps.Keys(p.moves.from)) {
		from := changed[p.moves.from[id].ID]
		if from == nil || from.Rev == 0 {
			continue
		}
		possibly := p.moves.from[id].PossiblyChanged
		now := *from
		now.PossiblyChanged = now.PossiblyChanged || possibly
		p.moves.from[id] = &now
		if changed[id] != nil || p.rows[id] == nil {
			continue // it is planned again with the other conflicts
		}
		row := *p.rows[id]
		if row.Rev++; row.Rev == 1 {
			row.Rev = first
		}
		p.reapply[id](&row)
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		err = moveFacts(ctx, p)
	}
	return rows, err
}

// dropNames removes the changed name attributes from the changes of a moved resource: they do not
// change the thing.
func (pl *Config) dropNames(w *PlannedChange, res *resource.Resource) {
	typ, known := pl.Checker.Type(res)
	if w.MovedFrom == "" || !known {
		return
	}
	for _, name := range typ.Namevars() {
		delete(w.Changes, name)
	}
	if len(w.Changes) == 0 {
		w.Action, w.Replace, w.CreateFirst, w.Changes = "none", false, false, nil
	}
}

// movedEntries returns the moves between two versions: the old id by the new one.
func (pl *Config) movedEntries(
	before map[resource.ID]version.Entry, after []version.Entry, agents []resource.Agent,
) (map[resource.ID]resource.ID, error) {
	stays, targets := make(map[resource.ID]bool, len(after)), model.TargetsOf(agents, true)
	for i := range after {
		stays[after[i].ID] = true
	}
	var leave []*resource.Resource
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if stays[id] {
			continue
		}
		en := before[id]
		res, err := resource.Decode(en.Body)
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		leave = append(leave, res)
	}
	left := pl.Checker.Leaving(leave, targets)
	out, used := map[resource.ID]resource.ID{}, map[resource.ID]bool{}
	for i := range after {
		if _, had := before[after[i].ID]; had || len(left) == 0 {
			continue
		}
		res, err := resource.Decode(after[i].Body)
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		from, _ := pl.Checker.Moved(left, res, targets)
		for _, old := range from {
			if !used[old.ID] {
				out[res.ID], used[old.ID] = old.ID, true
				break
			}
		}
	}
	return out, nil
}

// without returns nodes without the moved ones; other nodes require the new ids instead.
func (m *moves) without(nodes []version.Node) []version.Node {
	if len(m.to) == 0 {
		return nodes
	}
	nodes = slices.DeleteFunc(nodes, func(n version.Node) bool { return m.to[n.ID] != "" })
	for i := range nodes {
		nodes[i].Requires = m.moved(nodes[i].Requires)
	}
	return nodes
}
