package engine

import (
	"math/rand/v2"
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// kept holds the constraints of an export apart from its documents: an expected plan, or limits.
type kept struct {
	limits *deploy.Limits
	plan   bool          // a plan is made first, and the export expects it
	reads  bool          // the plan reads reality
	gap    time.Duration // time between the plan and the export
	once   time.Duration // repetition after this time although carried out; 0: none
}

// keeps makes exports of one plan in four expect a plan, or sets limits.
func (d *drawer) keeps(rng *rand.Rand) {
	if rng.IntN(4) != 0 && (d.focus == nil || !d.focus.kept) {
		return
	}
	for i := range d.p.Ops {
		o := &d.p.Ops[i]
		if o.kind != opExport || o.noRelease || rng.IntN(2) == 0 {
			continue
		}
		if rng.IntN(3) == 0 {
			o.limits = &deploy.Limits{Delete: rng.IntN(3) - 1, Leave: rng.IntN(3) - 1}
			continue
		}
		o.plan, o.reads = true, rng.IntN(2) == 0
		o.gap = []time.Duration{time.Millisecond, 50 * time.Millisecond, time.Second,
			time.Minute}[rng.IntN(4)]
		o.retryFailed, o.check = !o.reads, o.reads
		if rng.IntN(3) == 0 {
			o.once = []time.Duration{time.Second, time.Minute}[rng.IntN(2)]
		}
	}
}

// planFirst makes a plan for an export that expects one. It returns false if the export expects
// none.
func planFirst(r *run, book *exportBook) bool {
	o := book.op
	p := r.process()
	if !o.plan || p == nil {
		return false
	}
	r.task(p, "Preview", func(t *task) error {
		t.books.dry = true
		moves := r.moves
		out, err := p.engine.Preview(taskContext{t}, env, exportOf(r, o),
			deploy.CompareOptions{Read: o.reads})
		if err != nil || p.dead {
			if refusable(o, err) || len(o.partial) > 0 || o.refused() || strandsAgent(r, o) {
				return nil
			}
			return err
		}
		r.happened("plan made")
		book.expect, book.planned = out.State, map[resource.ID]deploy.PlannedChange{}
		for i := range out.Planned {
			book.planned[out.Planned[i].ID] = out.Planned[i]
		}
		if book.moves = moves; moves != r.moves {
			book.moves = -1 // the plan was not made at a single moment
		}
		r.sched.at(r.sched.now+o.gap, func() { tryExport(r, book, o.tries) })
		return nil
	})
	return true
}

// onceMore applies a plan again some time after it was carried out, as by a user who has not seen
// that.
func onceMore(r *run, book *exportBook) {
	if book.expect == "" || book.op.once == 0 || book.repeated || r.ended {
		return
	}
	book.repeated = true
	r.happened("plan applied again")
	r.sched.at(r.sched.now+book.op.once, func() { tryExport(r, book, 1) })
}

// checkRefused checks an export that was refused because of its expected plan or its limits. It
// must have changed nothing. Either the state must have changed since the plan, or a limit was
// exceeded.
func checkRefused(r *run, t *task, book *exportBook) {
	o := book.op
	r.happened("export refused as not expected")
	switch {
	case o.limits == nil && book.expect == "":
		r.violate("kept", "%s is refused, and nothing was expected of it", t.name)
	case t.books.wrote > 0:
		r.violate("kept", "%s is refused, and has written", t.name)
	case o.limits == nil && book.moves == r.moves && r.plan.rates[kindSecrets] == 0:
		r.violate("kept", "%s is refused, and nothing has moved since its plan was made", t.name)
	}
}

// mayBeRefused reports whether an error is that of an unexpected export.
func mayBeRefused(err error) bool { return fault.Is(err, fault.Refused) }

// checkKept checks the writes of an export with an expected plan or limits. Writes that complete
// the release of another task are excluded.
func checkKept(r *run, t *task, c *state.Commit, out *state.Committed, b before) {
	book := t.books.export
	if book == nil || b.env.Releasing != 0 && t.books.wrote == 0 {
		return
	}
	t.books.wrote++
	written(c, out, func(row *state.Row) {
		was, had := b.rows[row.ID]
		if book.op.limits != nil {
			checkLimits(r, t, book.op, row, &was, had)
		}
		if book.expect != "" {
			checkListed(r, t, book, row, &was, had)
		}
	})
	if book.expect != "" && b.env.Applied == book.expect && b.env.Released != b.env.Last {
		r.violate("kept",
			"%s carries out its plan once more, though version %d was put in force since", t.name,
			b.env.Released)
	}
	if book.expect != "" && t.books.wrote == 1 && b.env.Applied != book.expect {
		r.happened("expected plan applied")
		checkAllDone(r, t, book, out)
	}
}

// checkLimits counts the removals of an export.
func checkLimits(r *run, t *task, o *op, row, was *state.Row, had bool) {
	gone := had && isGone(was)
	for _, id := range row.EarlierIDs() { // its row is removed later
		if former := r.state.read(env).rows[id]; !had && former != nil {
			gone = gone || isGone(former)
		}
	}
	if row.Removing && !was.Removing || !row.Removing && purges(row.Body) && !gone {
		t.books.deletes[row.ID] = true
	}
	if row.Removing && !was.Removing || row.Orphaned && !was.Orphaned {
		t.books.leaves[row.ID] = true
	}
	n, m := len(t.books.deletes), len(t.books.leaves)
	if l := o.limits; l.Delete >= 0 && n > l.Delete || l.Leave >= 0 && m > l.Leave {
		r.violate("kept", "%s deletes %d and lets %d leave, and its limits are %+v", t.name, n, m,
			*l)
	}
}

// isGone reports whether the object of a row is deleted, as found by a comparison, or to be checked.
func isGone(row *state.Row) bool {
	return purged(row.Body) && (asWanted(row) || purges(row.Body))
}

// purges reports whether an intent deletes its object.
func purges(body []byte) bool {
	res, err := resource.Decode(body)
	return err == nil && res.Purged && !res.ReportOnly
}

// purged reports whether an intent requires that its object does not exist.
func purged(body []byte) bool {
	res, err := resource.Decode(body)
	return err == nil && res.Purged
}

// checkListed checks that an export's change of a row is in the plan.
func checkListed(r *run, t *task, book *exportBook, row, was *state.Row, had bool) {
	w, listed := book.planned[row.ID]
	changed := !had || row.Hash != was.Hash || row.Orphaned != was.Orphaned ||
		row.Removing != was.Removing
	deletes, leaves := row.Removing && !was.Removing, row.Orphaned && !was.Orphaned
	switch {
	case !changed:
	case purges(row.Body) && purged(was.Body) && asWanted(was) && (listed || book.op.target != ""):
		// The object does not exist and stays so, even if it was only compared. A requirement of a
		// target is listed only if it changes.
	// it was orphaned, and returns with its former intent
	case was.Orphaned && was.Deployed == row.Hash && listed:
	case !listed, !book.op.reads && w.Action == "none" && !w.Failed && w.Reason == "" &&
		asWanted(was):
		r.violate("kept", "%s changes %s, which its plan does not list (%+v)", t.name, row.ID, w)
	// it stays blocked until a value is known
	case row.Block() == state.BlockedYes && w.Action == "undefined":
	case deletes && book.op.reads && w.Action == "none": // it does not exist
	case deletes && w.Action != "delete", leaves && w.Action != "orphan":
		r.violate("kept", "%s has %s leave (removing: %v), and its plan says %s", t.name, row.ID,
			row.Removing, w.Action)
	}
}

// checkAllDone checks that an export makes all changes of its plan.
func checkAllDone(r *run, t *task, book *exportBook, out *state.Committed) {
	e := r.state.read(env)
	later := map[resource.ID]bool{} // planned again in the next commit
	for i := range out.Conflicts {
		later[out.Conflicts[i].ID] = true
	}
	for id, w := range book.planned {
		row := e.rows[id]
		switch {
		case w.Failed || w.Action == "none" || w.Action == "undefined" || later[id]:
		// it was running when it was requested, and made this change, or it was removed since
		case r.recorded[id] >= t.began:
		// the value of a dependant may have to be known first
		case row != nil && row.Removing && w.Action == "delete":
		// it runs after runs of this plan have learned the values that its plan names
		case row != nil && w.Action != "orphan" && waitsFor(e, book, row):
		case row == nil:
			r.violate("kept", "%s leaves out %s, of which its plan says %s", t.name, id, w.Action)
		case w.Action == "orphan" && !row.Orphaned, w.Action == "delete" && row.Orphaned,
			w.Action != "orphan" && row.Ticket() == 0 && !isRunning(r, row) && !inWave(r, e, row) &&
				!asWanted(row):
			r.violate("kept", "%s leaves %s as it is (%s), and its plan says %s", t.name, id,
				row.Status(), w.Action)
		}
	}
}

// waitsFor reports whether a row waits only for values that the plan of its export names as known
// after apply: its own ones, or those of the row that blocks it. A plan of targets does not show
// other rows.
func waitsFor(e *environment, book *exportBook, row *state.Row) bool {
	if !row.Undefined() {
		by := e.rows[row.BlockedBy]
		if by == nil || row.Block() != state.BlockedYes {
			return false
		}
		row = by
	}
	w, shown := book.planned[row.ID]
	if !shown {
		return book.op.target != ""
	}
	named := map[string]bool{}
	for _, f := range w.KnownAfter {
		named[f.String()] = named[f.String()] || !f.MayChange
	}
	return row.Undefined() && !slices.ContainsFunc(row.Missing, func(what string) bool { return !named[what] })
}
