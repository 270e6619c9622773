package sim

import (
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// books are what the checks know on their own, beside what the models hold: a model may be wrong as
// well as the engine.
type books struct {
	pauseBook
	releaseBook
	departures
	leases  map[string]*held // by key: who took it last
	active  []activity       // handler calls under way
	actions map[string]bool
	events  map[resource.ID]owed
	sched   schedBook
	ticket  int64 // the greatest so far
	law     *law
	removed time.Duration // when files were removed last
	// parameters and facts that are gone: until when they were known
	known map[state.ParameterKey]time.Duration
	// when the environment got the settings of the plan; 0: not yet
	configured time.Duration
}

// pauseBook says what was stopped.
type pauseBook struct {
	paused   map[string]bool // agents
	halted   bool
	haltedAt time.Duration
}

// releaseBook says which versions there are, and which is in force.
type releaseBook struct {
	visible  map[int]*content // versions that have become visible
	released *content
	inForce  []int                // versions, in the order in which they were released
	effect   *effective           // of what is released
	freed    map[resource.ID]bool // by the last release: they wait for less than before
	last     int
	prints   map[string]*op // exports, by their fingerprints
	// when the last export that released what a resource is to be began
	exported map[resource.ID]time.Duration
	half     halfReleased
}

// halfReleased is how far the release that is being written has come; none: empty.
type halfReleased struct {
	scheduled map[resource.ID]bool // by it
	// what others had changed meanwhile: it is still to be written
	left map[resource.ID]bool
}

// departures are what left the model, or its lane, and may still be at work elsewhere.
type departures struct {
	// that were let go of: nobody knows any more in which lane they run
	forgotten map[resource.ID]bool
	// what a resource that left the model was required by
	removing map[resource.ID]map[resource.ID]bool
	// what left removing since the last release, and what had left it between that and the one
	// before: its planner may have read the row before it went, and then the graph has the edge
	went, mayWait map[resource.ID]map[resource.ID]bool
	// purged are resources that once had to hear that something was purged that had left
	purged map[resource.ID]bool
	// that have been in another lane: a run of them there may end between their being read and
	// claimed
	moved map[resource.ID]bool
}

// owed is a reload that is to come, for a change of something required.
type owed struct {
	at     time.Duration
	by     resource.ID
	byType bool // by the types that receive events, not because it notifies all
	purged bool // it had left the model, and was purged
}

// held is a lease as its taker got it.
type held struct {
	by    *taskBooks
	proc  *process
	fence int64
	until time.Time
	freed bool
	// what it has claimed itself, as long as the lease has not ended meanwhile
	claimed []resource.ID
}

// activity is a handler call under way.
type activity struct {
	by *task
	id resource.ID
}

// taskBooks are the books of one task.
type taskBooks struct {
	laneBook
	handlerBook
	planBook
	requestBook
	fileBook
	leases   map[string]int64 // fences, by key
	export   *exportBook
	orphaned bool                      // left behind
	saw      map[resource.ID]state.Row // what it has read by id, of what others may change
	notices  int
}

// laneBook says what a task has claimed in the lane that it serves.
type laneBook struct {
	lane     string        // that it serves
	claimed  []resource.ID // accepted and in order
	claims   map[resource.ID]claimBook
	effect   *effective // that was in force then
	unready  map[resource.ID]string
	compares map[resource.ID]bool // of what is claimed: it was only to be compared
	// of what is claimed: a run of it was lost in a lane that it was moved from
	lost map[resource.ID]bool
	// what tells others, and ran under a lease when its holder before was lost
	inherits    map[string][]resource.ID
	until       time.Time // when it is to stop claiming
	claimStamp  int       // what had happened when it claimed something last
	claimForces int       // what had been released then
}

// handlerBook says what a task has called handlers for, and what it recorded of that.
type handlerBook struct {
	runs     map[resource.ID]*runBook
	later    map[resource.ID]time.Time // what it has recorded as in progress until then
	mine     map[string]bool           // records of runs that it has written
	stale    map[string]resource.ID    // of these, those that have to be marked as stale
	skipped  map[string]bool           // records of runs that were skipped and looked at
	call     int                       // handler calls so far
	changes  map[resource.ID]int       // that it has made of things: see checkList
	shelves  map[string][]*shelf       // what it has listed, by agent: see checkShelf
	open     int                       // connections
	way      string                    // to the agent that it is connected with
	connects int                       // that were tried since something was claimed
	// until when a try to connect that failed stands for others; see connectorPort
	spared time.Time
}

// planBook says what a task does that holds the plan.
type planBook struct {
	planned    int                       // when it took the plan, in steps of the law
	follows    []follow                  // that it does under the plan
	answers    int64                     // fence under which it does what follows from runs
	sawRunning map[resource.ID]bool      // when it read the leases last
	failing    map[resource.ID]int64     // revisions of what had failed when it took the plan
	waving     bool                      // a wave was under way somewhere when it took the plan
	changed    map[resource.ID]time.Time // when these had changed last, as it was known then
	deletes    map[resource.ID]bool      // by its export
	leaves     map[resource.ID]bool      // by its export
	wrote      int                       // commits of its own, of an export
	releases   int                       // the version that it is to put in force; 0: none
	inForce    int                       // how many releases there had been when it began
	forgets    bool                      // it lets go of what left the model
}

// requestBook says what a task asks for.
type requestBook struct {
	dry     bool           // only compares
	asks    state.Priority // of what it asks for; 0: of no one priority
	terms   []string       // of the filter of what it asks for; nil: anything
	only    resource.ID    // of what it asks for; "": anything
	retries bool           // it asks also for what waits
	clears  bool           // it asks also for what could not be purged until now
	lenient bool           // asks for nothing that waits for its backoff or for a person
	plain   bool           // asks for no more than what changed: an export without flags
	waved   bool           // it has asked for a check of everything
}

// fileBook says which files a task may remove.
type fileBook struct {
	// until then it may remove files; zero: it does not hold the plan
	removes time.Time
	grace   time.Duration // that it collects with
}

// claimBook is what a row said when it was claimed.
type claimBook struct {
	version int
	kind    state.ActionKind
	state   []byte
	facts   bool // its facts were asked for
	ticket  int64
	asked   int  // when it was asked for, and when it was claimed: see checkList
	waved   bool // the wave had still to check it
	stamp   int
	rev     int64
	body    string
	at      time.Time
	first   bool // it waits for nothing that is claimed with it
	behind  bool // it requires something that is claimed before it
}

// runBook is one run of a handler for one resource.
type runBook struct {
	done
	after    time.Duration // it wants to be asked again
	err      error         // of the last call that failed
	began    time.Duration
	parts    parts
	purged   bool
	lines    int
	failed   bool
	waits    bool // it was told to ask again
	acted    bool
	recorded bool
	calls    int
	read     bool // by itself
}

// done is what a run has done with success.
type done struct {
	did      diff.Change // "": nothing
	before   diff.Change // what it had done before the last call, of types that replace
	reloaded bool        // and that is all
	by       int         // the call of a handler that did it, see taskBooks.call
}

func newBooks() *books {
	return &books{
		law: newLaw(), leases: map[string]*held{}, actions: map[string]bool{},
		known:     map[state.ParameterKey]time.Duration{},
		events:    map[resource.ID]owed{},
		pauseBook: pauseBook{paused: map[string]bool{}},
		releaseBook: releaseBook{
			visible: map[int]*content{}, prints: map[string]*op{},
			exported: map[resource.ID]time.Duration{},
		},
		departures: departures{
			forgotten: map[resource.ID]bool{}, moved: map[resource.ID]bool{},
			purged:   map[resource.ID]bool{},
			removing: map[resource.ID]map[resource.ID]bool{},
			went:     map[resource.ID]map[resource.ID]bool{},
		},
	}
}

func newTaskBooks() *taskBooks {
	return &taskBooks{
		leases: map[string]int64{}, saw: map[resource.ID]state.Row{},
		laneBook: laneBook{
			claims: map[resource.ID]claimBook{}, lost: map[resource.ID]bool{},
			inherits: map[string][]resource.ID{},
		},
		handlerBook: handlerBook{
			runs: map[resource.ID]*runBook{}, later: map[resource.ID]time.Time{},
			mine: map[string]bool{}, stale: map[string]resource.ID{}, skipped: map[string]bool{},
			shelves: map[string][]*shelf{},
		},
		planBook: planBook{
			changed: map[resource.ID]time.Time{},
			deletes: map[resource.ID]bool{}, leaves: map[resource.ID]bool{},
		},
	}
}

// orphan returns books for a call that was left behind: what it does counts for nobody.
func (*taskBooks) orphan() *taskBooks {
	b := newTaskBooks()
	b.orphaned = true
	return b
}

// gone notes that what left the model is removed: from the next release on nothing waits for it,
// even if one of that name comes back. If its row tells of a change, what required it hears that.
func (b *books) gone(row *state.Row) {
	id := row.ID
	for d := range b.removing[id] {
		b.purged[d] = b.purged[d] || !row.ChangedAt.IsZero()
	}
	delete(b.removing, id)
	for waits, after := range b.removing {
		if !after[id] {
			continue
		}
		delete(after, id)
		if b.went[waits] == nil {
			b.went[waits] = map[resource.ID]bool{}
		}
		b.went[waits][id] = true
	}
}

// learned notes until when parameters and facts were known that a commit has removed.
func (b *books) learned(now time.Duration, e *environment, was map[state.ParameterKey]bool) {
	for k, had := range was {
		if _, has := e.parameters[k]; had && !has {
			b.known[k] = now
		}
	}
}

// run returns the run of a resource under way, and begins one when there is none.
func (b *taskBooks) run(id resource.ID, now time.Duration) *runBook {
	have := b.runs[id]
	if have == nil || have.recorded {
		have = &runBook{began: now}
		b.runs[id] = have
	}
	return have
}

func (b *taskBooks) log(id resource.ID) {
	if have := b.runs[id]; have != nil {
		have.lines++
	}
}

func (b *taskBooks) failed(id resource.ID, err error) {
	if have := b.runs[id]; have != nil {
		have.failed, have.err = true, err
	}
}

// did notes that a call has changed something.
func (b *taskBooks) did(id resource.ID, what string) {
	have := b.runs[id]
	if have == nil {
		return
	}
	have.before = ""
	if replaces(id) && (what == "create" || what == "update" || what == "delete") {
		have.before, have.did, have.by = have.did, have.didReplacing(id, what), b.call
		return
	}
	switch what {
	case "create":
		have.did, have.by = diff.Created, b.call
	case "update":
		have.did, have.by = diff.Updated, b.call
	case "delete":
		have.did, have.by = diff.Purged, b.call
	case "reload":
		if have.did == "" {
			have.did, have.reloaded, have.by = diff.Updated, true, b.call
		}
	}
}

// unanswered notes that the newest call has ended without an answer: what it did with success is
// known to nobody.
func (b *taskBooks) unanswered() {
	for _, have := range b.runs {
		if have.by == b.call {
			have.did, have.reloaded = have.before, false
		}
	}
}

func (b *taskBooks) again(id resource.ID, after time.Duration) {
	if have := b.runs[id]; have != nil {
		have.waits, have.after = true, after
	}
}

// live reports whether a task holds the lane it works in.
func (b *books) live(r *run, t *task) bool {
	if t.books.orphaned || t.proc.dead {
		return false
	}
	for key := range t.books.leases {
		if h := b.leases[key]; h != nil && h.by == t.books && !h.freed && r.time().Before(h.until) {
			return true
		}
	}
	return false
}

// started notes that a handler call begins, and checks that it may.
func (b *books) started(r *run, t *task, what string, c *provider.Context, res provider.Resource) {
	id := res.ID
	if t.books.orphaned {
		return
	}
	have := t.books.run(id, r.sched.now)
	if what == "read" && have.calls > 0 && !have.acted {
		// read again, one by one
		have.calls, have.failed, have.waits, have.err = 0, false, false, nil
	}
	have.parts, have.purged = partsOf(res.Attributes), res.Purged
	have.calls++
	if have.read = have.read || what == "read"; !have.read && id.Type() == typeShelf &&
		r.books.live(r, t) {
		checkUnread(r, t, id, what)
	}
	changes := what == "create" || what == "update" || what == "delete" || what == "reload"
	if changes { // a batch that panicked is done again, one by one: what counts is the last call
		have.acted, have.failed, have.err = true, false, nil
		if what != "reload" && !replaces(id) {
			have.did = ""
		}
	}
	switch {
	case t.books.dry:
		if changes || !c.DryRun() {
			r.violate("dry", "a dry run calls %s of %s", what, id)
		}
	case b.live(r, t):
		checkStart(r, t, id, what)
		checkReason(r, t, id, have)
		if changes && t.books.compares[id] {
			r.violate("report", "%s calls %s of %s, which is only to be compared", t.name, what, id)
		}
		if what == "reload" {
			checkReload(r, t, id)
		}
		if l := r.state.read(env).leases[t.books.lane]; l != nil &&
			!slices.Contains(l.Running, id) {
			r.violate("D4", "%s calls %s of %s, and whoever takes over after a crash is not told",
				t.name, what, id)
		}
		claimed, known := t.books.claims[id]
		if known && what == "facts" && !claimed.facts {
			r.violate("C1", "%s asks for facts of %s, which nobody wants", t.name, id)
		}
		if known && string(claimed.state) != string(c.State()) {
			r.violate("again", "%s calls %s of %s and gives it back %q, not %q", t.name, what, id,
				c.State(), claimed.state)
		}
	}
	b.active = append(b.active, activity{t, id})
}

// ended notes that a handler call has ended.
func (b *books) ended(t *task, id resource.ID, _ string) {
	for i := len(b.active) - 1; i >= 0; i-- {
		if b.active[i].id == id && b.active[i].by == t {
			b.active = slices.Delete(b.active, i, i+1)
			return
		}
	}
}

// changed notes that a handler has changed a thing: what requires it, and is told, owes a reload
// from now on.
func (b *books) changed(r *run, id resource.ID, what string) {
	if what != "update" {
		delete(b.events, id) // made anew, or gone: it needs no reload
	}
	if b.effect == nil || !b.live(r, r.sched.cur) {
		return
	}
	if what == "delete" {
		b.purgedLeft(r, id)
	}
	all := intentSays(r, id, `"send_event":true`)
	i, ok := b.effect.index[id]
	if !ok {
		return
	}
	e := r.state.read(env)
	for j, d := range b.effect.ids {
		row := e.rows[d]
		if b.effect.needs[j]&(1<<i) == 0 || row == nil || d.Type() != typeThing ||
			row.SucceededAt.IsZero() || intentSays(r, d, `"receive_events":false`) || !all &&
			!b.subscribed(d, id) {
			continue
		}
		// what comes to be later needs no reload for it
		if _, exists := r.world.thing(d).observe(r.sched.now); exists {
			b.events[d] = owed{at: r.sched.now, by: id, byType: !all}
		}
	}
}
