package engine

import (
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// books holds the checks' own records, independent of the models, since a model may be wrong as
// well as the engine.
type books struct {
	pauseBook
	releaseBook
	departures
	leases  map[string]*held // the last holder, by key
	active  []activity       // running handler calls
	actions map[string]bool
	events  map[resource.ID]owed
	sched   schedBook
	whole   *state.Commit // whose page is written; nil: no page is
	ticket  int64         // the greatest so far
	law     *law
	removed time.Duration // time of the last removal of files
	// removed parameters and facts, with the time until which they were known
	known map[state.ParameterKey]time.Duration
	// when the environment received the settings of the plan; 0: not yet
	configured time.Duration
}

// pauseBook records pauses and halts.
type pauseBook struct {
	paused   map[string]bool // agents
	halted   bool
	haltedAt time.Duration
}

// releaseBook records the versions, and which of them is in force.
type releaseBook struct {
	visible  map[int]*content // versions that have become visible
	released *content
	inForce  []int                // version numbers, in the order of their release
	effect   *effective           // of the released version
	freed    map[resource.ID]bool // resources with fewer requirements after the last release
	last     int
	prints   map[string]*op // exports, by their fingerprints
	// start of the last export that released the current intent of a resource
	exported map[resource.ID]time.Duration
	half     halfReleased
}

// halfReleased records the progress of the release that is being written. It is empty if there is
// none.
type halfReleased struct {
	scheduled map[resource.ID]bool // scheduled by the release
	// rows still to be written, because of concurrent changes
	left map[resource.ID]bool
}

// departures records resources that left the model or their lane, and that may still run elsewhere.
type departures struct {
	// forgotten resources, whose former lane nothing records
	forgotten map[resource.ID]bool
	// kept are the states that may be stored, by object: see keepingHandler
	kept  map[resource.ID][]string
	split map[resource.ID]bool // objects with two states
	// the last task that claimed a thing, or changed its kept state by hand
	claimer map[resource.ID]claimer
	claims  int // number of claims so far
	// resources whose state a person has removed
	unkept map[resource.ID]bool
	// the former dependants of a resource that left the model
	removing map[resource.ID]map[resource.ID]bool
	// went lists former dependants that were removed since the last release, and mayWait those
	// removed between the two last releases. The planner of the last release may have read their
	// rows before, so that its graph has the edge.
	went, mayWait map[resource.ID]map[resource.ID]bool
	// purged lists resources that must receive the purge of a requirement that left the model.
	purged map[resource.ID]bool
	// resources that were in another lane, where a run may end between the read and the claim
	moved map[resource.ID]bool
}

// claimer is a task that claims things, with the number of its claim.
type claimer struct {
	by    *taskBooks
	claim int
}

// owed is a pending reload because of a change of a requirement.
type owed struct {
	at     time.Duration
	by     resource.ID
	byType bool // by a subscription of its type, rather than by send_event
	purged bool // the requirement left the model and was purged
}

// held is a lease as its holder acquired it.
type held struct {
	by    *taskBooks
	proc  *process
	fence int64
	until time.Time
	freed bool
	// the resources claimed by the holder while the lease was valid
	claimed []resource.ID
}

// activity is a running handler call.
type activity struct {
	by *task
	id resource.ID
}

// taskBooks holds the records of one task.
type taskBooks struct {
	worker *taskBooks // of the task that took the lease of its lane; a lane has books of its own
	laneBook
	handlerBook
	*sessionBook
	planBook
	requestBook
	fileBook
	leases   map[string]int64 // fences, by key
	export   *exportBook
	orphaned bool                      // left behind
	leftBy   claimer                   // worker whose call was left behind, at that time
	saw      map[resource.ID]state.Row // rows read by id that other tasks may change
	notices  int
}

// laneBook records the resources that a task has claimed in its lane.
type laneBook struct {
	lane     string        // the lane that the task serves
	claimed  []resource.ID // accepted, in order
	claims   map[resource.ID]claimBook
	effect   *effective // the graph in force at the claim
	unready  map[resource.ID]string
	compares map[resource.ID]bool // claimed resources that are only compared
	// claimed resources of which a run in their former lane was lost
	lost map[resource.ID]bool
	// by lease: resources that notify dependants, and that the previous holder was running when it
	// was lost
	inherits    map[string][]resource.ID
	until       time.Time // time at which the task stops claiming
	claimStamp  int       // value of stamp at the last claim
	claimForces int       // number of releases at the last claim
}

// handlerBook records the handler calls of a task, and the results that it recorded.
type handlerBook struct {
	runs    map[resource.ID]*runBook
	later   map[resource.ID]time.Time // resources recorded as in progress, with the end time
	mine    map[string]bool           // ids of the actions that the task recorded
	stale   map[string]resource.ID    // those of mine that must be marked as stale
	skipped map[string]bool           // actions of skipped runs that were checked
	call    int                       // number of handler calls so far
}

// sessionBook records the use of a connection, which the lanes of a worker share.
type sessionBook struct {
	changes  map[resource.ID]int // stamps of its changes, by object; see checkList
	shelves  map[string][]*shelf // lists of objects, by agent; see checkShelf
	open     int                 // open connections
	way      string              // description of the current connection
	connects int                 // connection attempts since the last claim
	gaveUp   bool                // a renewal of its lease has failed
	// until this time, a failed connection attempt counts for others; see connectorPort
	spared time.Time
}

// planBook records the work of a task that holds the lease "plan".
type planBook struct {
	planned    int                       // step of the law when it got the lease
	follows    []follow                  // outbox entries that it processes
	answers    int64                     // fence under which it processes outbox entries
	sawRunning map[resource.ID]bool      // running resources at its last read of the leases
	failing    map[resource.ID]int64     // revisions of failed resources at that time
	waving     bool                      // a check of everything was under way then
	changed    map[resource.ID]time.Time // known times of the last changes at that time
	deletes    map[resource.ID]bool      // deletions of its export
	leaves     map[resource.ID]bool      // removals of its export
	wrote      int                       // number of commits of its export
	releases   int                       // the version that it is to put in force; 0: none
	inForce    int                       // number of releases when it began
	forgets    bool                      // it forgets resources that left the model
}

// requestBook records the request of a task.
type requestBook struct {
	dry     bool           // only compares
	asks    state.Priority // requested priority; 0: not one priority
	terms   []string       // terms of the filter; nil: any resource
	only    resource.ID    // the requested resource; "": any
	retries bool           // also requests waiting resources
	clears  bool           // also requests resources that could not be purged so far
	lenient bool           // requests no resource that waits for its backoff or for a person
	plain   bool           // requests only changed resources: an export without flags
	waved   bool           // it has requested a check of everything
	repairs bool           // changes kept states, as a person does
}

// fileBook records which files a task may remove.
type fileBook struct {
	// end of the permission to remove files; zero: it does not hold the lease "plan"
	removes time.Time
	grace   time.Duration // grace period of its collection
}

// claimBook is the content of a row at the time of its claim.
type claimBook struct {
	version int
	kind    state.ActionKind
	state   []byte
	facts   bool // its facts were requested
	told    bool // its facts were requested once, so that its runs read them
	ticket  int64
	asked   int  // stamps of its request and of its claim: see checkList
	waved   bool // the check of everything had not checked it yet
	stamp   int
	rev     int64
	body    string
	at      time.Time
	first   bool // it requires no resource of the same claim
	behind  bool // it requires an earlier resource of the same claim
}

// runBook records one run of a handler for one resource.
type runBook struct {
	done
	after    time.Duration // requested time until the next call
	err      error         // of the last failed call
	began    time.Duration
	parts    parts
	purged   bool
	lines    int
	failed   bool
	waits    bool // the handler asked for another call
	acted    bool
	recorded bool
	calls    int
	read     bool // read individually, not from a list
	remains  bool // the last deletion was of a replaced object
}

// done is the successful effect of a run.
type done struct {
	did      diff.Change // "": none
	before   diff.Change // effect before the last call, for types that are replaced
	reloaded bool        // the reload is the only effect
	by       int         // number of the handler call with the effect; see taskBooks.call
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
			forgotten: map[resource.ID]bool{}, kept: map[resource.ID][]string{},
			split: map[resource.ID]bool{}, moved: map[resource.ID]bool{},
			claimer: map[resource.ID]claimer{}, unkept: map[resource.ID]bool{},
			purged:   map[resource.ID]bool{},
			removing: map[resource.ID]map[resource.ID]bool{},
			went:     map[resource.ID]map[resource.ID]bool{},
		},
	}
}

