package local

import (
	"context"
	"encoding/json"
	"strconv"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// query runs a prepared statement and calls each for every row. In a statement that joins tables or
// selects a range, parameters are written "+?". For a plain "?", SQLite would make a new plan for
// each new value, which takes longer than the statement itself.
func query(c *sqlite.Conn, sql string, each func(s *sqlite.Stmt) error, args ...any) error {
	s, err := c.Prepare(sql)
	if err != nil {
		return err
	}
	defer func() { _ = s.Reset() }()
	bind(s, args)
	for {
		more, err := s.Step()
		if err != nil || !more {
			return err
		}
		if each != nil {
			if err := each(s); err != nil {
				return err
			}
		}
	}
}

func bind(s *sqlite.Stmt, args []any) {
	for i, a := range args {
		switch a := a.(type) {
		case string:
			s.BindText(i+1, a)
		case int64:
			s.BindInt64(i+1, a)
		case int:
			s.BindInt64(i+1, int64(a))
		case bool:
			s.BindBool(i+1, a)
		case []byte:
			s.BindBytes(i+1, a)
		}
	}
}

func columnBytes(s *sqlite.Stmt, i int) []byte {
	b := make([]byte, s.ColumnLen(i))
	s.ColumnBytes(i, b)
	return b
}

func toJSON(v any) string {
	b, _ := json.Marshal(v) // cannot fail: records hold only values that JSON can express
	return string(b)
}

func fromJSON(text string, v any) error {
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return &fault.Error{Kind: fault.Damaged, Op: "read record", Err: err, Hint: damagedHint}
	}
	return nil
}

// Env implements state.State.
func (h *Home) Env(ctx context.Context, env string) (state.Env, error) {
	out := state.Env{Name: env}
	err := h.read(ctx, "read environment", func(c *sqlite.Conn) error {
		var err error
		out, err = readEnv(c, env)
		return err
	})
	return out, err
}

func readEnv(c *sqlite.Conn, env string) (state.Env, error) {
	out := state.Env{Name: env}
	err := query(c, "SELECT rev, plan_seq, halted, record FROM envs WHERE name = ?",
		func(s *sqlite.Stmt) error {
			if err := unseal(s.ColumnText(3), &out, "envs", env); err != nil {
				return err
			}
			out.Name, out.Rev, out.PlanSeq, out.Halted = env, s.ColumnInt64(0), s.ColumnInt64(1),
				s.ColumnBool(2)
			return nil
		}, env)
	return out, err
}

func putEnv(c *sqlite.Conn, e state.Env) error {
	if err := touchEnv(c, e.Name); err != nil {
		return err
	}
	err := query(c, "UPDATE envs SET rev = rev + 1, record = ? WHERE name = ? AND rev = ?", nil,
		sealed(e, "envs", e.Name), e.Name, e.Rev)
	if err == nil && c.Changes() == 0 {
		return fault.New(fault.Conflict, "write environment", "another process has changed it")
	}
	return err
}

// touchEnv creates the row of the environment if it is missing.
func touchEnv(c *sqlite.Conn, env string) error {
	return query(c,
		"INSERT INTO envs (name, rev, plan_seq, halted, record) VALUES (?, 0, 0, 0, ?) ON "+
			"CONFLICT DO NOTHING", nil, env, sealed(struct{}{}, "envs", env))
}

func bumpPlan(c *sqlite.Conn, env string) error {
	if err := touchEnv(c, env); err != nil {
		return err
	}
	return query(c, "UPDATE envs SET plan_seq = plan_seq + 1 WHERE name = ?", nil, env)
}

// Envs implements state.State.
func (h *Home) Envs(ctx context.Context) ([]string, error) {
	return readList(ctx, h, "list environments", "SELECT name FROM envs ORDER BY name", text[string])
}

