package dynamo

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Commit implements state.State. If it has too much for one transaction, it is a series of them, and
// a process that ends between two leaves a prefix.
func (s *State) Commit(ctx context.Context, env string, in state.Commit) (state.Committed, error) {
	if in.Guard.Key == "" {
		return state.Committed{}, fault.New(fault.Fenced, "commit", "no lease is given")
	}
	c := &commit{s: s, env: env, in: &in, pages: s.pagesOf(&in)}
	for i := range c.pages {
		if err := s.contend(ctx, func() error { return c.write(ctx, &c.pages[i]) }); err != nil {
			return state.Committed{}, err
		}
	}
	if in.WaveDone != 0 {
		s.dropChecked(ctx, env, in.Guard.Key, in.WaveDone)
	}
	return c.conclude(ctx)
}

// commit is one Commit.
type commit struct {
	s     *State
	env   string
	in    *state.Commit
	pages []page

	conflicts []state.Row
	lease     *lease // as the last page has written it
	listed    bool   // the last page has listed Next as running
	head      *head  // as the last page has written it; nil: no page has
}

// write writes a page under the lease. It reads the items that the page replaces, and writes all on
// the condition that they are unchanged.
func (c *commit) write(ctx context.Context, p *page) error {
	d := &draft{commit: c, page: p, tally: tally{}, removed: map[key]bool{}}
	if err := d.read(ctx); err != nil {
		return err
	}
	for _, step := range []func() error{
		d.environment, d.rows, d.settings, d.lists, d.kept, d.acted, d.writeLease, d.writeHead,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := c.s.write(ctx, d.ops...); err != nil {
		return err
	}
	c.conflicts = append(c.conflicts, d.conflicts...)
	c.s.live.wrote(c.env, c.in.Guard.Key, d.written)
	c.lease = d.lease
	if c.head = d.head; d.changed {
		c.head.seq++
		c.s.sawIdleEpoch(c.head)
	} else {
		c.head = nil
	}
	return nil
}

// draft is the transaction of a page.
type draft struct {
	*commit
	page    *page
	got     map[key]item
	lease   *lease
	head    *head // nil: it is not read
	changed bool  // the head is written

	conflicts []state.Row
	written   []state.Row // as they were given
	tally     tally
	removed   map[key]bool
	ops       []op
}

// put adds the writes that replace a stored item that was read.
func (d *draft) put(k key, i item) {
	old := d.got[k]
	d.ops = append(d.ops, d.s.replace(old, put(k, seqOf(old), i))...)
}

// add adds the write of a new item, or of one that was not read.
func (d *draft) add(k key, i item) {
	d.ops = append(d.ops, d.s.replace(nil, op{key: k, item: i, always: true})...)
}

// remove adds the removal of a stored item that was read, if it exists.
func (d *draft) remove(k key) {
	if old := d.got[k]; old != nil && !d.removed[k] {
		d.removed[k] = true
		d.ops = append(d.ops, d.s.replace(old, op{key: k, seq: seqOf(old)})...)
	}
}

// read reads the lease and the items that the page replaces.
func (d *draft) read(ctx context.Context) error {
	in, p, guard := d.in, d.page, leaseKeyOf(d.env, d.in.Guard.Key)
	keys := []key{guard}
	if in.Plan || in.Env != nil && (p.first || p.settings) {
		keys = append(keys, headKey(d.env))
	}
	if in.Version != nil && (p.first || p.settings) {
		keys = append(keys, versionKey(d.env, in.Version.Number))
	}
	if p.settings && len(in.Agents)+len(in.DropAgents) > 0 {
		keys = append(keys, agentsKey(d.env))
	}
	for i := range p.rows {
		keys = append(keys, rowKey(d.env, p.rows[i].ID))
	}
	for i := range p.facts {
		keys = append(keys, parameterKey(d.env,
			state.ParameterKey{Name: p.facts[i].Name, Of: p.facts[i].Of}))
	}
	for _, k := range p.dropParameters {
		keys = append(keys, parameterKey(d.env, k))
	}
	for _, n := range p.forget {
		keys = append(keys, versionKey(d.env, n))
	}
	for i := range p.keep {
		keys = append(keys, keptKey(d.env, p.keep[i].ID))
	}
	keys = append(keys, keptKeys(d.env, p.dropKept)...)
	var err error
	if d.got, err = d.s.store.get(ctx, keys...); err != nil {
		return err
	}
	if d.lease, err = d.s.leaseOf(in.Guard.Key, d.got[guard]); err != nil {
		return err
	}
	if d.lease.holder == "" || d.lease.fence != in.Guard.Fence {
		return fault.New(fault.Fenced, "commit", "the lease of %s was taken over", in.Guard.Key)
	}
	if slices.Contains(keys, headKey(d.env)) {
		d.head, err = d.s.headOf(d.env, d.got[headKey(d.env)])
	}
	return err
}

// environment rejects the commit, at its first page and at the page that writes them, if its
// environment or its version are not as it expects.
func (d *draft) environment() error {
	in, p := d.in, d.page
	if in.Plan {
		d.head.Plan++
		d.changed = true
	}
	if in.Env != nil && (p.first || p.settings) {
		next := *d.head
		if err := next.replace(in.Env); err != nil {
			return err
		}
		if p.settings {
			d.head, d.changed = &next, true
		}
	}
	if in.Version != nil && d.got[versionKey(d.env, in.Version.Number)] != nil {
		return fault.New(fault.Conflict, "write version", "version %d exists", in.Version.Number)
	}
	return nil
}

// rows writes the rows whose revisions fit, and the index items of the active ones.
func (d *draft) rows() error {
	var written []state.Row
	for i := range d.page.rows {
		r := d.page.rows[i]
		k := rowKey(d.env, r.ID)
		now, err := d.s.row(d.got[k])
		switch {
		case err != nil:
			return err
		case now == nil && r.Rev != 0:
			d.conflicts = append(d.conflicts, state.Row{ID: r.ID})
			continue
		case now != nil && r.Rev != now.Rev:
			d.conflicts = append(d.conflicts, *now)
			continue
		}
		if now != nil {
			d.tally.count(now, -1)
			d.written = append(d.written, d.page.rows[i])
			if !d.in.Plan {
				r.Body = now.Body // a result never changes the intent
			}
		}
		if r.Gone {
			d.remove(k)
			continue
		}
		if r.Rev++; now == nil {
			r.Rev = d.in.FirstRev()
		}
		d.tally.count(&r, 1)
		old := d.got[k]
		d.ops = append(d.ops,
			d.s.replace(old, op{key: k, item: d.s.rowItem(d.env, &r), seq: seqOf(old)})...)
		written = append(written, r)
	}
	for agent, entries := range entriesOf(written) {
		k := numbered(indexPart(d.env), indexBegin(agent)+d.in.Guard.Key, d.lease.seq+1)
		d.add(k, d.s.indexItem(k, entries))
	}
	return nil
}

// settings writes the version and the agents.
func (d *draft) settings() error {
	in := d.in
	for _, n := range d.page.forget {
		d.remove(versionKey(d.env, n))
	}
	if !d.page.settings {
		return nil
	}
	if in.Version != nil {
		k := versionKey(d.env, in.Version.Number)
		i, err := d.s.setJSON(k.item(), in.Version)
		if err != nil {
			return err
		}
		d.put(k, i)
	}
	if len(in.Agents)+len(in.DropAgents) == 0 {
		return nil
	}
	k := agentsKey(d.env)
	var list []resource.Agent
	if err := d.s.readJSON(d.got[k], &list); err != nil {
		return err
	}
	all := map[string]resource.Agent{}
	for _, a := range list {
		all[a.Name] = a
	}
	for _, name := range in.DropAgents {
		delete(all, name)
	}
	for _, a := range in.Agents {
		all[a.Name] = a
	}
	list = slices.SortedFunc(maps.Values(all),
		func(a, b resource.Agent) int { return strings.Compare(a.Name, b.Name) })
	i, err := d.s.setJSON(k.item(), list)
	if err == nil {
		d.put(k, i)
	}
	return err
}

// lists writes entries of the outbox, parameters and facts. Entries are removed if no row of the
// whole commit conflicts.
func (d *draft) lists() error {
	conflicts := len(d.commit.conflicts)+len(d.conflicts) > 0
	alone := d.page.first && d.page.last
	drop := map[string]bool{}
	for _, id := range d.page.dropOutbox {
		drop[id] = !conflicts
	}
	added := map[string]state.Outbox{}
	for _, o := range d.page.outbox {
		if !(alone && drop[o.ID]) {
			added[o.ID] = o
		}
	}
	for _, id := range slices.Sorted(maps.Keys(added)) {
		i, err := d.s.setJSON(outboxKey(d.env, id).item(), added[id])
		if err != nil {
			return err
		}
		d.add(outboxKey(d.env, id), i)
	}
	for _, id := range slices.Sorted(maps.Keys(drop)) {
		if _, is := added[id]; drop[id] && !is {
			d.ops = append(d.ops, op{key: outboxKey(d.env, id), always: true})
		}
	}
	return d.parameters()
}

// parameters writes parameters and facts, and removes others.
func (d *draft) parameters() error {
	dropped := map[key]bool{}
	for _, k := range d.page.dropParameters {
		dropped[parameterKey(d.env, k)] = true
		d.remove(parameterKey(d.env, k))
	}
	values := map[key]state.Parameter{}
	for _, f := range d.page.facts {
		values[parameterKey(d.env, state.ParameterKey{Name: f.Name, Of: f.Of})] = f
	}
	for k, f := range values {
		if dropped[k] {
			continue
		}
		i, err := d.s.setJSON(k.item(), f)
		if err != nil {
			return err
		}
		d.put(k, i)
	}
	return nil
}

// kept writes kept states, and removes others.
func (d *draft) kept() error {
	for i := range d.page.keep {
		k := &d.page.keep[i]
		d.put(keptKey(d.env, k.ID), d.s.keptItem(d.env, k))
	}
	for _, id := range d.page.dropKept {
		d.remove(keptKey(d.env, id))
	}
	return nil
}

// acted writes the actions and changes of parameters that the log has to take over.
func (d *draft) acted() error {
	a := acted{Actions: d.page.actions}
	for _, f := range d.page.facts {
		a.Parameters = append(a.Parameters, ParameterChange{Parameter: f})
	}
	for _, k := range d.page.dropParameters {
		a.Parameters = append(a.Parameters, ParameterChange{Gone: true, Parameter: state.Parameter{
			Name: k.Name, Of: k.Of, Updated: d.s.host.Now().UTC()}})
	}
	if len(a.Parameters) > 0 {
		d.lease.params++
	}
	if d.s.actions.log == nil {
		a.Parameters = nil // nothing reads them
	}
	if len(a.Actions)+len(a.Parameters) == 0 {
		return nil
	}
	k := numbered(actionPart(d.env), d.in.Guard.Key, d.lease.seq+1)
	i, err := d.s.setJSON(k.item(), a)
	if err == nil {
		d.add(k, i)
	}
	return err
}

// writeLease writes the lease, and what counts only if the commit is whole.
func (d *draft) writeLease() error {
	l, in := d.lease, d.in
	for c, n := range d.tally {
		l.tally.add(c, n)
	}
	if in.Until.After(l.until) {
		l.until = in.Until
	}
	if d.page.last {
		conflicts := slices.Concat(d.commit.conflicts, d.conflicts)
		d.running(conflicts)
		l.wave = max(l.wave, in.WaveDone)
		if ids := state.Counted(in.Checked, conflicts); len(ids) > 0 {
			k := numbered(checkedPart(d.env), in.Guard.Key, l.seq+1)
			d.add(k, d.s.checkedItem(k, in.Guard.Key, in.Epoch, ids))
		}
	}
	d.ops = append(d.ops, l.put(d.s.store, d.env)...)
	return nil
}

// running updates the lists of running resources. Next is stored beside the former list until it is
// known whether it was accepted. It is refused here if the head that was read refuses it.
func (d *draft) running(conflicts []state.Row) {
	l, next := d.lease, d.in.Next
	d.listed = false
	ran := d.s.ran(d.env, l)
	switch {
	case len(next) == 0:
		l.running, l.before = append(state.StillRunning(ran, conflicts), d.in.Beside...), nil
	case d.in.SeenPlan < 0 || d.head != nil && d.refuses(d.head):
		l.running, l.before = ran, nil
	default:
		l.running, l.before, d.listed = d.in.Starts(), ran, true
	}
}

// refuses reports whether a head refuses Next.
func (c *commit) refuses(h *head) bool {
	return h.Plan != c.in.SeenPlan || h.stopped(c.in.Guard.Key)
}

// writeHead writes the head if it has changed.
func (d *draft) writeHead() error {
	if !d.changed {
		return nil
	}
	d.head.QuietTo, d.head.Tentative = time.Time{}, false
	o, err := d.head.put(d.s.store)
	d.ops = append(d.ops, o)
	return err
}

// conclude returns the result of the commit, and decides whether Next may start. It reads the head
// after the lease lists Next as running. So it sees every pause and every schedule that was finished
// before.
func (c *commit) conclude(ctx context.Context) (state.Committed, error) {
	out := state.Committed{Conflicts: c.conflicts}
	h := c.head
	if h == nil || len(c.in.Next) > 0 {
		var err error
		if h, err = c.s.readHead(ctx, c.env); err != nil {
			return out, err
		}
	}
	if !h.QuietTo.IsZero() {
		if err := c.s.wake(ctx, c.env); err != nil {
			return out, err
		}
	}
	out.PlanSeq, out.Paused = h.Plan, h.stopped(c.in.Guard.Key)
	if !c.listed {
		return out, nil
	}
	if out.Started = !c.refuses(h); out.Started {
		c.s.accept(c.env, c.lease, c.lease.seq+1)
		return out, nil
	}
	return out, c.refuse(ctx)
}

// refuse withdraws Next. Another write of the lease may come first: if it is by the same holder, the
// list is withdrawn from that.
func (c *commit) refuse(ctx context.Context) error {
	_, err := c.s.changeLease(ctx, c.env, c.in.Guard.Key, func(l *lease) error {
		if l.fence != c.in.Guard.Fence || l.holder == "" || !slices.Equal(l.running, c.in.Starts()) ||
			!slices.Equal(l.before, c.lease.before) {
			return errNothing // another process wrote the list since, or it was refused before
		}
		l.running, l.before = l.before, nil
		return nil
	})
	if err == errNothing {
		return nil
	}
	return err
}
