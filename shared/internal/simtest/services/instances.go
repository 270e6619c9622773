package services

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
)

// Instances implements inventory.Store in memory, exactly according to its contract. Its operations
// are instantaneous and inject no faults.
type Instances struct {
	mu   sync.Mutex
	envs map[string]map[string]*instance
	// generations are the generations of services, by environment and service.
	generations map[[2]string]inventory.Generation
	// loose disables the checks of references in Write: a fault of a mutant.
	loose bool
}

// instance is the stored state of one instance.
type instance struct {
	record   inventory.Record
	events   []inventory.Event
	versions []inventory.Record // by version
	refs     []string           // the instances that it refers to
}

// NewInstances returns an empty store.
func NewInstances() *Instances {
	return &Instances{
		envs: map[string]map[string]*instance{}, generations: map[[2]string]inventory.Generation{},
	}
}

// copied returns a value after a round trip through JSON. Numbers keep their text.
func copied[T any](v T) T {
	var out T
	text, err := json.Marshal(v)
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		err = d.Decode(&out)
	}
	if err != nil {
		panic(err) // CheckChanges has verified that it encodes
	}
	return out
}

// Write implements inventory.Store.
func (s *Instances) Write(
	_ context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	if err := inventory.CheckChanges(changes); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.envs[env]
	next := make(map[string]*instance, len(all)+len(changes))
	for id, i := range all {
		next[id] = i
	}
	revs, come, gone := make([]int64, len(changes)), 0, 0
	for n := range changes {
		i, err := changedTo(all[changes[n].Record.ID], &changes[n])
		if err != nil {
			return nil, err
		}
		next[i.record.ID], revs[n] = i, i.record.Rev
		more, less := differ(all[i.record.ID], i)
		come, gone = come+more, gone+less
	}
	for n := range changes {
		if err := s.fits(next, next[changes[n].Record.ID]); err != nil {
			return nil, err
		}
	}
	if err := s.move(env, changes, revs, come, gone); err != nil {
		return nil, err
	}
	if now := inventory.Newest(changes); !now.IsZero() {
		for id, i := range next {
			next[id] = i.withoutOld(inventory.TextsSince(now))
		}
	}
	s.envs[env] = next
	return revs, nil
}

// withoutOld returns an instance without the texts of events before a time.
func (i *instance) withoutOld(since time.Time) *instance {
	old := func(e inventory.Event) bool {
		_, _, some := e.Apart()
		return some && e.At.Before(since)
	}
	if !slices.ContainsFunc(i.events, old) {
		return i
	}
	out := *i
	out.events = slices.Clone(i.events)
	for n, e := range out.events {
		if old(e) {
			out.events[n], _, _ = e.Apart()
		}
	}
	return &out
}

// move moves the generations of changes, unless they have moved already or the changes are too
// many.
func (s *Instances) move(
	env string, changes []inventory.Change, revs []int64, come, gone int,
) error {
	generations, err := inventory.Generations(changes, revs)
	if err != nil {
		return err
	}
	for _, g := range generations {
		if s.generations[[2]string{env, g.Service}].Number != g.Number-1 {
			return inventory.ErrMoved(g.Service)
		}
	}
	if err := inventory.CheckWeight(len(changes), come, gone, len(generations)); err != nil {
		return err
	}
	for _, g := range generations {
		s.generations[[2]string{env, g.Service}] = g
	}
	return nil
}

// Generation implements inventory.Store.
func (s *Instances) Generation(
	_ context.Context, env, service string,
) (inventory.Generation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.generations[[2]string{env, service}]
	out.Service = service
	return out, nil
}

// changedTo returns an instance after a change.
func changedTo(was *instance, c *inventory.Change) (*instance, error) {
	out := &instance{}
	if was != nil {
		*out = *was
	}
	if c.Record.Rev != out.record.Rev {
		return nil, inventory.ErrChanged(&c.Record)
	}
	if was != nil {
		err := inventory.Kept(&c.Record, was.record.Service, was.record.Created.UnixMicro())
		if err != nil {
			return nil, err
		}
	}
	rev := c.Record.Rev + 1
	out.record = copied(c.Record)
	out.record.Rev, out.refs = rev, c.Record.Leads()
	out.events = slices.Clone(out.events)
	for _, e := range c.Events {
		e.Seq = int64(len(out.events)) + 1
		out.events = append(out.events, copied(e))
	}
	kept := out.record.Was() // stored values are never modified
	out.versions = slices.Clone(out.versions)
	at, found := slices.BinarySearchFunc(out.versions, kept.Version,
		func(r inventory.Record, v int64) int { return cmp.Compare(r.Version, v) })
	if !found {
		out.versions = slices.Insert(out.versions, at, kept)
	}
	out.versions[at] = kept
	return out, nil
}

// differ returns the numbers of new and dropped references.
func differ(was, is *instance) (come, gone int) {
	var before []string
	if was != nil {
		before = was.refs
	}
	for _, id := range is.refs {
		if !slices.Contains(before, id) {
			come++
		}
	}
	for _, id := range before {
		if !slices.Contains(is.refs, id) {
			gone++
		}
	}
	return come, gone
}

