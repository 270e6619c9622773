package inventorytest

import (
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// handover moves an identity from one instance to another in one write, and swaps two identities.
func (s *suite) handover() {
	one, two := record(1), record(2)
	one.Identity, two.Identity = "shop", "lab"
	one, two = s.put(one), s.put(two)
	same := two
	same.Identity = one.Identity
	s.refused(fault.Refused, same, one)
	s.refused(fault.Refused, one, same)
	one.Identity, two.Identity = two.Identity, one.Identity
	one, two = s.both(one, two)
	gone, taker := one, two
	gone.Deleted, taker.Identity = true, one.Identity
	taker, _ = s.both(taker, gone)
	found, err := s.h.A.ByIdentity(s.ctx, env, "site", "lab")
	if err != nil || found.ID != taker.ID {
		s.Errorf("%s, %v", found.ID, err)
	}
	if _, err := s.h.A.ByIdentity(s.ctx, env, "site", "shop"); !is(err, fault.NotFound) {
		s.Error(err)
	}
	three, four := record(3), record(4)
	three.Identity, four.Identity = "new", "new"
	s.refused(fault.Refused, three, four)
}

// both stores two records in one write, which has to succeed.
func (s *suite) both(one, two inventory.Record) (a, b inventory.Record) {
	s.Helper()
	revs, err := s.h.B.Write(s.ctx, env, []inventory.Change{{Record: one}, {Record: two}})
	if err != nil {
		s.Fatal(err)
	}
	one.Rev, two.Rev = revs[0], revs[1]
	return one, two
}

// itself checks that an instance that refers to itself can be deleted.
func (s *suite) itself() {
	r := record(1)
	r.References = []string{r.ID, r.ID}
	r = s.put(r)
	by, err := s.h.B.ReferredBy(s.ctx, env, r.ID)
	if err != nil || len(by) > 0 {
		s.Errorf("%v, %v", by, err)
	}
	r.Closed = true
	r = s.put(r)
	r.Deleted = true
	s.put(r)
}

// reopened cancels a delete: other instances may refer to the instance again.
func (s *suite) reopened() {
	parent, child := s.put(record(1)), record(2)
	child.References = []string{parent.ID}
	parent.Closed = true
	parent = s.put(parent)
	s.refused(fault.Refused, child)
	both := parent
	both.Closed = false
	parent, child = s.both(both, child) // in one write, too
	parent.Closed = true
	s.refused(fault.Refused, parent)
	child.Deleted = true
	parent, child = s.both(parent, child)
	child.Deleted = false
	s.refused(fault.Refused, child)
	parent.Closed = false
	parent = s.put(parent)
	s.put(child)
	late := record(3)
	late.References = []string{parent.ID}
	s.put(late)
	parent.Deleted = true
	s.refused(fault.Refused, parent)
}

// kept checks that immutable fields cannot change.
func (s *suite) kept() {
	r := s.put(record(1))
	other := r
	other.Service = "lab"
	s.refused(fault.Invalid, other)
	other = r
	other.Created = other.Created.Add(time.Minute)
	s.refused(fault.Invalid, other)
	r.State = "failed"
	s.put(r)
}

// owners checks the owners of resource sets. Stores that no home exports beside need not implement
// inventory.Owners.
func (s *suite) owners() {
	owners, ok := s.h.B.(inventory.Owners)
	if !ok {
		return
	}
	here, gone := s.put(record(1)), s.put(record(2))
	gone.Deleted = true
	s.put(gone)
	for _, env := range []string{env, "other"} {
		live, dead, err := owners.Owners(s.ctx, env,
			[]string{"none", gone.ID, here.ID, "other/none"})
		if err != nil {
			s.Fatal(err)
		}
		if env == "other" && len(live)+len(dead) == 0 {
			continue
		}
		s.same("live in "+env, []string{here.ID}, live)
		s.same("gone in "+env, []string{gone.ID}, dead)
	}
}

// byState checks the numbers of instances by state and version, after they were written, changed
// and deleted.
func (s *suite) byState() {
	check := func(what, service string, want map[inventory.Standing]int) {
		s.Helper()
		got, err := s.h.B.ByState(s.ctx, env, service)
		if err != nil {
			s.Fatal(err)
		}
		s.same(what, want, got)
	}
	up, failed, newer := inventory.Standing{State: "up"}, inventory.Standing{State: "failed"},
		inventory.Standing{State: "up", Version: 1}
	check("none", "site", map[inventory.Standing]int{})
	var all []inventory.Record
	for i := range 5 {
		all = append(all, s.put(record(i)))
	}
	lab := record(9)
	lab.Service = "lab"
	s.put(lab)
	check("new", "site", map[inventory.Standing]int{up: 5})
	all[1].State, all[3].ServiceVersion = "failed", 1
	all[1], all[3] = s.put(all[1]), s.put(all[3])
	check("changed", "site", map[inventory.Standing]int{up: 3, failed: 1, newer: 1})
	all[2].Deleted = true
	s.put(all[2])
	all[1].State = "up"
	s.put(all[1])
	check("deleted", "site", map[inventory.Standing]int{up: 3, newer: 1})
	check("another service", "lab", map[inventory.Standing]int{up: 1})
}
