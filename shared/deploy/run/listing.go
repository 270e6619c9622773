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

// maxListed bounds how many bytes a session keeps of lists. What does not fit is read by itself.
const maxListed = 64 << 20

// Lists is what a session knows from lists of all that exists: each is read once, and not once a
// batch. What happens in the session is counted, so that it can be told what a list may have
// missed.
type Lists struct {
	mu      sync.Mutex
	count   int64
	kept    map[string]*listed    // by type, or by what a handler calls it
	changed map[resource.ID]int64 // when this session changed a resource since it has lists
	moved   int64                 // when resources may have come from other lanes
	tickets []learned             // oldest first
	wave    learned
	size    int
}

// listed is one list.
type listed struct {
	count  int64
	began  time.Time
	failed bool
	// Of a list that a handler makes: closed when that is over, and then what came of it.
	made  chan struct{}
	value any
	whole bool
	// found has a member for each resource that was to be looked for and was not left out for its
	// size; nil: it was not found.
	found map[resource.ID]map[string]any
	size  int
	gone  bool // nobody uses it any more
}

// learned is when a session first saw a ticket, or the number of a wave.
type learned struct{ ticket, count int64 }

// Need says how new a list has to be for a run: begun after something that was counted, and after a
// time that another process has recorded.
type Need struct {
	Count int64
	At    time.Time
}

// maxLearned bounds how exactly it is remembered when tickets were learned.
const maxLearned = 16

// tick counts something that has happened. The caller holds mu.
func (l *Lists) tick() int64 {
	l.count++
	return l.count
}

// Learn notes which tickets and which wave are known from now on. Who gave them may want to
// know what has become of things since, so that older lists do not serve them.
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
		l.tickets = l.tickets[1:] // what the first stood for counts as learned with the next
	}
}

// NeededFor returns how new a list has to be for a ticket, or for a wave.
func (l *Lists) NeededFor(ticket int64, waved bool) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	count := l.count // if it was not seen
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

// Latest returns a count that only lists serve that are still to be begun.
func (l *Lists) Latest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// didChange notes that this session has changed a resource.
func (l *Lists) didChange(id resource.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 {
		return // lists that are still to come show it
	}
	if l.changed == nil {
		l.changed = map[resource.ID]int64{}
	}
	l.changed[id] = l.tick()
}

// ChangedAt returns when this session changed a resource, 0 if it has not since it has lists.
func (l *Lists) ChangedAt(id resource.ID) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changed[id]
}

// Move notes that there is another graph, by which resources may have come from lanes in which
// other sessions have changed them.
func (l *Lists) Move() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moved = l.tick()
}

// MovedAt returns when Move was last called; 0: never.
func (l *Lists) MovedAt() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moved
}

// begin notes the start of a list, which takes the place of an older one.
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

// room takes room for a part of a list, and reports whether there is any.
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

// get returns a list that was read before, nil if there is none.
func (l *Lists) get(key string) *listed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept[key]
}

// drop forgets a list.
func (l *Lists) drop(key string, of *listed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept[key] == of {
		l.size -= of.size
		of.gone = true
		delete(l.kept, key)
	}
}

// serves reports whether a list is new enough. Of equal times it cannot be told which came first.
func (l *listed) serves(n Need) bool {
	return l.count > n.Count && (n.At.IsZero() || l.began.After(n.At))
}

// Listed implements provider.ListKeeper. One call makes a list, and who asks for it meanwhile
// waits: of a list that is not whole, all that it lacks would seem to be absent.
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
		case <-ctx.Done(): // whoever makes it may have been left behind
			return nil, fault.Wrap(fault.KindOf(ctx.Err()), "wait for a list", ctx.Err())
		}
	}
}

// claim returns a list that is new enough, made or being made, or one that the caller has to make.
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

// make makes a list. One that fails, also by a panic, or for which there is no room, is not kept;
// who waits for the latter has it, and for the former makes another.
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

// readList reads runs from the handler's list of all that exists, which the session keeps. What the
// list lacks is absent and is not asked for again. What the list does not show to be as wanted is
// read by itself, since a list does not know what a resource asks for; so is what the session has
// changed since. It returns false if there is no list; then each thing has to be read by itself.
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
		attrs, known := list.found[r.res.ID]
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

// listFor returns the list that the session has for runs of one type, and for which of them it is
// too old.
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

// list reads the list of a type, and keeps of it what concerns this lane. If that fails, the
// session does not try again, and says so once.
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
	said := make(chan answer, 1) // a call that was left behind may still answer
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
	into.found = got.found
	return into
}

// listContext returns the context of a list, which is for no resource.
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

// anyOf is the id that stands for all resources of a type on an agent.
func anyOf(typ *schema.Compiled, agent string) resource.ID {
	keys := make([]resource.Key, 0, len(typ.Namevars()))
	for _, name := range typ.Namevars() {
		keys = append(keys, resource.Key{Name: name, Value: "*"})
	}
	return resource.NewID(typ.Name, agent, keys...)
}

// collect reads a list and keeps what is wanted of it. What there is no room for is left out, as if
// it had not been looked for.
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

// listFailed says that a list cannot be used, unless it is the caller or the lane that has ended.
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
			"what exists of %s cannot be listed, so each is read by itself, "+
				"which may take long: %s",
			r.typ.Name,
			hinted(err),
		)})
}
