package local

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// query runs a prepared statement and calls each for every row.
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
	b, _ := json.Marshal(v) // records hold only what JSON can
	return string(b)
}

func fromJSON(text string, v any) error {
	if err := json.Unmarshal([]byte(text), v); err != nil {
		return fault.Wrap(fault.Damaged, "read record", err)
	}
	return nil
}

// Env implements deploy.State.
func (h *Home) Env(ctx context.Context, env string) (deploy.Env, error) {
	out := deploy.Env{Name: env}
	err := h.read(ctx, "read environment", func(c *sqlite.Conn) error {
		var err error
		out, err = readEnv(c, env)
		return err
	})
	return out, err
}

func readEnv(c *sqlite.Conn, env string) (deploy.Env, error) {
	out := deploy.Env{Name: env}
	err := query(c, "SELECT rev, plan_seq, halted, record FROM envs WHERE name = ?", func(s *sqlite.Stmt) error {
		if err := fromJSON(s.ColumnText(3), &out); err != nil {
			return err
		}
		out.Name, out.Rev, out.PlanSeq, out.Halted = env, s.ColumnInt64(0), s.ColumnInt64(1), s.ColumnBool(2)
		return nil
	}, env)
	return out, err
}

func putEnv(c *sqlite.Conn, e deploy.Env) error {
	if err := touchEnv(c, e.Name); err != nil {
		return err
	}
	err := query(c, "UPDATE envs SET rev = rev + 1, record = ? WHERE name = ? AND rev = ?", nil, toJSON(e), e.Name, e.Rev)
	if err == nil && c.Changes() == 0 {
		return fault.New(fault.Conflict, "write environment", "it was changed by somebody else")
	}
	return err
}

// touchEnv makes the environment's row when there is none.
func touchEnv(c *sqlite.Conn, env string) error {
	return query(c, "INSERT INTO envs (name, rev, plan_seq, halted, record) VALUES (?, 0, 0, 0, '{}') ON CONFLICT DO NOTHING", nil, env)
}

func bumpPlan(c *sqlite.Conn, env string) error {
	if err := touchEnv(c, env); err != nil {
		return err
	}
	return query(c, "UPDATE envs SET plan_seq = plan_seq + 1 WHERE name = ?", nil, env)
}

// Envs implements deploy.State.
func (h *Home) Envs(ctx context.Context) ([]string, error) {
	var out []string
	err := h.read(ctx, "list environments", func(c *sqlite.Conn) error {
		return query(c, "SELECT name FROM envs ORDER BY name", func(s *sqlite.Stmt) error {
			out = append(out, s.ColumnText(0))
			return nil
		})
	})
	return out, err
}

// putVersion stores a version that must be new.
func putVersion(c *sqlite.Conn, env string, v *deploy.Version) error {
	err := query(c, "INSERT INTO versions (env, number, record) VALUES (?, ?, ?) ON CONFLICT DO NOTHING", nil, env, v.Number, toJSON(v))
	if err == nil && c.Changes() == 0 {
		return fault.New(fault.Conflict, "write version", "version %d exists", v.Number)
	}
	return err
}

