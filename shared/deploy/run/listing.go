package run

import (
	"context"
	"fmt"
	"sync"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// maxListed bounds how many bytes a session keeps of lists. A resource that does not fit is read
// individually.
const maxListed = 64 << 20

// Lists is a session's cache of lists of all existing things, so that each list is read once per
// session and not once per batch. It counts the events of the session, from which it follows
// whether a list may be outdated.
type Lists struct {
	mu      sync.Mutex
	count   int64
	kept    map[string]*listed    // by type, or by the key of a handler
	changed map[resource.ID]int64 // the count at which this session last changed it
	tickets []learned             // oldest first
	wave    learned
	size    int
}

// listed is one list: read by a session, or built by a handler.
type listed struct {
	count  int64
	began  time.Time
	failed bool
	// made, value and whole belong to a list that a handler builds: made is closed at the end of
	// the build, and value and whole hold its result.
	made  chan struct{}
	value any
	whole bool
	// found has a member for each resource that the list was searched for, unless it was left out
	// for its size; nil: the resource was not found.
	found map[resource.ID]map[string]any
	size  int
	gone  bool // the list is no longer in use
}

// learned is the count at which a session first saw a ticket or a wave.
type learned struct{ ticket, count int64 }

// Need is the required freshness of a list: it has to begin after a counted event, and after a time
// that another process has recorded.
type Need struct {
	Count int64
	At    time.Time
}

// maxLearned bounds the number of tickets whose counts are remembered.
const maxLearned = 16

// tick counts an event. The caller holds mu.
func (l *Lists) tick() int64 {
	l.count++
	return l.count
}

// Learn records that the session has seen a ticket and a wave. The process that gave the ticket may
// want to see changes up to that time, so older lists do not serve runs for it.
func (l *Lists) Learn(ticket, epoch int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch > l.wave.ticket {
		l.wave = learned{epoch, l.tick()}
	}
	if n := len(l.tickets); n > 0 && l.tickets[n-1].ticket >= ticket {
		return
	}
	l.tickets = append(l.tickets, learned{ticket, l.tick()})
	if len(l.tickets) > maxLearned {
		l.tickets = l.tickets[1:] // the next ticket stands in for the dropped one
	}
}

// NeededFor returns the count after which a list has to begin to serve a run for a ticket, or for a
// wave.
func (l *Lists) NeededFor(ticket int64, waved bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := l.count // for an unseen ticket
	for _, t := range l.tickets {
		if ticket <= t.ticket {
			count = t.count
			break
		}
	}
	if waved {
		count = max(count, l.wave.count)
	}
	return count
}

// Latest returns a count that is served only by lists that begin later.
func (l *Lists) Latest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// didChange records that this session has changed a resource.
func (l *Lists) didChange(id resource.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 {
		return // later lists will show the change
	}
	if l.changed == nil {
		l.changed = map[resource.ID]int64{}
	}
	l.changed[id] = l.tick()
}

// ChangedAt returns the count at which this session changed a resource; 0: it has not since it has
// lists.
func (l *Lists) ChangedAt(id resource.ID) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed[id]
}

// begin registers a new list under a key and discards an older one.
func (l *Lists) begin(key string, now time.Time) *listed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.beginLocked(key, now)
}

func (l *Lists) beginLocked(key string, now time.Time) *listed {
	if l.kept == nil {
		l.kept = map[string]*listed{}
	}
	if old := l.kept[key]; old != nil {
		l.size -= old.size
		old.gone = true
	}
	out := &listed{count: l.tick(), began: now}
	l.kept[key] = out
	return out
}

// room reserves space for a part of a list, and reports whether there is enough.
func (l *Lists) room(of *listed, size int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of.gone || l.size+size > maxListed {
		return false
	}
	l.size += size
	of.size += size
	return true
}

// get returns the list of a key; nil if there is none.
func (l *Lists) get(key string) *listed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[key]
}

// fill stores the result of a list.
func (l *Lists) fill(of *listed, found map[resource.ID]map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	of.found = found
}

