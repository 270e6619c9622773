package inventorytest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// model is a sequential model of a store: the references, closed flags and so on of its records.
type model map[string]inventory.Record

// write applies changes. If they are invalid, it returns false.
func (m model) write(changes []inventory.Change) (model, bool) {
	out := maps.Clone(m)
	for i := range changes {
		r := changes[i].Record
		if out[r.ID].Rev != r.Rev {
			return m, false
		}
		r.Rev++
		out[r.ID] = r
	}
	return out, out.sound()
}

// sound reports whether identities are unique and all references lead to open instances.
func (m model) sound() bool {
	taken := map[string]bool{}
	for id := range m {
		r := m[id]
		if r.Deleted {
			continue
		}
		if r.Identity != "" && taken[r.Identity] {
			return false
		}
		taken[r.Identity] = true
		for _, target := range r.Leads() {
			if t, ok := m[target]; !ok || t.Deleted || t.Closed {
				return false
			}
		}
	}
	return true
}

// state returns the compared part of the model as text.
func (m model) state() string {
	out := ""
	for _, id := range slices.Sorted(maps.Keys(m)) {
		r := m[id]
		out += fmt.Sprintf("%s rev %d identity %q leads %v closed %v deleted %v\n",
			id, r.Rev, r.Identity, r.Leads(), r.Closed, r.Deleted)
	}
	return out
}

// serial makes three concurrent writes, repeatedly. Each result has to equal that of some
// sequential order of the writes.
func (s *suite) serial() {
	const rounds = 24
	random := rand.New(rand.NewPCG(17, 3)) // deterministic
	m := model{}
	for round := range rounds {
		writes := [][]inventory.Change{m.any(random), m.any(random), m.any(random)}
		done := s.writeAtOnce(writes)
		is := s.now()
		next, ok := m.explain(writes, done, is)
		if !ok {
			s.Fatalf("round %d: no order of %+v makes %v and\n%sof\n%s", round, writes, done,
				is.state(), m.state())
		}
		m = next
	}
}

// any returns changes of one or two of a few instances.
func (m model) any(random *rand.Rand) []inventory.Change {
	const instances = 4
	var out []inventory.Change
	for _, n := range random.Perm(instances)[:1+random.IntN(2)] {
		r, ok := m[record(n).ID]
		if !ok {
			r = record(n)
		}
		switch what := random.IntN(6); {
		case what == 0 && ok:
			r.Closed = !r.Closed
		case what == 1 && ok:
			r.Deleted = !r.Deleted
		case what == 2:
			r.Identity = []string{"", "shop", "lab"}[random.IntN(3)]
		case what == 3:
			r.References = nil
		default:
			r.References = []string{record(random.IntN(instances)).ID}
		}
		out = append(out, inventory.Change{Record: r, Events: []inventory.Event{{Kind: "x"}}})
	}
	return out
}

// writeAtOnce makes writes concurrently, and returns which of them succeeded.
func (s *suite) writeAtOnce(writes [][]inventory.Change) []bool {
	done := make([]bool, len(writes))
	var wg sync.WaitGroup
	for i, w := range writes {
		wg.Go(func() {
			_, err := s.at(i).Write(s.ctx, env, w)
			if done[i] = err == nil; err != nil && !is(err, fault.Conflict) &&
				!is(err, fault.Refused) {
				s.Error(err)
			}
		})
	}
	wg.Wait()
	return done
}

// now returns the stored records, and checks that all queries agree.
func (s *suite) now() model {
	s.Helper()
	all, err := s.h.B.Instances(s.ctx, env, inventory.Query{Deleted: true})
	if err != nil {
		s.Fatal(err)
	}
	m, by := model{}, map[string][]string{}
	for _, r := range all {
		m[r.ID] = r
		for _, target := range r.Leads() {
			by[target] = append(by[target], r.ID)
		}
		events, err := s.h.A.Events(s.ctx, env, r.ID, 0, 0)
		if err != nil || int64(len(events)) != r.Rev {
			s.Errorf("%s has %d events and revision %d: %v", r.ID, len(events), r.Rev, err)
		}
		if r.Identity != "" && !r.Deleted {
			if found, err := s.h.A.ByIdentity(s.ctx, env, r.Service, r.Identity); found.ID != r.ID {
				s.Errorf("%q is %s, not %s: %v", r.Identity, found.ID, r.ID, err)
			}
		}
	}
	for id := range m {
		got, err := s.h.A.ReferredBy(s.ctx, env, id)
		if err != nil || !slices.Equal(got, by[id]) {
			s.Errorf("%s is needed by %v, and not by %v: %v", id, by[id], got, err)
		}
	}
	return m
}

// explain finds a sequential order of the writes that leads to the result.
func (m model) explain(writes [][]inventory.Change, done []bool, is model) (model, bool) {
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, order := range orders {
		now, fits := m, true
		for _, i := range order {
			next, ok := now.write(writes[i])
			if fits = fits && ok == done[i]; !fits {
				break
			}
			if ok {
				now = next
			}
		}
		if fits && now.state() == is.state() {
			return is, true
		}
	}
	return nil, false
}
