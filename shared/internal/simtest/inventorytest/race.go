package inventorytest

import (
	"fmt"
	"sync"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// at returns one of the two processes.
func (s *suite) at(i int) inventory.Store { return []inventory.Store{s.h.A, s.h.B}[i%2] }

// atOnceAll makes each change in its own write, concurrently, and returns the errors.
func (s *suite) atOnceAll(records ...inventory.Record) []error {
	errs := make([]error, len(records))
	var wg sync.WaitGroup
	for i, r := range records {
		wg.Go(func() {
			_, errs[i] = s.at(i).Write(s.ctx, env, []inventory.Change{{Record: r}})
		})
	}
	wg.Wait()
	return errs
}

// race increments a version concurrently from both processes: no increment is lost.
func (s *suite) race() {
	s.put(record(1))
	const workers, each = 4, 8
	var wg sync.WaitGroup
	for w := range workers {
		store := []inventory.Store{s.h.A, s.h.B}[w%2]
		wg.Go(func() {
			for done := 0; done < each; {
				r, err := store.Instance(s.ctx, env, "i001")
				if err != nil {
					s.Error(err)
					return
				}
				r.Version++
				_, err = store.Write(s.ctx, env, []inventory.Change{{Record: r}})
				switch {
				case err == nil:
					done++
				case !is(err, fault.Conflict):
					s.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	s.same("the count", int64(1+workers*each), s.read("i001").Version)
}

// crossing makes two concurrent writes: one adds a reference to an instance, and one begins to
// delete that instance. One of them is refused.
func (s *suite) crossing() {
	const rounds = 8
	for n := range rounds {
		parent, child := s.put(record(3*n)), record(3*n+1)
		if n%2 == 1 { // another instance has referred to it before
			before := record(3*n + 2)
			before.References = []string{parent.ID}
			before = s.put(before)
			before.Deleted = true
			s.put(before)
		}
		child.References, parent.Closed = []string{parent.ID}, true
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, r := range []inventory.Record{parent, child} {
			wg.Go(func() {
				store := []inventory.Store{s.h.A, s.h.B}[i]
				_, errs[i] = store.Write(s.ctx, env, []inventory.Change{{Record: r}})
			})
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			s.Errorf("%v, %v", errs[0], errs[1])
		}
	}
}

// rivals orders one identity several times concurrently: one order gets it.
func (s *suite) rivals() {
	const rivals = 6
	for round := range 4 {
		var records []inventory.Record
		for n := range rivals {
			r := record(rivals*round + n)
			r.Identity = fmt.Sprint("shop", round)
			records = append(records, r)
		}
		winner := ""
		for i, err := range s.atOnceAll(records...) {
			switch {
			case err == nil && winner == "":
				winner = records[i].ID
			case err == nil:
				s.Errorf("%s and %s have it", winner, records[i].ID)
			case !is(err, fault.Refused):
				s.Error(err)
			}
		}
		found, err := s.h.A.ByIdentity(s.ctx, env, "site", records[0].Identity)
		if err != nil || found.ID != winner {
			s.Errorf("%s has won, and %s has it: %v", winner, found.ID, err)
		}
	}
}

// popular adds references of several instances to one instance while that instance changes: no
// write is refused.
func (s *suite) popular() {
	parent := s.put(record(0))
	records := []inventory.Record{parent}
	for n := range 8 {
		child := record(n + 1)
		child.References = []string{parent.ID}
		records = append(records, child)
	}
	for i, err := range s.atOnceAll(records...) {
		if err != nil {
			s.Errorf("%s: %v", records[i].ID, err)
		}
	}
	by, err := s.h.A.ReferredBy(s.ctx, env, parent.ID)
	if err != nil || len(by) != len(records)-1 {
		s.Errorf("%v, %v", by, err)
	}
}