// attributes returns what a list shows of a resource: nil if it is absent, and false if the list was
// not searched for it, or is not complete yet.
func (l *Lists) attributes(of *listed, id resource.ID) (attrs map[string]any, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	attrs, known = of.found[id]
	return attrs, known
}

// drop removes a list.
func (l *Lists) drop(key string, of *listed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept[key] == of {
		l.size -= of.size
		of.gone = true
		delete(l.kept, key)
	}
}

// serves reports whether a list is fresh enough. A list that began at the same time as n.At does
// not serve, since their order is unknown.
func (l *listed) serves(n Need) bool {
	return l.count > n.Count && (n.At.IsZero() || l.began.After(n.At))
}

// Listed implements provider.ListKeeper. One call builds a list, and concurrent calls for it wait:
// in a list that is not complete, the missing things would appear to be absent.
func (h *host) Listed(ctx context.Context, key string,
	build func() (any, int, error)) (any, error) {
	n := h.need
	n.Count = max(n.Count, h.lists.ChangedAt(h.id))
	for {
		list, mine := h.lists.claim(key, n, h.runner.Clock.Now())
		if mine {
			return h.lists.make(key, list, build)
		}
		select {
		case <-list.made:
			if list.whole {
				return list.value, nil
			}
		case <-ctx.Done(): // the handler that builds it may have been left behind
			return nil, fault.Wrap(fault.KindOf(ctx.Err()), "wait for a list", ctx.Err())
		}
	}
}

// claim returns a list that is fresh enough, complete or being built, or a new one that the caller
// has to build.
func (l *Lists) claim(key string, n Need, now time.Time) (list *listed, mine bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have := l.kept[key]; have != nil && have.serves(n) {
		return have, false
	}
	out := l.beginLocked(key, now)
	out.made = make(chan struct{})
	return out, true
}

// make builds a list. A list whose build fails or panics is not kept, and a waiting call builds
// another. A list that does not fit is not kept either, but waiting calls get it.
func (l *Lists) make(key string, of *listed, build func() (any, int, error)) (any, error) {
	defer close(of.made)
	kept := false
	defer func() {
		if !kept {
			l.drop(key, of)
		}
	}()
	v, size, err := build()
	if err == nil {
		of.value, of.whole = v, true
		kept = l.room(of, size)
	}
	return v, err
}

// readList reads runs from the handler's list of all existing things, which the session keeps. A
// resource that the list lacks is absent and is not read again. A resource is read individually if
// the list does not show it as wanted, since a list does not know the attributes that a resource
// sets. The same applies to a resource that the session has changed since. readList returns false
// if there is no list; then each resource has to be read individually.
func (x reader) readList(ctx context.Context, runs []*Run) bool {
	lister, ok := provider.As[provider.Lister](handlerOf(runs))
	if !ok {
		return false
	}
	list, old := x.listFor(runs)
	if list != nil && list.failed {
		return false
	}
	if len(old) > 1 {
		if list = x.list(ctx, lister, runs); list == nil {
			return false
		}
		old = nil
	}
	if list == nil {
		return false
	}
	for _, r := range runs {
		attrs, known := r.host.lists.attributes(list, r.res.ID)
		exists := attrs != nil
		switch changed := r.host.lists.ChangedAt(r.res.ID) > list.count; {
		case !known || changed || old[r]:
			x.readOne(ctx, r)
		case !exists:
		case r.want.Purged || shows(r.typ, attrs, r.want.Attributes):
			x.observe(r, provider.Reading{Observation: provider.Observation{Exists: true,
				Attributes: observable(r.typ, attrs)}})
		default:
			x.readOne(ctx, r)
		}
	}
	return true
}

// listFor returns the session's list for runs of one type, and the runs for which it is too old.
func (x reader) listFor(runs []*Run) (*listed, map[*Run]bool) {
	list := runs[0].host.lists.get(runs[0].typ.Name)
	old := map[*Run]bool{}
	for _, r := range runs {
		if list == nil || !list.serves(r.host.need) {
			old[r] = true
		}
	}
	return list, old
}

