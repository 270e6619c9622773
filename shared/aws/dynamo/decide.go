package dynamo

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The following methods are the steps of commit.prepare. Each decides a part of the writes.

// changeEnv prepares the head.
func (d *draft) changeEnv(ctx context.Context) error {
	if d.in.Env == nil && !d.in.Plan && d.forward == nil {
		return nil
	}
	if err := d.takeHead(ctx); err != nil {
		return err
	}
	if d.in.Env != nil {
		if err := d.head.replace(*d.in.Env); err != nil {
			return err
		}
	}
	if d.in.Plan {
		d.head.plan++
	}
	return nil
}

// takeHead adds the head to the writes of the commit. It uses the cached head at first. The write
// is conditional on that head, so an outdated head only costs another try.
func (d *draft) takeHead(ctx context.Context) error {
	if d.head != nil {
		return nil
	}
	var h *head
	var err error
	if d.headNow {
		h, err = d.s.readHead(ctx, d.env)
	} else {
		h, d.headNow, err = d.s.knownHead(ctx, d.env)
	}
	if err != nil {
		return err
	}
	h.quietUntil, h.tentative = time.Time{}, false
	d.head = h
	return nil
}

// locate finds the rows of the commit in their lanes. It searches all other lanes that may hold the
// missing rows.
func (d *draft) locate(ctx context.Context) error {
	byLane := map[string][]resource.ID{}
	for i := range d.in.Rows {
		if r := &d.in.Rows[i]; r.Lane != "" { // a row to remove may be given without its lane
			byLane[keyOf(r.Lane)] = append(byLane[keyOf(r.Lane)], r.ID)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(byLane)) {
		if err := d.find(ctx, key, byLane[key]); err != nil {
			return err
		}
	}
	var missing []*state.Row
	for i := range d.in.Rows {
		if r := &d.in.Rows[i]; d.where[r.ID].key == "" {
			missing = append(missing, r)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	lanes, err := d.all(ctx)
	if err != nil {
		return err
	}
	for _, rec := range lanes {
		if rec.total() == 0 {
			continue
		}
		lane, _ := laneOf(rec.key)
		agent := state.AgentOf(lane)
		var ids []resource.ID
		for _, r := range missing {
			if r.Lane != lane && (rec.foreign || r.ID.Agent() == agent) {
				ids = append(ids, r.ID)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if err := d.find(ctx, rec.key, ids); err != nil {
			return err
		}
	}
	return d.rereadMissing(missing)
}

// rereadMissing rereads all lanes, as of one moment, if no lane holds a row that existed. The row
// may have moved from a lane that was not yet read to a lane that was read already.
func (d *draft) rereadMissing(missing []*state.Row) error {
	gone := func(r *state.Row) bool { return r.Rev != 0 && d.where[r.ID].key == "" }
	if d.atOnce || !slices.ContainsFunc(missing, gone) {
		return nil
	}
	return d.rereadAtOnce()
}

// find looks for rows in one tablet.
func (d *draft) find(ctx context.Context, key string, ids []resource.ID) error {
	rec, err := d.record(ctx, key)
	if err != nil || rec.total() == 0 {
		return err
	}
	return d.s.withImage(ctx, d.env, rec, func(m *image) error {
		if m.seq != rec.seq {
			return d.outdated(key)
		}
		for _, id := range ids {
			if r, has := m.row(id); has {
				d.where[id] = place{key, &r}
			}
		}
		return nil
	})
}

// rows decides about each row of the commit.
func (d *draft) rows(ctx context.Context) error {
	perLane := map[string]int{}
	for i := range d.in.Rows {
		perLane[d.in.Rows[i].Lane]++
	}
	for i := range d.in.Rows {
		r := d.in.Rows[i]
		at := d.where[r.ID]
		if at.rev() != r.Rev {
			d.conflicts = append(d.conflicts, conflictOf(r.ID, at))
			continue
		}
		if at.key == "" && r.Gone {
			continue
		}
		if at.key != "" && !d.in.Plan {
			r.Body = at.row.Body // a result never changes the intent
		}
		if d.forward != nil {
			d.forward.row(at.key, r, d.in.FirstRev())
			continue
		}
		if at.key != "" && (r.Gone || at.key != keyOf(r.Lane)) {
			if err := d.remove(ctx, at, r.Gone); err != nil {
				return err
			}
			d.where[r.ID] = place{}
		}
		if r.Gone {
			continue
		}
		e, err := d.edit(ctx, keyOf(r.Lane))
		if err != nil {
			return err
		}
		var old *state.Row
		if at.key == keyOf(r.Lane) {
			old = at.row
		}
		if e.rows == nil { // there may be very many rows
			e.rows = make([]rowcodec.Stored, 0, perLane[r.Lane])
		}
		if r.Rev++; at.key == "" {
			r.Rev = d.in.FirstRev()
		}
		e.put(old, r)
		d.where[r.ID] = place{at.key, &e.rows[len(e.rows)-1].Row}
	}
	return nil
}

// remove removes a row from its tablet. If the row moves to another tablet, the commit changes the
// head: see unmoved.
func (d *draft) remove(ctx context.Context, at place, gone bool) error {
	if !gone {
		if err := d.takeHead(ctx); err != nil {
			return err
		}
	}
	e, err := d.edit(ctx, at.key)
	if err != nil {
		return err
	}
	e.remove(at.row)
	return nil
}

func conflictOf(id resource.ID, at place) state.Row {
	if at.key == "" {
		return state.Row{ID: id}
	}
	return *at.row
}

// mayDrop reports whether the commit drops outbox entries. It drops none while a row conflicts. If
// the commit is rolled forward, conflicts are known only at the end: see complete.
func (d *draft) mayDrop() bool { return len(d.in.DropOutbox) > 0 && len(d.conflicts) == 0 }

// drops finds the tablets that hold the outbox entries to drop.
func (d *draft) drops(ctx context.Context) error {
	if !d.mayDrop() {
		return nil
	}
	lanes, err := d.all(ctx)
	if err != nil {
		return err
	}
	for _, r := range lanes {
		if r.outbox == 0 {
			continue
		}
		var have []string
		if err := d.s.withImage(ctx, d.env, r, func(m *image) error {
			if m.seq != r.seq {
				return d.outdated(r.key)
			}
			for _, id := range d.in.DropOutbox {
				if _, ok := m.outbox[id]; ok {
					have = append(have, id)
				}
			}
			return nil
		}); err != nil {
			return err
		}
		if len(have) == 0 {
			continue
		}
		if d.forward != nil {
			p := d.forward.part(r.key)
			p.drop = append(p.drop, have...)
			continue
		}
		e, err := d.edit(ctx, r.key)
		if err != nil {
			return err
		}
		e.drop = have
		e.next.outbox -= len(have)
	}
	return nil
}

// lease prepares the guard's record: the lease, and the parts of the commit that have no other
// record.
func (d *draft) lease(ctx context.Context) error {
	e := d.edits[d.guard]
	n := e.next
	if err := d.running(ctx, e); err != nil {
		return err
	}
	if d.in.Until.After(n.until) {
		n.until = d.in.Until
	}
	n.wave = max(n.wave, d.in.WaveDone)
	e.waveDone, e.epoch, e.actions = d.in.WaveDone, d.in.Epoch, d.in.Actions
	e.checked = state.Counted(d.in.Checked, d.conflicts)
	if d.forward != nil {
		d.forward.guard, d.forward.epoch, d.forward.checked = d.guard, e.epoch, e.checked
		e.checked = nil
	}
	if len(d.in.AddOutbox) == 0 {
		return nil
	}
	e.add = d.in.AddOutbox
	return d.s.withImage(ctx, d.env, e.rec, func(m *image) error {
		if m.seq != e.rec.seq {
			return d.outdated(d.guard)
		}
		fresh := map[string]bool{}
		for _, o := range d.in.AddOutbox {
			if _, have := m.outbox[o.ID]; !have {
				fresh[o.ID] = true
			}
		}
		n.outbox += len(fresh)
		if !d.mayDrop() {
			return nil
		}
		for _, id := range d.in.DropOutbox { // entries that are added and dropped in one commit
			switch {
			case !fresh[id]:
			case d.forward != nil:
				p := d.forward.part(d.guard)
				p.drop = append(p.drop, id)
			default:
				n.outbox--
				e.drop = append(e.drop, id)
			}
		}
		return nil
	})
}

// running prepares the lists of running rows: Next and, until Next is accepted, the rows that ran
// before. Without Next it keeps the rows that ran and are not known to be recorded. These are
// conflicting rows and, while the commit is rolled forward, all rows of the commit.
func (d *draft) running(ctx context.Context, e *edit) error {
	n := e.next
	n.running, n.before, d.open = idList{}, idList{}, nil
	open := d.conflicts
	if d.forward != nil {
		open = d.in.Rows
	}
	if len(d.in.Next) == 0 && len(open) == 0 {
		return nil
	}
	ran, err := d.ran(ctx, e.rec)
	if isLost(err) {
		ran, err = d.derived(ctx, e.rec)
	}
	if fault.Is(err, fault.NotFound) {
		return d.outdated(d.guard)
	}
	if err != nil {
		return err
	}
	if len(d.in.Next) == 0 {
		d.open = state.StillRunning(ran, open)
		n.running, err = d.s.keepIDs(ctx, d.open)
		return err
	}
	if n.before, err = d.s.keepIDs(ctx, ran); err != nil {
		return err
	}
	n.running, err = d.s.keepIDs(ctx, d.in.Next)
	return err
}

// ran returns the rows that may be running. The rows that ran before them matter only until it is
// known whether the running list was accepted. This process knows that for the lists that it wrote.
func (d *draft) ran(ctx context.Context, rec *record) ([]resource.ID, error) {
	if have, ok := d.s.startedBy(tabletKey{d.env, d.guard}); ok && have.fence == rec.fence &&
		have.ids.is(rec.running) {
		return d.s.idsOf(ctx, rec.running)
	}
	return d.s.ran(ctx, rec)
}

// derived returns the rows that may be running if the list of them is lost. They are the rows of
// the commit, because a commit contains all rows that have run. If the record has changed, derived
// returns a fault.NotFound.
func (d *draft) derived(ctx context.Context, rec *record) ([]resource.ID, error) {
	now, err := d.s.readRecord(ctx, d.env, d.guard)
	if err != nil {
		return nil, err
	}
	if !now.running.is(rec.running) || !now.before.is(rec.before) {
		return nil, fault.New(fault.NotFound, "commit", "what runs was written anew")
	}
	out := slices.Clone(d.in.Next)
	for i := range d.in.Rows {
		if id := d.in.Rows[i].ID; !slices.Contains(d.in.Next, id) {
			out = append(out, id)
		}
	}
	return out, nil
}

func (d *draft) parameters(ctx context.Context) error {
	if len(d.in.Parameters)+len(d.in.DropParameters) == 0 {
		return nil
	}
	e, err := d.edit(ctx, paramsKey)
	if err != nil {
		return err
	}
	e.params = d.in.Parameters
	for _, k := range d.in.DropParameters {
		e.without = append(e.without, droppedParameter{k, d.s.host.Now().UTC()})
	}
	return nil
}

// recount completes the summaries.
func (d *draft) recount(ctx context.Context) error {
	for _, e := range byKey(d.edits) {
		if !e.dueOut {
			continue
		}
		if err := d.s.withImage(ctx, d.env, e.rec, func(m *image) error {
			if m.seq != e.rec.seq {
				return d.outdated(e.rec.key)
			}
			e.recount(m)
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// draft holds the writes of a commit, as one call of prepare decided them.
type draft struct {
	*commit
	head      *head            // if the commit changes it
	edits     map[string]*edit // by key of the tablet
	where     map[resource.ID]place
	conflicts []state.Row
	more      []put         // items that are written in the same transaction
	objects   []entry       // unreferenced once the commit is done
	open      []resource.ID // without Next: rows that stay in the running list
}

// place is where a row was found.
type place struct {
	key string     // of the tablet; "": not found
	row *state.Row // as stored, immutable; nil: not found
}

func (p place) rev() int64 {
	if p.row == nil {
		return 0
	}
	return p.row.Rev
}

// edit returns the edit of a tablet.
func (d *draft) edit(ctx context.Context, key string) (*edit, error) {
	if e := d.edits[key]; e != nil {
		return e, nil
	}
	rec, err := d.record(ctx, key)
	if err != nil {
		return nil, err
	}
	e := newEdit(rec)
	d.edits[key] = e
	return e, nil
}
