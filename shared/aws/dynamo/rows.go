package dynamo

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// rows answers queries for rows, and for other content of their tablets.
//
// Large: each query of the port is a method, and most of them go through the same pages of tablets.
type rows struct{ *reader }

// Rows implements state.State.
func (s *rows) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	var out []state.Row
	err := s.eachFound(ctx, env, ids, func(_ *image, r *state.Row) { out = append(out, *r) })
	return out, err
}

// eachFound calls f for each of ids that has a row, with the row and its image.
func (s *rows) eachFound(
	ctx context.Context,
	env string,
	ids []resource.ID,
	f func(m *image, r *state.Row),
) error {
	if len(ids) == 0 {
		return nil
	}
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return err
	}
	return s.eachIn(ctx, env, recs, ids, f)
}

// eachIn is eachFound for records that were read.
func (s *rows) eachIn(
	ctx context.Context,
	env string,
	recs []*record,
	ids []resource.ID,
	f func(m *image, r *state.Row),
) error {
	byAgent := map[string][]resource.ID{}
	found := make(map[resource.ID]bool, len(ids))
	for _, id := range ids {
		byAgent[id.Agent()] = append(byAgent[id.Agent()], id)
	}
	for _, rec := range recs {
		lane, _ := laneOf(rec.key)
		wanted := byAgent[state.AgentOf(lane)]
		if rec.foreign {
			wanted = ids
		}
		if len(wanted) == 0 || rec.total() == 0 {
			continue
		}
		if err := s.withImage(ctx, env, rec, func(m *image) error {
			for _, id := range wanted {
				if r, has := m.row(id); has && !found[id] {
					found[id] = true
					f(m, &r)
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// LaneRows implements state.State.
func (s *rows) LaneRows(ctx context.Context, env, lane string, all bool) ([]state.Row, error) {
	rec, err := s.readRecord(ctx, env, keyOf(lane))
	if err != nil {
		return nil, err
	}
	return s.laneRows(ctx, env, rec, all)
}

// laneRows returns the rows of a record that was read: all rows, or those with a ticket.
func (s *rows) laneRows(
	ctx context.Context, env string, rec *record, all bool,
) ([]state.Row, error) {
	if rec.total() == 0 || (!all && rec.tickets == 0) {
		return nil, nil
	}
	var out []state.Row
	err := s.withImage(ctx, env, rec, func(m *image) error {
		n := len(m.rows)
		if !all {
			n = min(n, rec.tickets)
		}
		out = make([]state.Row, 0, n)
		for _, id := range m.order() {
			if r := m.rows[id]; all || r.ticket != 0 {
				out = append(out, r.row(id, m.lane))
			}
		}
		return nil
	})
	return out, err
}

// ScanRows implements state.State.
func (s *rows) ScanRows(
	ctx context.Context,
	env string,
	after resource.ID,
	limit int,
) ([]state.Row, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, err
	}
	var out []state.Row
	for _, rec := range recs {
		if rec.total() == 0 {
			continue
		}
		if err := s.withImage(ctx, env, rec, func(m *image) error {
			ids := m.order()
			from := sort.Search(len(ids), func(i int) bool { return ids[i] > after })
			for _, id := range ids[from:min(from+limit, len(ids))] {
				out = append(out, m.rows[id].row(id, m.lane))
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	// A row that moved during the read may be in both lanes: the higher revision counts.
	slices.SortFunc(out, func(a, b state.Row) int {
		return cmp.Or(strings.Compare(string(a.ID), string(b.ID)), cmp.Compare(b.Rev, a.Rev))
	})
	out = slices.CompactFunc(out, func(a, b state.Row) bool { return a.ID == b.ID })
	return out[:min(limit, len(out))], nil
}

// Schedule implements state.State. It reads the head, the records, and the head again. The records
// are read one after another. That is safe, because only a planner adds tickets, and a planner's
// commit changes the head.
func (s *rows) Schedule(ctx context.Context, env string, agents ...string) (state.Schedule, error) {
	before, err := s.readHead(ctx, env)
	if err != nil {
		return state.Schedule{}, err
	}
	out, _, err := s.scheduled(ctx, env, before, agents)
	return out.Schedule, err
}

// scheduled implements Schedule after the head was read. It also returns the records, and the head
// that they belong to.
func (s *rows) scheduled(
	ctx context.Context, env string, before *head, agents []string,
) (out scheduled, of *head, err error) {
	err = s.contend(ctx, func() error {
		var err error
		if out, err = s.schedule(ctx, env, before, agents); err != nil || out.withRows < 2 {
			return err // one record is consistent
		}
		after, err := s.readHead(ctx, env)
		if err != nil || after.plannedAs(before) {
			return err
		}
		before = after
		return errLost
	})
	return out, before, err
}

// plannedAs reports whether no plan was committed between two reads of a head.
func (h *head) plannedAs(o *head) bool { return h.plan == o.plan && h.rev == o.rev && h.tx == o.tx }

// scheduled is a schedule, with the records that it was computed from.
type scheduled struct {
	state.Schedule
	withRows int // number of lanes that have rows
	records  []*record
}

// schedule returns the schedule of some agents, or of all agents if none is given.
func (s *rows) schedule(
	ctx context.Context, env string, h *head, agents []string,
) (scheduled, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return scheduled{}, err
	}
	return s.scheduleIn(ctx, env, h, recs, agents, nil)
}

// scheduleIn computes the schedule from records that were read. If waiting is not nil, scheduleIn
// only counts the tickets there, by lane. Most records contain that count, so their images are not
// needed.
func (s *rows) scheduleIn(
	ctx context.Context, env string, h *head, recs []*record, agents []string,
	waiting map[string]int,
) (scheduled, error) {
	e, err := h.env()
	if err != nil {
		return scheduled{}, err
	}
	out := scheduled{records: recs, Schedule: state.Schedule{
		PlanSeq: e.PlanSeq, Graph: e.Graph, Wave: e.Wave, Halted: e.Halted}}
	for _, rec := range recs {
		lane, _ := laneOf(rec.key)
		if len(agents) > 0 && !slices.Contains(agents, state.AgentOf(lane)) {
			continue
		}
		if rec.total() > 0 {
			out.withRows++
		}
		waving := e.Wave.Epoch != 0 && rec.wave < e.Wave.Epoch &&
			rec.total() > rec.statuses()[state.StatusOrphaned]
		if rec.tickets == 0 && !waving {
			continue
		}
		if waiting != nil && !waving {
			waiting[lane] = rec.tickets
			continue
		}
		if err := s.withImage(ctx, env, rec, func(m *image) error {
			for id, r := range m.rows {
				switch {
				case r.ticket == 0:
				case waiting != nil:
					waiting[lane]++
				default:
					out.Tickets = append(out.Tickets, state.Ticket{ID: id, Lane: lane, N: r.ticket})
				}
			}
			// The image may be newer than the record. So it may have more rows to check, or fewer.
			if e.Wave.Epoch == 0 || m.wave >= e.Wave.Epoch || !m.wanted() {
				return nil
			}
			if out.Unfinished == nil {
				out.Unfinished = map[string][]resource.ID{}
			}
			out.Unfinished[lane] = nil
			if m.epoch == e.Wave.Epoch {
				out.Unfinished[lane] = slices.Sorted(maps.Keys(m.checked))
			}
			return nil
		}); err != nil {
			return out, err
		}
	}
	return out, nil
}

// Finished implements state.State.
func (s *rows) Finished(
	ctx context.Context,
	env string,
	ids []resource.ID,
	epoch int64,
) ([]resource.ID, error) {
	open := map[resource.ID]bool{}
	err := s.eachFound(ctx, env, ids, func(m *image, r *state.Row) {
		checked := epoch == 0 || r.Checked >= epoch || m.wave >= epoch ||
			(m.epoch == epoch && m.checked[r.ID])
		open[r.ID] = r.Ticket() != 0 || !checked
	})
	if err != nil {
		return nil, err
	}
	var out []resource.ID
	for _, id := range ids {
		if !open[id] {
			out = append(out, id)
		}
	}
	return out, nil
}

// Due implements state.State.
func (s *rows) Due(
	ctx context.Context,
	env string,
	at time.Time,
	limit int,
) ([]resource.ID, time.Time, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, time.Time{}, err
	}
	type timer struct {
		at time.Time
		id resource.ID
	}
	var due []timer
	var next time.Time
	later := func(t time.Time) {
		if next.IsZero() || t.Before(next) {
			next = t
		}
	}
	for _, rec := range recs {
		switch {
		case rec.due.IsZero():
			continue
		case rec.due.After(at):
			later(rec.due)
			continue
		}
		if err := s.withImage(ctx, env, rec, func(m *image) error {
			for id, r := range m.rows {
				switch {
				case r.timer.IsZero():
				case r.timer.After(at):
					later(r.timer)
				default:
					due = append(due, timer{r.timer, id})
				}
			}
			return nil
		}); err != nil {
			return nil, time.Time{}, err
		}
	}
	slices.SortFunc(
		due,
		func(a, b timer) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id)) },
	)
	var out []resource.ID
	seen := map[resource.ID]bool{}
	for _, t := range due {
		if len(out) == limit {
			break
		}
		if !seen[t.id] { // otherwise it moved during the read and was in both lanes
			seen[t.id] = true
			out = append(out, t.id)
		}
	}
	return out, next, nil
}

// Counts implements state.State.
func (s *rows) Counts(ctx context.Context, env string) (map[state.Status]int, error) {
	recs, err := s.readRecords(ctx, env)
	return countsIn(recs), err
}

func countsIn(recs []*record) map[state.Status]int {
	out := map[state.Status]int{}
	for _, rec := range recs {
		for kind, n := range rec.counts {
			out[kind.status] += n
		}
	}
	return out
}

// Outbox implements state.State.
func (s *rows) Outbox(ctx context.Context, env string, limit int) ([]state.Outbox, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return nil, err
	}
	var out []state.Outbox
	for _, rec := range recs {
		if rec.outbox == 0 {
			continue
		}
		if err := s.withImage(ctx, env, rec, func(m *image) error {
			out = slices.AppendSeq(out, maps.Values(m.outbox))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(
		out,
		func(a, b state.Outbox) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) },
	)
	return out[:min(limit, len(out))], nil
}
