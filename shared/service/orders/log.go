package orders

import (
	"context"
	"time"

	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// LogEntry is a state that an instance has come to.
type LogEntry struct {
	Instance string            `json:"service_instance_id"`
	Service  string            `json:"service_entity"`
	Version  int64             `json:"version"`
	At       time.Time         `json:"timestamp"`
	State    string            `json:"state"`
	From     string            `json:"source" doc:"the state before; empty: there was none"`
	Trigger  lifecycle.Trigger `json:"trigger"`
	Error    bool              `json:"is_error_transition"`
	Message  string            `json:"message"`
	// The sets of attributes as they were left at this version; nil where there was none.
	Candidate Attributes `json:"candidate_attributes"`
	Active    Attributes `json:"active_attributes"`
	Rollback  Attributes `json:"rollback_attributes"`
}

// Log returns the states that an instance has come to, with its attributes, behind a version, the
// oldest first, at most limit and inventory.MaxVersions.
func (s *views) Log(
	ctx context.Context, env string, ref Ref, after int64, limit int,
) ([]LogEntry, error) {
	r, err := s.record(ctx, env, ref)
	if err != nil {
		return nil, err
	}
	out := []LogEntry{}
	for limit, seq := inventory.Versions(limit), int64(0); len(out) < limit; {
		page, err := s.Instances.Events(ctx, env, r.ID, seq, inventory.MaxPage)
		if err != nil {
			return nil, err
		}
		for i := range page {
			e := &Event{r.ID, r.Service, page[i]}
			if seq = e.Seq; e.Entered() && e.Version > after && len(out) < limit {
				out = append(out, e.entry())
			}
		}
		if len(page) < inventory.MaxPage {
			break
		}
	}
	return out, s.attributesOf(ctx, env, r.ID, out)
}

// entry returns what the log has of an event, without attributes.
func (e *Event) entry() LogEntry {
	return LogEntry{
		Instance: e.Instance, Service: e.Service, Version: e.Version, At: e.At, State: e.To,
		From: e.From, Trigger: lifecycle.Trigger(e.Kind), Error: e.Error, Message: e.Message,
	}
}

// attributesOf fills in the attributes that an instance had.
func (s *views) attributesOf(
	ctx context.Context, env, id string, log []LogEntry,
) error {
	if len(log) == 0 {
		return nil
	}
	at, last := map[int64]*LogEntry{}, log[len(log)-1].Version
	for i := range log {
		at[log[i].Version] = &log[i]
	}
	for after := log[0].Version - 1; after < last; {
		page, err := s.Instances.Versions(ctx, env, id, after, 0)
		if err != nil || len(page) == 0 {
			return err
		}
		for i := range page {
			was := &page[i]
			if e := at[was.Version]; e != nil {
				e.Candidate, e.Active, e.Rollback = was.Candidate, was.Active, was.Rollback
			}
			after = was.Version
		}
	}
	return nil
}
