package orders

import (
	"context"
	"time"

	"southbound/shared/service/inventory"
)

// LogEntry is an instance at one of its versions, with the events that led to it.
//
// Large: it is an object of the API, with the names that clients know.
type LogEntry struct {
	Instance       string          `json:"service_instance_id"`
	Environment    string          `json:"environment"`
	Service        string          `json:"service_entity"`
	ServiceVersion int             `json:"service_entity_version"`
	Version        int64           `json:"version"`
	Desired        int64           `json:"desired_state_version"`
	At             time.Time       `json:"timestamp" doc:"when the instance came to the version"`
	State          string          `json:"state"`
	Config         map[string]bool `json:"config"`
	// The sets of attributes at the end of this version; nil for a set that did not exist.
	Candidate Attributes `json:"candidate_attributes"`
	Active    Attributes `json:"active_attributes"`
	Rollback  Attributes `json:"rollback_attributes"`
	Created   time.Time  `json:"created_at"`
	Updated   time.Time  `json:"last_updated"`
	Callback  *string    `json:"callback"`
	Deleted   bool       `json:"deleted"`
	Identity  *string    `json:"service_identity_attribute_value"`
	// Transfer is the trigger of the transfer that led to the version; nil if no transfer did.
	Transfer *string           `json:"transfer_context"`
	Metadata map[string]string `json:"metadata"`
	Events   []Event           `json:"events" doc:"of this version, the newest first"`
}

// LogQuery selects versions of an instance. Its places are versions.
type LogQuery struct {
	Place
	// Descending returns the newest versions first.
	Descending bool
	// Versions are limits, such as ge:4. A version has to satisfy all of them.
	Versions []string
}

// LogPage is a page of the versions of an instance.
type LogPage = Part[LogEntry]

// Log returns versions of an instance, at most inventory.MaxVersions of them.
func (s *views) Log(
	ctx context.Context, env string, ref Ref, q LogQuery,
) (LogPage, error) {
	limits, err := limitsOf(q.Versions, numberOf)
	if err != nil {
		return LogPage{}, err
	}
	number := func(v *int64) int64 { return *v }
	w, err := numbered(&q.Place, inventory.Versions(q.Limit), q.Descending, number)
	if err != nil {
		return LogPage{}, err
	}
	r, err := s.record(ctx, env, ref)
	if err != nil {
		return LogPage{}, err
	}
	for i := range r.Version { // each change raises the version by one, starting at 1
		v := i + 1
		if q.Descending {
			v = r.Version - i
		}
		if withinLimits(limits, v) {
			w.add(v)
		}
	}
	at := partOf(w, &q.Place, number)
	entries, err := s.entries(ctx, env, &r, at.Items)
	return LogPage{Items: entries, Next: at.Next, Prev: at.Prev, Counts: at.Counts}, err
}

// entries returns the entries of consecutive versions, in their order.
func (s *views) entries(
	ctx context.Context, env string, r *inventory.Record, versions []int64,
) ([]LogEntry, error) {
	out := []LogEntry{}
	if len(versions) == 0 {
		return out, nil
	}
	first := min(versions[0], versions[len(versions)-1])
	was, err := s.Instances.Versions(ctx, env, r.ID, first-1, len(versions))
	if err != nil {
		return nil, err
	}
	all, err := s.happened(ctx, env, r)
	if err != nil {
		return nil, err
	}
	at := map[int64]LogEntry{}
	for i := range was {
		at[was[i].Version] = entryOf(env, &was[i])
	}
	for _, e := range all {
		if entry, ok := at[e.Version]; ok {
			at[e.Version] = entry.with(e)
		}
	}
	for _, v := range versions {
		if entry, ok := at[v]; ok {
			out = append(out, entry)
		}
	}
	return out, nil
}

// entryOf returns an entry without events.
func entryOf(env string, r *inventory.Record) LogEntry {
	return LogEntry{
		Instance: r.ID, Environment: env, Service: r.Service, ServiceVersion: r.ServiceVersion,
		Version: r.Version, Desired: r.Desired, At: r.Updated, State: r.State,
		Config: orEmptyMap(r.Config), Candidate: r.Candidate, Active: r.Active,
		Rollback: r.Rollback, Created: r.Created, Updated: r.Updated, Callback: orNil(r.Callback),
		Deleted: r.Deleted, Identity: orNil(r.Identity), Transfer: orNil(string(r.Trigger)),
		Metadata: orEmptyMap(r.Metadata), Events: []Event{},
	}
}

// with returns an entry with the next event of its version.
func (l LogEntry) with(e Event) LogEntry {
	if len(l.Events) == 0 {
		l.At = e.At
	}
	if e.Entered() {
		l.Transfer = orNil(string(e.Trigger))
	}
	l.Events = append([]Event{e}, l.Events...)
	return l
}
