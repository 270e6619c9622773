package inventorytest

import (
	"fmt"
	"sync"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// under returns a change of a record under a generation.
func under(r inventory.Record, service string, number int64) inventory.Change {
	return inventory.Change{
		Record: r, Under: []inventory.Generation{{Service: service, Number: number}},
	}
}

// generation checks the generation of a service as the other process sees it.
func (s *suite) generation(service string, number int64, last ...inventory.Seen) {
	s.Helper()
	got, err := s.h.B.Generation(s.ctx, env, service)
	if err != nil {
		s.Fatal(err)
	}
	s.same("the generation",
		inventory.Generation{Service: service, Number: number, Last: last}, got)
}

// generations writes chosen values. A write under an outdated generation is refused as a whole.
func (s *suite) generations() {
	s.generation("site", 0)
	one, two := s.put(record(1)), s.put(record(2))
	revs, err := s.h.A.Write(s.ctx, env,
		[]inventory.Change{under(one, "site", 0), under(two, "site", 0)})
	if err != nil {
		s.Fatal(err)
	}
	one.Rev, two.Rev = revs[0], revs[1]
	s.generation("site", 1, inventory.Seen{ID: one.ID, Rev: one.Rev},
		inventory.Seen{ID: two.ID, Rev: two.Rev})
	for name, number := range map[string]int64{
		"an earlier one": 0, "a later one": 2,
		"one that is not that of what was read": inventory.Outdated,
	} {
		_, err := s.h.B.Write(s.ctx, env,
			[]inventory.Change{{Record: one}, under(two, "site", number)})
		if !is(err, fault.Conflict) || !inventory.IsMoved(err) {
			s.Errorf("%s: %v", name, err)
		}
	}
	s.same("what was refused is not written", one.Rev, s.read(one.ID).Rev)
	s.generation("lab", 0)
	stale := one
	one = s.put(one) // a write without chosen values moves no generation
	s.generation("site", 1, inventory.Seen{ID: one.ID, Rev: stale.Rev},
		inventory.Seen{ID: two.ID, Rev: two.Rev})
	_, err = s.h.B.Write(s.ctx, env, []inventory.Change{under(stale, "site", 0)})
	if !is(err, fault.Conflict) || inventory.IsMoved(err) {
		s.Errorf("that the record has changed goes before: %v", err)
	}
	_, err = s.h.A.Write(s.ctx, env,
		[]inventory.Change{under(one, "site", 1), under(two, "site", 2)})
	if !is(err, fault.Invalid) {
		s.Errorf("two generations of a service: %v", err)
	}
	revs, err = s.h.B.Write(s.ctx, env, []inventory.Change{under(one, "site", 1)})
	if err != nil {
		s.Fatal(err)
	}
	s.generation("site", 2, inventory.Seen{ID: one.ID, Rev: revs[0]})
	if g, err := s.h.A.Generation(s.ctx, "other", "site"); err != nil || g.Number != 0 {
		s.Errorf("another environment: %+v, %v", g, err)
	}
}

// rounds chooses values several times concurrently: one write succeeds for each generation.
func (s *suite) rounds() {
	const rivals = 4
	for round := range int64(3) {
		errs := make([]error, rivals)
		var wg sync.WaitGroup
		for i := range errs {
			r := record(10*int(round) + i)
			wg.Go(func() {
				_, errs[i] = s.at(i).Write(s.ctx, env, []inventory.Change{under(r, "site", round)})
			})
		}
		wg.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !inventory.IsMoved(err):
				s.Error(err)
			}
		}
		s.same("how many have chosen", 1, won)
	}
}

// full makes the largest possible write under the largest number of generations.
func (s *suite) full() {
	const most = 4
	write := func(from, services int) error {
		var changes []inventory.Change
		for n := range inventory.MaxChanges {
			c := inventory.Change{Record: record(from + n)}
			for i := range services {
				c.Under = append(c.Under, inventory.Generation{Service: fmt.Sprint("s", from, i)})
			}
			changes = append(changes, c)
		}
		_, err := s.h.A.Write(s.ctx, env, changes)
		return err
	}
	if err := write(0, most); err != nil {
		s.Error(err)
	}
	if err := write(100, most+1); !is(err, fault.Invalid) {
		s.Errorf("too much at once: %v", err)
	}
}