// version stores a version, which must be new, with its sets.
func (t *tx) version(v state.Version) error {
	last, err := one(t.c, "SELECT max(number) FROM versions WHERE env = +?", integer, t.env)
	if err != nil {
		return err
	}
	whole := v
	v.Sets = nil
	err = query(t.c,
		"INSERT INTO versions (env, number, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", nil,
		t.env, v.Number, sealed(v, "versions", t.env, strconv.Itoa(v.Number)))
	if err == nil && t.c.Changes() == 0 {
		return fault.New(fault.Conflict, "write version", "version %d exists", v.Number)
	}
	if err != nil {
		return err
	}
	return t.putSets(&whole, int(last))
}

// Agents implements state.State.
func (h *Home) Agents(
	ctx context.Context, env string, names ...string,
) (map[string]state.Agent, error) {
	out := map[string]state.Agent{}
	err := h.read(ctx, "read agents", func(c *sqlite.Conn) error {
		one := func(s *sqlite.Stmt) error {
			a := state.Agent{Paused: s.ColumnBool(2)}
			a.Name = s.ColumnText(0)
			if s.ColumnType(1) != sqlite.TypeNull {
				if err := unseal(s.ColumnText(1), &a.Agent, "agents", env, a.Name); err != nil {
					return err
				}
			}
			out[a.Name] = a
			return nil
		}
		for _, name := range names {
			if err := query(c, "SELECT name, record, paused FROM agents WHERE env = ? AND name = ?",
				one, env, name); err != nil {
				return err
			}
		}
		if len(names) > 0 {
			return nil
		}
		return query(c, "SELECT name, record, paused FROM agents WHERE env = ?", one, env)
	})
	return out, err
}

// dropAgent removes an agent; its pause stays.
func dropAgent(c *sqlite.Conn, env, name string) error {
	if err := query(c, "UPDATE agents SET record = NULL WHERE env = ? AND name = ?", nil, env,
		name); err != nil {
		return err
	}
	return query(c, "DELETE FROM agents WHERE env = ? AND name = ? AND NOT paused", nil, env, name)
}

// putAgent writes an agent without changing whether it is paused.
func putAgent(c *sqlite.Conn, env string, a *resource.Agent) error {
	return query(c,
		"INSERT INTO agents (env, name, record) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET "+
			"record = excluded.record", nil, env, a.Name,
		sealed(a, "agents", env, a.Name))
}

// Pause implements state.State.
func (h *Home) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	return h.write(ctx, "pause", func(c *sqlite.Conn) error {
		for _, a := range agents {
			if err := query(c, `INSERT INTO agents (env, name, paused) VALUES (?, ?, ?)
				ON CONFLICT DO UPDATE SET paused = excluded.paused`, nil, env, a, paused); err != nil {
				return err
			}
		}
		// A name without an agent is kept only for its pause.
		if err := query(c, "DELETE FROM agents WHERE env = ? AND record IS NULL AND NOT paused",
			nil, env); err != nil {
			return err
		}
		if err := feed(c, env, state.ChangedAgents); err != nil {
			return err
		}
		return bumpPlan(c, env)
	})
}

// Halt implements state.State.
func (h *Home) Halt(ctx context.Context, env string, halted bool) error {
	return h.write(ctx, "halt", func(c *sqlite.Conn) error {
		if err := bumpPlan(c, env); err != nil {
			return err
		}
		if err := feed(c, env, state.ChangedSettings); err != nil {
			return err
		}
		return query(c, "UPDATE envs SET halted = ? WHERE name = ?", nil, halted, env)
	})
}

// Outbox implements state.State.
func (h *Home) Outbox(ctx context.Context, env string, limit int) ([]state.Outbox, error) {
	return readList(ctx, h, "read outbox",
		"SELECT record, id FROM outbox WHERE env = +? ORDER BY id LIMIT ?",
		func(s *sqlite.Stmt) (o state.Outbox, err error) {
			err = unseal(s.ColumnText(0), &o, "outbox", env, s.ColumnText(1))
			return o, err
		}, env, limit)
}
