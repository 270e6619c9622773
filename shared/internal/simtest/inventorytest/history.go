package inventorytest

import (
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// history checks the record of an instance at each of its versions.
func (s *suite) history() {
	r := record(1)
	r.Candidate = map[string]any{"name": "shop"}
	r.Tasks, r.Due = []inventory.Task{{Kind: inventory.TaskContinue}}, began
	r = s.put(r)
	first := r.Was()
	s.same("what is", []inventory.Record{first}, s.versions(0, 0))
	stale := r
	// A change of tasks is not part of the history.
	r.Due, r.Follows = r.Due.Add(time.Minute), []string{"fs::File[a,path=/top]"}
	r = s.put(r)
	r.Active, r.Candidate, r.Rollback = r.Candidate, nil, map[string]any{"name": "old"}
	r.Version, r.State, r.Tasks = 2, "failed", nil
	r = s.put(r)
	stale.Version = 3
	s.refused(fault.Conflict, stale)
	s.same("both", []inventory.Record{first, r.Was()}, s.versions(0, 0))
	r.Active = map[string]any{"name": "shop", "address": "10.0.0.1"} // without a transfer
	r = s.put(r)
	second := r.Was()
	s.same("what was written last", []inventory.Record{first, second}, s.versions(0, 0))
	r.Version, r.Deleted, r.Updated = 5, true, began.Add(time.Hour)
	r = s.put(r)
	s.same("all", []inventory.Record{first, second, r.Was()}, s.versions(0, 0))
	s.same("a page", []inventory.Record{second}, s.versions(1, 1))
	s.same("behind the last", []inventory.Record(nil), s.versions(5, 0))
	other, err := s.h.B.Versions(s.ctx, "other", r.ID, 0, 0)
	if err != nil || len(other) > 0 {
		s.Errorf("%v, %v", other, err)
	}
}

func (s *suite) versions(after int64, limit int) []inventory.Record {
	s.Helper()
	out, err := s.h.B.Versions(s.ctx, env, "i001", after, limit)
	if err != nil {
		s.Fatal(err)
	}
	return out
}
