package local

import (
	"context"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/parallel"
	"southbound/shared/resource"
)

// Commit implements state.State.
func (h *Home) Commit(ctx context.Context, env string, in state.Commit) (state.Committed, error) {
	var out state.Committed
	records := make([]record, len(in.Rows))
	parallel.For(len(in.Rows), func(i int) { records[i] = recordOf(&in.Rows[i], revOf(&in, i)) })
	err := h.write(ctx, "commit", func(c *sqlite.Conn) error {
		out = state.Committed{}
		t := &tx{c: c, env: env, versions: &h.versions, in: &in, out: &out, counts: map[countKey]int{},
			records: records}
		return t.run()
	})
	if err == nil && in.Version != nil {
		h.versions.written(versionKey{env, in.Version.Number}, *in.Version)
	}
	return out, err
}

// revOf returns the revision that a row of a commit gets.
func revOf(in *state.Commit, i int) int64 {
	if rev := in.Rows[i].Rev; rev > 0 {
		return rev + 1
	}
	return in.FirstRev()
}

// tx is one Commit within a transaction.
type tx struct {
	c        *sqlite.Conn
	env      string
	in       *state.Commit
	out      *state.Committed
	counts   map[countKey]int
	ran      running // the resources that run according to the lease
	versions *knownVersions
	records  []record      // of the rows
	changes  state.Changes // of the environment's record
}

type countKey struct {
	lane, kind string // kind is the type
	status     state.Status
}

func (t *tx) run() error {
	lease, runs, err := readLease(t.c, t.env, t.in.Guard.Key)
	if err != nil {
		return err
	}
	if lease.Holder == "" || lease.Fence != t.in.Guard.Fence {
		return fault.New(fault.Fenced, "commit", "the lease of %s was taken over", t.in.Guard.Key)
	}
	t.ran = runs
	if t.in.Env != nil {
		before, err := readEnv(t.c, t.env)
		if err != nil { // the commit replaces a record that cannot be read
			t.changes = state.Everything("")
		} else {
			now := *t.in.Env
			now.Halted = before.Halted // Halt alone writes it
			t.changes.AddEnv(&before, &now)
		}
		if err := putEnv(t.c, *t.in.Env); err != nil {
			return err
		}
	}
	for _, step := range []func() error{t.store, t.keep} {
		if err := step(); err != nil {
			return err
		}
	}
	for i := range t.in.Rows {
		if err := t.row(i); err != nil {
			return err
		}
	}
	for _, step := range []func() error{t.addCounts, t.checked, t.actions, t.outbox,
		t.plan, t.lease} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := putParameters(t.c, t.env, t.in.Parameters); err != nil {
		return err
	}
	for _, step := range []func() error{t.logChanges, t.feed} {
		if err := step(); err != nil {
			return err
		}
	}
	return dropParameters(t.c, t.env, t.in.DropParameters)
}

// store writes the version, forgets versions, and writes agents.
func (t *tx) store() error {
	if t.in.Version != nil {
		if err := t.version(*t.in.Version); err != nil {
			return err
		}
	}
	for _, n := range t.in.Forget {
		if err := query(t.c, "DELETE FROM versions WHERE env = ? AND number = ?", nil, t.env,
			n); err != nil {
			return err
		}
	}
	if len(t.in.Forget) > 0 {
		if err := forgetSets(t.c, t.env); err != nil {
			return err
		}
	}
	for _, name := range t.in.DropAgents {
		if err := dropAgent(t.c, t.env, name); err != nil {
			return err
		}
	}
	for i := range t.in.Agents {
		if err := putAgent(t.c, t.env, &t.in.Agents[i]); err != nil {
			return err
		}
	}
	return nil
}

// row writes one of the rows, or adds the stored row to the conflicts if its revision has changed.
func (t *tx) row(i int) error {
	r := &t.in.Rows[i]
	if r.Rev == 0 && !r.Gone {
		return t.insert(i)
	}
	have, err := t.find(r.ID)
	switch {
	case err != nil:
		return err
	case have.k == 0 && r.Rev == 0:
		return nil
	case have.k == 0 || have.rev != r.Rev:
		return t.conflict(r.ID)
	}
	t.counts[have.count]--
	if r.Gone {
		return t.remove(have.k)
	}
	return t.update(i, have)
}

// place is the location of a stored row, with its current revision, lane and status.
type place struct {
	k, rev int64 // k 0: not stored
	count  countKey
	set    string
}

func (t *tx) find(id resource.ID) (p place, err error) {
	const sql = "SELECT k, rev, lane, status, set_name FROM resources WHERE env = ? AND id = ?"
	err = query(t.c, sql, func(s *sqlite.Stmt) error {
		p = place{s.ColumnInt64(0), s.ColumnInt64(1),
			countKey{s.ColumnText(2), id.Type(), state.Status(s.ColumnText(3))}, s.ColumnText(4)}
		return nil
	}, t.env, string(id))
	return p, err
}

func (t *tx) insert(i int) error {
	r := &t.records[i]
	const sql = "INSERT INTO resources (env, id, rev, lane, ticket, next_at, checked, status, " +
		"compliance, last_run, blocked, why, set_name, state, sum) " +
		"VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) " +
		"ON CONFLICT DO NOTHING"
	if err := query(t.c, sql, nil, t.env, r.id, r.rev, r.lane, r.ticket, r.timer, r.checked,
		r.status, r.compliance, r.lastRun, r.blocked, r.why, r.set, r.state,
		int64(r.sum)); err != nil {
		return err
	}
	if t.c.Changes() == 0 {
		return t.conflict(resource.ID(r.id))
	}
	t.counts[countKey{r.lane, resource.ID(r.id).Type(), state.Status(r.status)}]++
	return t.putIntent(t.c.LastInsertRowID(), r)
}