func newTaskBooks() *taskBooks {
	b := &taskBooks{
		leases: map[string]int64{}, saw: map[resource.ID]state.Row{},
		laneBook: laneBook{
			claims: map[resource.ID]claimBook{}, lost: map[resource.ID]bool{},
			inherits: map[string][]resource.ID{},
		},
		handlerBook: handlerBook{
			runs: map[resource.ID]*runBook{}, later: map[resource.ID]time.Time{},
			mine: map[string]bool{}, stale: map[string]resource.ID{}, skipped: map[string]bool{},
		},
		sessionBook: &sessionBook{shelves: map[string][]*shelf{}},
		planBook: planBook{
			changed: map[resource.ID]time.Time{},
			deletes: map[resource.ID]bool{}, leaves: map[resource.ID]bool{},
		},
	}
	b.worker = b
	return b
}

// another returns the books of another lane of the same worker.
func (b *taskBooks) another() *taskBooks {
	o := newTaskBooks()
	o.worker, o.sessionBook, o.leases, o.saw = b.worker, b.sessionBook, b.leases, b.saw
	o.lane, o.until, o.inherits, o.changed = b.lane, b.until, b.inherits, b.changed
	o.later, o.mine, o.stale, o.skipped = b.later, b.mine, b.stale, b.skipped
	return o
}