// Versions implements deploy.State.
func (h *Home) Versions(ctx context.Context, env string, numbers ...int) ([]deploy.Version, error) {
	var out []deploy.Version
	err := h.read(ctx, "read versions", func(c *sqlite.Conn) error {
		each := func(s *sqlite.Stmt) error {
			var v deploy.Version
			if err := fromJSON(s.ColumnText(0), &v); err != nil {
				return err
			}
			out = append(out, v)
			return nil
		}
		if len(numbers) == 0 {
			return query(c, "SELECT record FROM versions WHERE env = ? ORDER BY number", each, env)
		}
		for _, n := range numbers {
			if err := query(c, "SELECT record FROM versions WHERE env = ? AND number = ?", each, env, n); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// Agents implements deploy.State.
func (h *Home) Agents(ctx context.Context, env string) (map[string]deploy.Agent, error) {
	out := map[string]deploy.Agent{}
	err := h.read(ctx, "read agents", func(c *sqlite.Conn) error {
		return query(c, "SELECT name, record, paused FROM agents WHERE env = ?", func(s *sqlite.Stmt) error {
			a := deploy.Agent{Paused: s.ColumnBool(2)}
			a.Name = s.ColumnText(0)
			if s.ColumnType(1) != sqlite.TypeNull {
				if err := a.UnmarshalJSON([]byte(s.ColumnText(1))); err != nil {
					return err
				}
			}
			out[a.Name] = a
			return nil
		}, env)
	})
	return out, err
}

// putAgent writes an agent and leaves its pause.
func putAgent(c *sqlite.Conn, env string, a *resource.Agent) error {
	text, err := a.MarshalJSON()
	if err != nil {
		return err
	}
	return query(c, "INSERT INTO agents (env, name, record) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET record = excluded.record", nil, env, a.Name, string(text))
}

// Pause implements deploy.State.
func (h *Home) Pause(ctx context.Context, env string, paused bool, agents ...string) error {
	return h.write(ctx, "pause", func(c *sqlite.Conn) error {
		for _, a := range agents {
			if err := query(c, `INSERT INTO agents (env, name, paused) VALUES (?, ?, ?)
				ON CONFLICT DO UPDATE SET paused = excluded.paused`, nil, env, a, paused); err != nil {
				return err
			}
		}
		return bumpPlan(c, env)
	})
}

// Halt implements deploy.State.
func (h *Home) Halt(ctx context.Context, env string, halted bool) error {
	return h.write(ctx, "halt", func(c *sqlite.Conn) error {
		if err := bumpPlan(c, env); err != nil {
			return err
		}
		return query(c, "UPDATE envs SET halted = ? WHERE name = ?", nil, halted, env)
	})
}

// Acquire implements deploy.State.
func (h *Home) Acquire(ctx context.Context, env, key, holder string, now, until time.Time) (deploy.Lease, error) {
	var out deploy.Lease
	err := h.write(ctx, "take lease", func(c *sqlite.Conn) error {
		have, err := readLease(c, env, key)
		if err != nil {
			return err
		}
		if have.Holder != "" && have.Holder != holder && now.Before(have.Until) && !h.dead(have.Holder) {
			return fault.New(fault.Busy, "take lease", "%s is served by another", key)
		}
		out = deploy.Lease{Key: key, Holder: holder, Fence: have.Fence + 1, Until: until, Running: have.Running, Wave: have.Wave}
		return query(c, `INSERT INTO leases (env, key, holder, fence, until) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET holder = excluded.holder, fence = excluded.fence, until = excluded.until`,
			nil, env, key, holder, out.Fence, nanos(until))
	})
	return out, err
}

func readLease(c *sqlite.Conn, env, key string) (deploy.Lease, error) {
	l := deploy.Lease{Key: key}
	err := query(c, "SELECT holder, fence, until, wave, running FROM leases WHERE env = ? AND key = ?", func(s *sqlite.Stmt) error {
		l.Holder, l.Fence, l.Until, l.Wave = s.ColumnText(0), s.ColumnInt64(1), timeOf(s.ColumnInt64(2)), s.ColumnInt64(3)
		l.Running = splitIDs(s.ColumnText(4))
		return nil
	}, env, key)
	return l, err
}

// Release implements deploy.State.
func (h *Home) Release(ctx context.Context, env string, l deploy.Lease) error {
	return h.write(ctx, "give up lease", func(c *sqlite.Conn) error {
		return query(c, "UPDATE leases SET holder = '', running = '' WHERE env = ? AND key = ? AND fence = ?", nil, env, l.Key, l.Fence)
	})
}

// Leases implements deploy.State.
func (h *Home) Leases(ctx context.Context, env string) ([]deploy.Lease, error) {
	var out []deploy.Lease
	err := h.read(ctx, "read leases", func(c *sqlite.Conn) error {
		return query(c, "SELECT key, holder, fence, until, running, wave FROM leases WHERE env = ? ORDER BY key", func(s *sqlite.Stmt) error {
			l := deploy.Lease{Key: s.ColumnText(0), Holder: s.ColumnText(1), Fence: s.ColumnInt64(2), Until: timeOf(s.ColumnInt64(3)),
				Running: splitIDs(s.ColumnText(4)), Wave: s.ColumnInt64(5)}
			out = append(out, l)
			return nil
		}, env)
	})
	return out, err
}

// joinIDs and splitIDs store lists of ids as a JSON list: an id may hold any character.
func joinIDs(ids []resource.ID) string {
	if len(ids) == 0 {
		return ""
	}
	b := make([]byte, 0, len(ids)*48)
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b, _ = resource.AppendValue(b, string(id))
	}
	return string(append(b, ']'))
}

func splitIDs(text string) []resource.ID {
	if text == "" {
		return nil
	}
	v, err := resource.DecodeValue([]byte(text))
	list, _ := v.([]any)
	if err != nil || len(list) == 0 {
		return nil
	}
	out := make([]resource.ID, 0, len(list))
	for _, e := range list {
		s, _ := e.(string)
		out = append(out, resource.ID(s))
	}
	return out
}

const rowColumns = "r.id, r.rev, r.lane, r.ticket, r.next_at, r.checked, r.state, b.body"

func scanRow(s *sqlite.Stmt) (deploy.Row, error) {
	r := deploy.Row{ID: resource.ID(s.ColumnText(0)), Rev: s.ColumnInt64(1), Lane: s.ColumnText(2), Ticket: s.ColumnInt64(3),
		NextAt: timeOf(s.ColumnInt64(4)), Checked: s.ColumnInt64(5)}
	if err := decodeState(columnBytes(s, 6), &r); err != nil {
		return r, err
	}
	r.Body = columnBytes(s, 7)
	return r, nil
}

// Rows implements deploy.State.
func (h *Home) Rows(ctx context.Context, env string, ids []resource.ID) ([]deploy.Row, error) {
	var out []deploy.Row
	err := h.read(ctx, "read resources", func(c *sqlite.Conn) error {
		for _, id := range ids {
			if err := readRow(c, env, id, func(r deploy.Row) { out = append(out, r) }); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func readRow(c *sqlite.Conn, env string, id resource.ID, found func(deploy.Row)) error {
	return query(c, "SELECT "+rowColumns+" FROM rows r JOIN bodies b ON b.k = r.k WHERE r.env = ? AND r.id = ?", func(s *sqlite.Stmt) error {
		r, err := scanRow(s)
		if err == nil {
			found(r)
		}
		return err
	}, env, string(id))
}

// LaneRows implements deploy.State.
func (h *Home) LaneRows(ctx context.Context, env, lane string, all bool) ([]deploy.Row, error) {
	where := "r.env = ? AND r.lane = ? AND r.ticket <> 0"
	if all {
		where = "r.env = ? AND r.lane = ?"
	}
	return h.scan(ctx, "SELECT "+rowColumns+" FROM rows r JOIN bodies b ON b.k = r.k WHERE "+where, env, lane)
}

// ScanRows implements deploy.State.
func (h *Home) ScanRows(ctx context.Context, env string, after resource.ID, limit int) ([]deploy.Row, error) {
	return h.scan(ctx, "SELECT "+rowColumns+" FROM rows r JOIN bodies b ON b.k = r.k WHERE r.env = ? AND r.id > ? ORDER BY r.id LIMIT ?",
		env, string(after), limit)
}

func (h *Home) scan(ctx context.Context, sql string, args ...any) ([]deploy.Row, error) {
	var out []deploy.Row
	err := h.read(ctx, "read resources", func(c *sqlite.Conn) error {
		return query(c, sql, func(s *sqlite.Stmt) error {
			r, err := scanRow(s)
			out = append(out, r)
			return err
		}, args...)
	})
	return out, err
}

// Schedule implements deploy.State.
func (h *Home) Schedule(ctx context.Context, env string) (deploy.Schedule, error) {
	var out deploy.Schedule
	err := h.read(ctx, "read schedule", func(c *sqlite.Conn) error {
		e, err := readEnv(c, env)
		if err != nil {
			return err
		}
		out = deploy.Schedule{PlanSeq: e.PlanSeq, Graph: e.Graph, Wave: e.Wave, Halted: e.Halted}
		if err := query(c, "SELECT id, lane, ticket FROM rows WHERE env = ? AND ticket <> 0", func(s *sqlite.Stmt) error {
			out.Tickets = append(out.Tickets, deploy.Ticket{ID: resource.ID(s.ColumnText(0)), Lane: s.ColumnText(1), N: s.ColumnInt64(2)})
			return nil
		}, env); err != nil || e.Wave.Epoch == 0 {
			return err
		}
		return unfinished(c, env, e.Wave.Epoch, &out)
	})
	return out, err
}

// unfinished fills in the lanes that have not finished the wave, and what was checked in them.
func unfinished(c *sqlite.Conn, env string, epoch int64, out *deploy.Schedule) error {
	out.Unfinished = map[string][]resource.ID{}
	if err := query(c, `SELECT DISTINCT n.lane FROM counts n LEFT JOIN leases l ON l.env = n.env AND l.key = n.lane
		WHERE n.env = ? AND n.n > 0 AND coalesce(l.wave, 0) < ?`, func(s *sqlite.Stmt) error {
		out.Unfinished[s.ColumnText(0)] = nil
		return nil
	}, env, epoch); err != nil {
		return err
	}
	for lane := range out.Unfinished {
		var ids []resource.ID
		if err := eachChecked(c, env, lane, epoch, 0, func(_ int64, more []resource.ID) { ids = append(ids, more...) }); err != nil {
			return err
		}
		slices.Sort(ids)
		out.Unfinished[lane] = slices.Compact(ids)
	}
	return nil
}

// eachChecked calls f for the lists of what was checked in a lane that were written after one.
func eachChecked(c *sqlite.Conn, env, lane string, epoch, after int64, f func(k int64, ids []resource.ID)) error {
	return query(c, "SELECT k, ids FROM checks WHERE env = ? AND lane = ? AND epoch = ? AND k > ? ORDER BY k", func(s *sqlite.Stmt) error {
		f(s.ColumnInt64(0), splitIDs(s.ColumnText(1)))
		return nil
	}, env, lane, epoch, after)
}

// checkedIn remembers the lists of one lane and wave that were read: they are only ever added to.
type checkedIn struct {
	last int64
	ids  map[resource.ID]bool
}

type waveKey struct {
	env, lane string
	epoch     int64
}

// Finished implements deploy.State.
func (h *Home) Finished(ctx context.Context, env string, ids []resource.ID, epoch int64) ([]resource.ID, error) {
	var out []resource.ID
	err := h.read(ctx, "read schedule", func(c *sqlite.Conn) error {
		for _, id := range ids {
			done := true
			if err := query(c, `SELECT r.ticket, r.checked, r.lane, coalesce(l.wave, 0) FROM rows r LEFT JOIN leases l ON l.env = r.env AND l.key = r.lane
				WHERE r.env = ? AND r.id = ?`, func(s *sqlite.Stmt) error {
				done = s.ColumnInt64(0) == 0
				if !done || epoch == 0 || s.ColumnInt64(1) >= epoch || s.ColumnInt64(3) >= epoch {
					return nil
				}
				var err error
				done, err = h.wasChecked(c, waveKey{env, s.ColumnText(2), epoch}, id)
				return err
			}, env, string(id)); err != nil {
				return err
			}
			if done {
				out = append(out, id)
			}
		}
		return nil
	})
	return out, err
}

func (h *Home) wasChecked(c *sqlite.Conn, key waveKey, id resource.ID) (bool, error) {
	h.wavesMu.Lock()
	defer h.wavesMu.Unlock()
	seen := h.waves[key]
	if seen == nil {
		if len(h.waves) > 1000 {
			clear(h.waves) // of older waves, most of them; the others are read again
		}
		seen = &checkedIn{ids: map[resource.ID]bool{}}
		h.waves[key] = seen
	}
	if seen.ids[id] {
		return true, nil
	}
	err := eachChecked(c, key.env, key.lane, key.epoch, seen.last, func(k int64, ids []resource.ID) {
		seen.last = k
		for _, id := range ids {
			seen.ids[id] = true
		}
	})
	return seen.ids[id], err
}

// Due implements deploy.State.
func (h *Home) Due(ctx context.Context, env string, at time.Time, limit int) ([]resource.ID, time.Time, error) {
	var ids []resource.ID
	var next time.Time
	err := h.read(ctx, "read timers", func(c *sqlite.Conn) error {
		if err := query(c, "SELECT id FROM rows WHERE env = ? AND next_at > 0 AND next_at <= ? ORDER BY next_at LIMIT ?", func(s *sqlite.Stmt) error {
			ids = append(ids, resource.ID(s.ColumnText(0)))
			return nil
		}, env, nanos(at), limit); err != nil {
			return err
		}
		return query(c, "SELECT next_at FROM rows WHERE env = ? AND next_at > 0 AND next_at > ? ORDER BY next_at LIMIT 1", func(s *sqlite.Stmt) error {
			next = timeOf(s.ColumnInt64(0))
			return nil
		}, env, nanos(at))
	})
	return ids, next, err
}

// Counts implements deploy.State.
func (h *Home) Counts(ctx context.Context, env string) (map[deploy.Status]int, error) {
	out := map[deploy.Status]int{}
	err := h.read(ctx, "count resources", func(c *sqlite.Conn) error {
		return query(c, "SELECT status, sum(n) FROM counts WHERE env = ? GROUP BY status", func(s *sqlite.Stmt) error {
			if n := s.ColumnInt(1); n > 0 {
				out[deploy.Status(s.ColumnText(0))] = n
			}
			return nil
		}, env)
	})
	return out, err
}

// Outbox implements deploy.State.
func (h *Home) Outbox(ctx context.Context, env string, limit int) ([]deploy.Outbox, error) {
	var out []deploy.Outbox
	err := h.read(ctx, "read outbox", func(c *sqlite.Conn) error {
		return query(c, "SELECT record FROM outbox WHERE env = ? ORDER BY id LIMIT ?", func(s *sqlite.Stmt) error {
			var o deploy.Outbox
			err := fromJSON(s.ColumnText(0), &o)
			out = append(out, o)
			return err
		}, env, limit)
	})
	return out, err
}

// Parameters implements deploy.State.
func (h *Home) Parameters(ctx context.Context, env string, q deploy.ParameterQuery) ([]deploy.Parameter, error) {
	var out []deploy.Parameter
	err := h.read(ctx, "read parameters", func(c *sqlite.Conn) error {
		each := func(s *sqlite.Stmt) error {
			var p deploy.Parameter
			err := fromJSON(s.ColumnText(0), &p)
			if err == nil && (q.Of == "" || p.Of == q.Of) {
				out = append(out, p)
			}
			return err
		}
		if len(q.Keys) == 0 {
			return query(c, "SELECT record FROM parameters WHERE env = ? AND (of <> '') = ? ORDER BY of, name", each, env, q.Facts)
		}
		keys := slices.Clone(q.Keys)
		slices.SortFunc(keys, func(a, b deploy.ParameterKey) int {
			return strings.Compare(string(a.Of)+"\x00"+a.Name, string(b.Of)+"\x00"+b.Name)
		})
		for _, k := range slices.Compact(keys) {
			if err := query(c, "SELECT record FROM parameters WHERE env = ? AND of = ? AND name = ?", each, env, string(k.Of), k.Name); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

func putParameters(c *sqlite.Conn, env string, ps []deploy.Parameter) error {
	for _, p := range ps {
		if err := query(c, "INSERT OR REPLACE INTO parameters (env, of, name, record) VALUES (?, ?, ?, ?)", nil, env, string(p.Of), p.Name, toJSON(p)); err != nil {
			return err
		}
	}
	return nil
}

func dropParameters(c *sqlite.Conn, env string, keys []deploy.ParameterKey) error {
	for _, k := range keys {
		if err := query(c, "DELETE FROM parameters WHERE env = ? AND of = ? AND name = ?", nil, env, string(k.Of), k.Name); err != nil {
			return err
		}
	}
	return nil
}