// update writes a row that is already stored. Separate statements set the columns of indexes, since
// SQLite writes the index of a column whenever a statement sets the column.
func (t *tx) update(i int, have place) error {
	r := &t.records[i]
	t.counts[countKey{r.lane, resource.ID(r.id).Type(), state.Status(r.status)}]++
	const sql = "UPDATE resources SET rev = ?, ticket = ?, next_at = ?, checked = ?, compliance = ?, " +
		"last_run = ?, blocked = ?, why = ?, state = ?, sum = ? WHERE k = ?"
	if err := query(t.c, sql, nil, r.rev, r.ticket, r.timer, r.checked, r.compliance, r.lastRun,
		r.blocked, r.why, r.state, int64(r.sum), have.k); err != nil {
		return err
	}
	for _, column := range []struct {
		differs bool
		sql     string
		value   string
	}{
		{r.status != string(have.count.status), "UPDATE resources SET status = ? WHERE k = ?", r.status},
		{r.lane != have.count.lane, "UPDATE resources SET lane = ? WHERE k = ?", r.lane},
		{t.in.Plan && r.set != have.set, "UPDATE resources SET set_name = ? WHERE k = ?", r.set},
	} {
		if !column.differs {
			continue
		}
		if err := query(t.c, column.sql, nil, column.value, have.k); err != nil {
			return err
		}
	}
	if !t.in.Plan {
		return nil
	}
	return t.putIntent(have.k, r)
}

func (t *tx) putIntent(k int64, r *record) error {
	return query(t.c, "INSERT OR REPLACE INTO intents (k, body, sum) VALUES (?, ?, ?)", nil, k,
		r.body, int64(r.bodySum))
}

func (t *tx) remove(k int64) error {
	if err := query(t.c, "DELETE FROM resources WHERE k = ?", nil, k); err != nil {
		return err
	}
	return query(t.c, "DELETE FROM intents WHERE k = ?", nil, k)
}

// conflict adds the row stored under an id to the conflicts.
func (t *tx) conflict(id resource.ID) error {
	var found []record
	if err := appendRecords(t.c, &found, selectRow, t.env, string(id)); err != nil {
		return err
	}
	now := state.Row{ID: id}
	if len(found) > 0 {
		if err := found[0].read(&now); err != nil {
			return err
		}
	}
	t.out.Conflicts = append(t.out.Conflicts, now)
	return nil
}

func (t *tx) addCounts() error {
	for key, n := range t.counts {
		if n == 0 {
			continue
		}
		if err := query(t.c,
			"INSERT INTO counts (env, lane, type, status, n) VALUES (?, ?, ?, ?, ?) "+
				"ON CONFLICT DO UPDATE SET n = n + excluded.n", nil,
			t.env, key.lane, key.kind, string(key.status), n); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) checked() error {
	checked := state.Counted(t.in.Checked, t.out.Conflicts)
	if len(checked) == 0 {
		return nil
	}
	const sql = "INSERT INTO checks (env, lane, epoch, resources) VALUES (?, ?, ?, ?)"
	return query(t.c, sql, nil, t.env, t.in.Guard.Key, t.in.Epoch, joinIDs(checked))
}

func (t *tx) outbox() error {
	for _, o := range t.in.AddOutbox {
		if err := query(t.c, "INSERT OR REPLACE INTO outbox (env, id, record) VALUES (?, ?, ?)",
			nil, t.env, o.ID, sealed(o, "outbox", t.env, o.ID)); err != nil {
			return err
		}
	}
	if len(t.out.Conflicts) > 0 {
		return nil
	}
	for _, id := range t.in.DropOutbox {
		if err := query(t.c, "DELETE FROM outbox WHERE env = ? AND id = ?", nil, t.env,
			id); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) plan() error {
	if t.in.Plan {
		if err := bumpPlan(t.c, t.env); err != nil {
			return err
		}
	}
	e, err := readEnv(t.c, t.env)
	if err != nil {
		return err
	}
	paused := false
	if err := query(t.c, "SELECT paused FROM agents WHERE env = ? AND name = ?",
		func(s *sqlite.Stmt) error {
			paused = s.ColumnBool(0)
			return nil
		}, t.env, t.in.Guard.Key); err != nil {
		return err
	}
	t.out.PlanSeq, t.out.Paused = e.PlanSeq, paused || e.Halted
	t.out.Started = len(t.in.Next) > 0 && !t.out.Paused && e.PlanSeq == t.in.SeenPlan
	return nil
}

// lease extends the lease and records the resources that now run under it.
func (t *tx) lease() error {
	runs, err := t.ran.still(t.out.Conflicts)
	if err != nil {
		return err
	}
	if runs = append(runs, t.in.Beside...); t.out.Started {
		runs = t.in.Starts()
	}
	refused := len(t.in.Next) > 0 && !t.out.Started
	if err := query(t.c, `UPDATE leases SET runs = iif(?, runs, ?), until = max(until, ?),
		wave = max(wave, ?) WHERE env = ? AND key = ?`, nil,
		refused, joinIDs(runs), nanos(t.in.Until), t.in.WaveDone, t.env,
		t.in.Guard.Key); err != nil {
		return err
	}
	if t.in.WaveDone == 0 {
		return nil
	}
	return query(t.c, "DELETE FROM checks WHERE env = ? AND lane = ? AND epoch <= ?", nil, t.env,
		t.in.Guard.Key, t.in.WaveDone)
}