// orphan returns books for an abandoned call, whose effects are not attributed to any task; claims is
// the number of claims so far.
func (b *taskBooks) orphan(claims int) *taskBooks {
	o := newTaskBooks()
	o.orphaned, o.leftBy = true, claimer{b.worker, claims}
	return o
}

// gone records the removal of a resource that left the model. From the next release on, no resource
// waits for it, even if a resource of that name is added again. If its row has a change, its former
// dependants receive that change.
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

// learned records until when the parameters and facts removed by a commit were known.
func (b *books) learned(now time.Duration, e *environment, was map[state.ParameterKey]bool) {
	for k, had := range was {
		if _, has := e.parameters[k]; had && !has {
			b.known[k] = now
		}
	}
}

// run returns the current run of a resource, and begins one if there is none.
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

// did records that a call has changed an object.
func (b *taskBooks) did(id resource.ID, what string) {
	have := b.runs[id]
	if have == nil {
		return
	}
	have.before = ""
	if replaces(id) && (what == "create" || what == "update" || what == "delete") {
		have.before, have.did, have.by = have.did, have.didReplacing(what), b.call
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

// unanswered records that the newest call has ended without an answer: the task does not know its
// successful effects.
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

// live reports whether a task holds a valid lease.
func (b *books) live(r *run, t *task) bool {
	if t.books.orphaned || t.proc.dead {
		return false
	}
	for key := range t.books.leases {
		if h := b.leases[key]; h != nil && h.by == t.books.worker && !h.freed && r.time().Before(h.until) {
			return true
		}
	}
	return false
}

// started records the start of a handler call, and checks that the call is allowed.
func (b *books) started(r *run, t *task, what string, c *provider.Context, res provider.Resource) {
	id := res.ID
	if t.books.orphaned {
		return
	}
	have := t.books.run(id, r.sched.now)
	if what == "read" && have.calls > 0 && !have.acted {
		// read again, individually
		have.calls, have.failed, have.waits, have.err = 0, false, false, nil
	}
	have.parts, have.purged = partsOf(res.Attributes), res.Purged
	have.calls++
	if have.read = have.read || what == "read"; !have.read && id.Type() == typeShelf &&
		r.books.live(r, t) {
		checkUnread(r, t, id, what)
	}
	changes := what == "create" || what == "update" || what == "delete" || what == "reload"
	if changes { // after a panic, a batch is repeated individually: the last call counts
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
		if known && what == "facts" && !claimed.told {
			r.violate("C1", "%s asks for facts of %s, which nobody wants", t.name, id)
		}
		if known && string(claimed.state) != string(c.State()) {
			r.violate("again", "%s calls %s of %s and gives it back %q, not %q", t.name, what, id,
				c.State(), claimed.state)
		}
	}
	b.active = append(b.active, activity{t, id})
}

// ended records the end of a handler call.
func (b *books) ended(t *task, id resource.ID, _ string) {
	for i := len(b.active) - 1; i >= 0; i-- {
		if b.active[i].id == id && b.active[i].by == t {
			b.active = slices.Delete(b.active, i, i+1)
			return
		}
	}
}

// changed records that a handler has changed an object: each dependant that receives the change
// owes a reload from now on.
func (b *books) changed(r *run, id resource.ID, what string) {
	if what != "update" {
		delete(b.events, id) // recreated or removed: it needs no reload
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
		// an object created later needs no reload for this change
		if _, exists := r.world.thing(d).observe(r.sched.now); exists {
			b.events[d] = owed{at: r.sched.now, by: id, byType: !all}
		}
	}
}