// fits rejects an instance that conflicts with the other instances.
func (s *Instances) fits(all map[string]*instance, i *instance) error {
	r := &i.record
	if r.Identity != "" && !r.Deleted {
		for _, id := range sorted(all) {
			o := &all[id].record
			if id != r.ID && !o.Deleted && o.Service == r.Service && o.Identity == r.Identity {
				return inventory.ErrTaken(r, id)
			}
		}
	}
	if s.loose {
		return nil
	}
	for _, id := range i.refs {
		if o := all[id]; o == nil || o.record.Deleted || o.record.Closed {
			return inventory.ErrLost(r, id)
		}
	}
	if by := referredBy(all, r.ID); len(by) > 0 && (r.Closed || r.Deleted) {
		return inventory.ErrNeeded(r, by[0])
	}
	return nil
}

func sorted(all map[string]*instance) []string {
	out := make([]string, 0, len(all))
	for id := range all {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func referredBy(all map[string]*instance, id string) []string {
	var out []string
	for _, by := range sorted(all) {
		if slices.Contains(all[by].refs, id) {
			out = append(out, by)
		}
	}
	return out
}

// look returns the instances of an environment.
func (s *Instances) look(env string) map[string]*instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.envs[env]
}

// shown returns a copy of a record that the caller may modify.
func (i *instance) shown() inventory.Record {
	r := i.record
	r.Tasks = slices.Clone(r.Tasks)
	return r
}

// Instance implements inventory.Store.
func (s *Instances) Instance(_ context.Context, env, id string) (inventory.Record, error) {
	if i := s.look(env)[id]; i != nil {
		return i.shown(), nil
	}
	return inventory.Record{}, fault.New(
		fault.NotFound,
		"read instance",
		"there is no instance %s",
		id,
	)
}

// ByIdentity implements inventory.Store.
func (s *Instances) ByIdentity(
	_ context.Context, env, service, identity string,
) (inventory.Record, error) {
	for _, i := range s.look(env) {
		r := &i.record
		if !r.Deleted && r.Service == service && r.Identity == identity {
			return i.shown(), nil
		}
	}
	return inventory.Record{}, fault.New(fault.NotFound, "read instance",
		"there is no instance of %s with the identity %s", service, identity)
}

// Instances implements inventory.Store.
func (s *Instances) Instances(
	_ context.Context, env string, q inventory.Query,
) ([]inventory.Record, error) {
	var out []inventory.Record
	for _, i := range s.look(env) {
		if q.Matches(&i.record) && (q.After == nil || compare(&q, &i.record, q.After) > 0) {
			out = append(out, i.shown())
		}
	}
	slices.SortFunc(out, func(a, b inventory.Record) int { return compare(&q, &a, &b) })
	return out[:min(len(out), inventory.Page(q.Limit))], nil
}

// compare compares two records in the order of a query.
func compare(q *inventory.Query, a, b *inventory.Record) int {
	at, other := inventory.PositionOf(a), inventory.PositionOf(b)
	return q.Compare(&at, &other)
}

// Count implements inventory.Store.
func (s *Instances) Count(
	_ context.Context, env string, q inventory.Query,
) (inventory.Count, error) {
	var n inventory.Count
	for _, i := range s.look(env) {
		if !q.Matches(&i.record) {
			continue
		}
		n.Total++
		if q.After != nil && compare(&q, &i.record, q.After) <= 0 {
			n.Ahead++
		}
	}
	return n, nil
}

// ByState implements inventory.Store.
func (s *Instances) ByState(
	_ context.Context, env, service string,
) (map[inventory.Standing]int, error) {
	out := map[inventory.Standing]int{}
	for _, i := range s.look(env) {
		if r := &i.record; r.Service == service && !r.Deleted {
			out[inventory.Standing{Version: r.ServiceVersion, State: r.State}]++
		}
	}
	return out, nil
}

// ReferredBy implements inventory.Store.
func (s *Instances) ReferredBy(_ context.Context, env, id string) ([]string, error) {
	return referredBy(s.look(env), id), nil
}

// Events implements inventory.Store.
func (s *Instances) Events(
	_ context.Context, env, id string, after int64, limit int,
) ([]inventory.Event, error) {
	var out []inventory.Event
	if i := s.look(env)[id]; i != nil {
		out = slices.Clone(i.events[min(max(after, 0), int64(len(i.events))):])
	}
	return out[:min(len(out), inventory.Page(limit))], nil
}

// Versions implements inventory.Store.
func (s *Instances) Versions(
	_ context.Context, env, id string, after int64, limit int,
) ([]inventory.Record, error) {
	var out []inventory.Record
	if i := s.look(env)[id]; i != nil {
		for _, r := range i.versions {
			if r.Version > after && len(out) < inventory.Versions(limit) {
				out = append(out, r)
			}
		}
	}
	return out, nil
}

// Due implements inventory.Store.
func (s *Instances) Due(
	_ context.Context, env string, now time.Time, limit int,
) ([]inventory.Record, error) {
	var out []inventory.Record
	for _, i := range s.look(env) {
		if r := &i.record; len(r.Tasks) > 0 && r.Due.UnixMicro() <= now.UnixMicro() {
			out = append(out, i.shown())
		}
	}
	slices.SortFunc(out, func(a, b inventory.Record) int {
		return cmp.Or(cmp.Compare(a.Due.UnixMicro(), b.Due.UnixMicro()), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(len(out), inventory.Page(limit))], nil
}

// Owners implements inventory.Owners.
func (s *Instances) Owners(
	_ context.Context, env string, ids []string,
) (live, gone []string, err error) {
	all := s.look(env)
	for _, id := range ids {
		switch i := all[id]; {
		case i == nil:
		case i.record.Deleted:
			gone = append(gone, id)
		default:
			live = append(live, id)
		}
	}
	return live, gone, nil
}
