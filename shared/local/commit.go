package local

import (
	"context"

	"zombiezen.com/go/sqlite"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/parallel"
	"southbound/shared/resource"
)

// Commit implements state.State.
func (h *Home) Commit(ctx context.Context, env string, in state.Commit) (state.Committed, error) {
	var out state.Committed
	states := encodeStates(in.Rows)
	err := h.write(ctx, "commit", func(c *sqlite.Conn) error {
		out = state.Committed{}
		t := &tx{c: c, env: env, sets: &h.sets, in: &in, out: &out, counts: map[countKey]int{},
			blocks: blocks{c: c, env: env, rows: len(in.Rows)}, states: states}
		return t.run()
	})
	if err == nil && in.Version != nil {
		h.versions.written(versionKey{env, in.Version.Number}, *in.Version)
		h.sets.keep(env, in.Version)
	}
	return out, err
}

// tx is one Commit within a transaction.
type tx struct {
	c      *sqlite.Conn
	env    string
	in     *state.Commit
	out    *state.Committed
	counts map[countKey]int
	ran    running // what the lease said runs
	sets   *lastSets
	blocks blocks
	states [][]byte // of the rows, encoded
}

// encodedTogether is how many rows are encoded into one piece of memory.
const encodedTogether = 64

// encodeStates returns the states of rows, encoded. It does that on all processors, before the one
// that writes is kept from other writes.
func encodeStates(rows []state.Row) [][]byte {
	out := make([][]byte, len(rows))
	parallel.For((len(rows)+encodedTogether-1)/encodedTogether, func(i int) {
		from, to := i*encodedTogether, min((i+1)*encodedTogether, len(rows))
		w := &binform.Writer{B: make([]byte, 0, typicalState*(to-from))}
		for j := from; j < to; j++ {
			begin := len(w.B)
			putState(w, &rows[j])
			out[j] = w.B[begin:len(w.B):len(w.B)]
		}
	})
	return out
}

type countKey struct {
	lane   string
	status state.Status
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
		if err := putEnv(t.c, *t.in.Env); err != nil {
			return err
		}
	}
	if err := t.store(); err != nil {
		return err
	}
	for i := range t.in.Rows {
		if err := t.row(i); err != nil {
			return err
		}
	}
	for _, step := range []func() error{t.blocks.flush, t.addCounts, t.checked, t.actions, t.outbox,
		t.plan, t.lease} {
		if err := step(); err != nil {
			return err
		}
	}
	if err := putParameters(t.c, t.env, t.in.Parameters); err != nil {
		return err
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

// row writes one of the rows, or notes that it has changed.
func (t *tx) row(i int) error {
	r := &t.in.Rows[i]
	in, have, err := t.blocks.find(r.ID)
	switch {
	case err != nil:
		return err
	case have == nil && r.Rev == 0 && r.Gone:
		return nil
	case have == nil && r.Rev == 0:
		return t.insert(r, t.states[i])
	case have == nil || have.rev != r.Rev:
		return t.conflict(in, have, r.ID)
	}
	t.counts[countKey{have.lane, state.Status(have.status)}]--
	if r.Gone || t.in.Plan {
		err = t.blocks.rewrite(in)
	} else {
		in.change()
	}
	if have.gone = r.Gone; r.Gone || err != nil {
		return err
	}
	status := r.Status()
	t.counts[countKey{r.Lane, status}]++
	have.set(r, status, t.states[i])
	if t.in.Plan {
		have.setBody(r.Body)
	}
	return nil
}

func (t *tx) insert(r *state.Row, encoded []byte) error {
	status := r.Status()
	t.counts[countKey{r.Lane, status}]++
	rec := record{id: r.ID}
	rec.set(r, status, encoded)
	rec.rev = t.in.FirstRev()
	rec.setBody(r.Body)
	return t.blocks.add(rec)
}

// conflict notes how a row is now that others have changed.
func (t *tx) conflict(in *block, have *record, id resource.ID) error {
	now := state.Row{ID: id}
	if have != nil {
		err := t.blocks.bodies(in)
		if err == nil {
			now, err = have.row()
		}
		if err != nil {
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
			"INSERT INTO counts (env, lane, status, n) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE "+
				"SET n = n + excluded.n", nil,
			t.env, key.lane, string(key.status), n); err != nil {
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
		}, t.env, state.AgentOf(t.in.Guard.Key)); err != nil {
		return err
	}
	t.out.PlanSeq, t.out.Paused = e.PlanSeq, paused || e.Halted
	t.out.Started = len(t.in.Next) > 0 && !t.out.Paused && e.PlanSeq == t.in.SeenPlan
	return nil
}

// lease prolongs the lease and notes what runs under it now.
func (t *tx) lease() error {
	runs, err := t.ran.still(t.out.Conflicts)
	if err != nil {
		return err
	}
	if t.out.Started {
		runs = t.in.Next
	}
	refused := len(t.in.Next) > 0 && !t.out.Started
	if err := query(t.c, `UPDATE leases SET runs = iif(?, runs, ?), until = max(until, ?),
		wave = max(wave, ?) WHERE env = ? AND key = ?`, nil,
		refused, joinIDs(runs), binform.Nanos(t.in.Until), t.in.WaveDone, t.env,
		t.in.Guard.Key); err != nil {
		return err
	}
	if t.in.WaveDone == 0 {
		return nil
	}
	return query(t.c, "DELETE FROM checks WHERE env = ? AND lane = ? AND epoch <= ?", nil, t.env,
		t.in.Guard.Key, t.in.WaveDone)
}
