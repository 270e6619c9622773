package inventorytest

import (
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// texts checks that the texts of compiles are removed when they are old, and that their events stay.
func (s *suite) texts() {
	whole := inventory.Compile{DurationMS: 7, Instances: 2, Trace: "x\n  y", Output: "1\n"}
	silent := inventory.Compile{DurationMS: 8, Instances: 1}
	gone := inventory.Compile{DurationMS: 7, Instances: 2, Removed: true}
	at := func(at time.Time, c *inventory.Compile) inventory.Event {
		return inventory.Event{At: at, Version: 1, Kind: "problem", Message: "stays", Compile: c}
	}
	second := func(d time.Duration) time.Time { return began.Add(d) }
	read := func(id string, after int64, limit int) (out []inventory.Compile) {
		s.Helper()
		all, err := s.h.B.Events(s.ctx, env, id, after, limit)
		if err != nil {
			s.Fatal(err)
		}
		for i, e := range all {
			if e.Seq != after+int64(i)+1 || e.Message != "stays" {
				s.Errorf("%s: %+v", id, e)
			}
			if e.Compile == nil {
				e.Compile = &inventory.Compile{}
			}
			out = append(out, *e.Compile)
		}
		return out
	}
	pass := func(id int, now time.Time) {
		s.Helper()
		s.put(record(id), at(now, &silent))
		if s.h.Expire != nil {
			s.h.Expire(s.T, now)
		}
	}

	// A write with several events, of which one has texts, then one more event with texts.
	r := s.put(record(1), at(began, nil), at(began, &whole), at(began, &silent))
	stale := r
	r = s.put(r, at(second(time.Hour), &whole))
	s.same("all", []inventory.Compile{{}, whole, silent, whole}, read(r.ID, 0, 0))
	s.same("a page that ends with texts", []inventory.Compile{{}, whole}, read(r.ID, 0, 2))
	s.same("a page that begins with texts", []inventory.Compile{whole}, read(r.ID, 1, 1))
	s.same("behind the texts", []inventory.Compile{silent, whole}, read(r.ID, 2, 0))

	pass(2, second(inventory.CompileKept))
	s.same("at the end of the time", []inventory.Compile{{}, whole, silent, whole}, read(r.ID, 0, 0))

	late := at(second(2*inventory.CompileKept), &whole)
	_, err := s.h.B.Write(s.ctx, env, []inventory.Change{{Record: stale, Events: []inventory.Event{late}}})
	if !is(err, fault.Conflict) {
		s.Error(err)
	}
	s.same("after a refused write", []inventory.Compile{{}, whole, silent, whole}, read(r.ID, 0, 0))

	pass(3, second(inventory.CompileKept+time.Minute))
	s.same("after the time of the first", []inventory.Compile{{}, gone, silent, whole}, read(r.ID, 0, 0))
	s.same("a page with removed texts", []inventory.Compile{gone, silent}, read(r.ID, 1, 2))

	pass(4, second(inventory.CompileKept+2*time.Hour))
	s.same("after the time of both", []inventory.Compile{{}, gone, silent, gone}, read(r.ID, 0, 0))
	if r = s.put(r, at(second(inventory.CompileKept+3*time.Hour), &whole)); r.Rev == 0 {
		s.Error("no revision")
	}
	s.same("new ones", []inventory.Compile{gone, whole}, read(r.ID, 3, 0))
}