// list reads the list of a type, and keeps the resources of this lane. If that fails, the session
// logs one warning and does not try again.
func (x reader) list(ctx context.Context, lister provider.Lister, runs []*Run) *listed {
	first := runs[0]
	kept := first.host.lists
	into := kept.begin(first.typ.Name, x.Runner.Clock.Now())
	wanted := map[resource.ID]bool{}
	for _, r := range runs {
		wanted[r.res.ID] = true
	}
	for _, id := range x.Scheduled(first.typ.Name) {
		wanted[id] = true
	}
	type answer struct {
		found map[resource.ID]map[string]any
		err   error
	}
	said := make(chan answer, 1) // buffered: a call that was left behind may still answer
	at := x.listContext(ctx, first)
	err := x.within(ctx, x.batchLimit(runs), func(ctx context.Context) {
		var a answer
		a.found, a.err = collect(at.With(ctx), lister, first.typ, wanted,
			func(n int) bool { return kept.room(into, n) })
		said <- a
	})
	var got answer
	if err == nil {
		got = <-said
		err = got.err
	}
	if err != nil {
		x.listFailed(ctx, first, into, err)
		return nil
	}
	kept.fill(into, got.found)
	return into
}

// listContext returns the context of a list, which belongs to no single resource.
func (x reader) listContext(ctx context.Context, r *Run) *provider.Context {
	nobody := anyOf(r.typ, r.res.Agent)
	return provider.NewContext(
		ctx,
		r.host,
		provider.Options{ID: nobody, DryRun: r.dry, Version: r.Version,
			Desired: provider.Resource{
				ID:         nobody,
				Type:       r.typ.Name,
				Agent:      r.res.Agent,
				Attributes: map[string]any{},
			}},
	)
}

// anyOf returns the id that stands for all resources of a type on an agent.
func anyOf(typ *schema.Compiled, agent string) resource.ID {
	keys := make([]resource.Key, 0, len(typ.Namevars()))
	for _, name := range typ.Namevars() {
		keys = append(keys, resource.Key{Name: name, Value: "*"})
	}
	return resource.NewID(typ.Name, agent, keys...)
}

// collect reads a list and keeps the wanted resources of it. If there is no room for a resource,
// collect removes it from the result, as if the list had not been searched for it.
func collect(
	ctx *provider.Context,
	l provider.Lister,
	typ *schema.Compiled,
	wanted map[resource.ID]bool,
	room func(size int) bool,
) (map[resource.ID]map[string]any, error) {
	out := make(map[resource.ID]map[string]any, len(wanted))
	for id := range wanted {
		out[id] = nil
	}
	agent := ctx.ID().Agent()
	return out, l.List(ctx, func(f provider.Found) error {
		attributes := provider.ObservedAll(f.Attributes)
		if id, ok := model.FoundID(typ, agent, attributes); ok && wanted[id] {
			if room(sizeOf(attributes)) {
				out[id] = attributes
			} else {
				delete(out, id)
			}
		}
		return ctx.Err()
	})
}

// listFailed logs that a list cannot be used, unless the caller gave up or the lane was lost.
func (x reader) listFailed(ctx context.Context, r *Run, of *listed, err error) {
	kept := r.host.lists
	kept.drop(r.typ.Name, of)
	r.host = r.host.detach() // a call that was left behind may still write
	r.Bind(ctx)
	if x.lost != nil || ctx.Err() != nil {
		return
	}
	kept.begin(r.typ.Name, x.Runner.Clock.Now()).failed = true
	r.host.Log(provider.Line{At: x.Runner.Clock.Now(), Level: provider.LevelWarning,
		Msg: fmt.Sprintf(
			"resources of %s cannot be listed and are read one at a time, "+
				"which may take long: %s",
			r.typ.Name,
			hinted(err),
		)})
}
