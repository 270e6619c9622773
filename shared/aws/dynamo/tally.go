package dynamo

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/internal/binform"
)

// counter is a number of rows of an agent: those of a type and a status, or those with a ticket, which
// have no type.
type counter struct {
	agent, of string
	status    state.Status
}

// tally is a set of counters, without zeros. Each lease has the sum of the changes that were written
// under it, which may be negative. The sum over all leases is exact, since each change is computed
// from the row that its transaction compares.
type tally map[counter]int

func (t tally) add(c counter, n int) {
	if t[c] += n; t[c] == 0 {
		delete(t, c)
	}
}

// count adds n for a row.
func (t tally) count(r *state.Row, n int) {
	t.add(counter{r.Agent, r.ID.Type(), r.Status()}, n)
	if r.Ticket() != 0 {
		t.add(counter{agent: r.Agent}, n)
	}
}

func (t tally) write(w *binform.Writer) {
	w.Len(len(t))
	for _, c := range slices.SortedFunc(maps.Keys(t), compareCounters) {
		w.Text(c.agent)
		w.Text(c.of)
		w.Text(string(c.status))
		w.Int(int64(t[c]))
	}
}

func compareCounters(a, b counter) int {
	return cmp.Or(cmp.Compare(a.agent, b.agent), cmp.Compare(a.of, b.of),
		cmp.Compare(a.status, b.status))
}

func (t tally) read(d *binform.Reader) {
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		c := counter{d.Text(), d.Text(), state.Status(d.Text())}
		t[c] = int(d.Int())
	}
}

// allLeases are the leases of an environment, and the sum of their tallies.
type allLeases struct {
	leases []*lease
	sum    tally
}

// readLeases reads all leases. They need not be of one moment, so their sum is exact only if no
// process has written during the read: see tallied.
func (s *store) readLeases(ctx context.Context, env string) (*allLeases, error) {
	list, err := s.list(ctx, leasePart(env), "")
	if err != nil {
		return nil, err
	}
	out := &allLeases{sum: tally{}}
	for _, i := range list {
		l, err := s.leaseOf(keyOf(i).sort, i)
		if err != nil {
			return nil, err
		}
		out.leases = append(out.leases, l)
		for c, n := range l.tally {
			out.sum.add(c, n)
		}
	}
	return out, nil
}

// tallied reads all leases until two reads are equal, so that the sum of their tallies is exact. If
// other processes keep writing, it returns the last read.
func (s *store) tallied(ctx context.Context, env string) (*allLeases, error) {
	const tries = 5
	out, err := s.readLeases(ctx, env)
	for range tries {
		if err != nil || len(out.leases) < 2 { // one item is of one moment
			break
		}
		before := out
		if out, err = s.readLeases(ctx, env); err == nil && out.same(before) {
			break
		}
	}
	return out, err
}

func (a *allLeases) same(b *allLeases) bool {
	return slices.EqualFunc(a.leases, b.leases, func(x, y *lease) bool {
		return x.key == y.key && x.seq == y.seq
	})
}

func (a *allLeases) public() []state.Lease {
	out := make([]state.Lease, len(a.leases))
	for i, l := range a.leases {
		out[i] = l.public()
	}
	return out
}

// waiting returns the number of tickets by agent.
func (a *allLeases) waiting() map[string]int {
	out := map[string]int{}
	for c, n := range a.sum {
		if c.of == "" && n > 0 {
			out[c.agent] = n
		}
	}
	return out
}

// statuses returns the number of rows by status.
func (a *allLeases) statuses() map[state.Status]int {
	out := map[state.Status]int{}
	for c, n := range a.sum {
		if c.of != "" && n > 0 {
			out[c.status] += n
		}
	}
	return out
}

// unfinished returns the agents with rows to check that have not finished a wave; epoch 0: there is
// no wave.
func (a *allLeases) unfinished(epoch int64) map[string]bool {
	out := map[string]bool{}
	if epoch == 0 {
		return out
	}
	for c, n := range a.sum {
		if c.of != "" && c.status != state.StatusOrphaned && n > 0 {
			out[c.agent] = true
		}
	}
	for _, l := range a.leases {
		if l.wave >= epoch {
			delete(out, l.key)
		}
	}
	return out
}

// kinds returns the types of the rows of an agent, and the number of these rows; agent "": of all
// agents.
func (a *allLeases) kinds(agent string) (types []string, total int) {
	of := map[string]bool{}
	for c, n := range a.sum {
		if c.of != "" && n > 0 && (agent == "" || c.agent == agent) {
			of[c.of] = true
			total += n
		}
	}
	return slices.Sorted(maps.Keys(of)), total
}

// Tally implements state.Tallier. It reads the leases, and no rows.
func (s *rows) Tally(ctx context.Context, env string) ([]state.Tally, error) {
	all, err := s.tallied(ctx, env)
	if err != nil {
		return nil, err
	}
	var out []state.Tally
	for c, n := range all.sum {
		if c.of != "" && n > 0 {
			out = append(out, state.Tally{Agent: c.agent, Type: c.of, Status: c.status, Count: n})
		}
	}
	return out, nil
}

// Counts implements state.State.
func (s *rows) Counts(ctx context.Context, env string) (map[state.Status]int, error) {
	all, err := s.tallied(ctx, env)
	if err != nil {
		return nil, err
	}
	return all.statuses(), nil
}
