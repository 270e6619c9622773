package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// perform executes an operation of the plan.
func perform(r *run, o *op) {
	r.happened("step " + o.kind.String())
	switch o.kind {
	case opExport:
		if o.waved {
			inTurn(r, o)
			return
		}
		exportModel(r, o)
		if o.twice {
			exportModel(r, o)
		}
	case opDrift, opBreak, opMend, opRotate, opCrash, opJump, opCancel:
		happenUnasked(r, o)
	default:
		if p := r.process(); p != nil {
			askFor(r, p, o)
		}
	}
}

// performOnce executes operation i of the plan, unless that was done already.
func performOnce(r *run, i int) {
	if !r.did[i] {
		r.did[i] = true
		perform(r, &r.plan.Ops[i])
	}
}

// hurryAlong may start the next operation of a hasty plan while a handler runs, and gives it time.
func hurryAlong(r *run) {
	if r.plan.hasty && r.faulty {
		hasten(r)
		d := time.Duration(r.sched.rng.Int64N(int64(20 * time.Millisecond)))
		if r.plan.instant {
			d = 0
		}
		r.sched.pause(d)
	}
}

// hasten starts the next operation of a hasty plan immediately, in one of four cases.
func hasten(r *run) {
	if !r.plan.hasty || !r.faulty || r.sched.rng.IntN(4) != 0 {
		return
	}
	if i := slices.Index(r.did, false); i >= 0 {
		r.sched.at(r.sched.now, func() { performOnce(r, i) })
	}
}

// askSome requests work by a filter or in batches of agents. It returns false if the operation does
// neither.
func askSome(r *run, p *process, o *op) bool {
	switch {
	case o.waves > 0:
		r.task(p, o.kind.String()+" in waves",
			func(t *task) error { return agentsInTurn(r, t, p.engine, o) })
	case o.terms != nil:
		r.task(p, o.kind.String()+" by filter",
			func(t *task) error { return askFiltered(r, t, p.engine, o, o.terms) })
	default:
		return false
	}
	return true
}

// askFor calls an entry point of the engine that users and timers use.
func askFor(r *run, p *process, o *op) {
	if (o.kind == opRepair || o.kind == opDeploy) && askSome(r, p, o) {
		return
	}
	switch o.kind {
	case opDeploy:
		r.task(p, "Deploy", func(t *task) error {
			t.books.lenient, t.books.retries, t.books.asks = !o.retryFailed, o.retryFailed,
				state.PriorityUserDeploy
			_, err := p.engine.Deploy(taskContext{t}, env,
				deploy.Request{RetryFailed: o.retryFailed})
			return err
		})
	case opRepair:
		r.task(p, "Repair", func(t *task) error {
			t.books.only, t.books.clears = o.id, o.id == ""
			was := fingerprintOf(r, o.id)
			_, err := p.engine.Repair(taskContext{t}, env,
				deploy.Request{Filter: state.Filter{ID: string(o.id)}})
			if now := fingerprintOf(r, o.id); err == nil && was.rev != 0 && now == was {
				r.violate("order", "%s was to ask for %s, and has not", t.name, o.id)
			}
			return err
		})
	case opDryRun:
		r.task(p, "DryRun", func(t *task) error {
			t.books.dry = true
			if last := r.books.last; last > 0 {
				_, err := p.engine.DryRun(taskContext{t}, env, last)
				if r.state.read(env).versions[last].Number == 0 {
					return nil // removed by a concurrent collection
				}
				return err
			}
			return nil
		})
	case opPause:
		r.task(p, "Pause",
			func(t *task) error { return p.engine.Pause(taskContext{t}, env, o.on, o.agent) })
	case opHalt:
		r.task(p, "Halt", func(t *task) error { return p.engine.Halt(taskContext{t}, env, o.on) })
	case opSetParameter:
		r.task(p, "SetParameters", func(t *task) error {
			return p.engine.SetParameters(taskContext{t}, env,
				state.Parameter{Name: "p0", Value: "value" + strconv.FormatInt(o.n, 10),
					Source: "user"})
		})
	case opDeleteParameter:
		r.task(p, "DeleteParameters", func(t *task) error {
			return p.engine.DeleteParameters(taskContext{t}, env, state.ParameterKey{Name: "p0"})
		})
	case opSweep:
		sweepAll(r, p)
	case opRelease:
		releaseVersion(r, p, o)
	case opForget:
		forgetResource(r, p, o)
	case opImportKept, opForgetKept:
		repairKept(r, p, o)
	default:
		r.task(p, "Collect", func(t *task) error {
			t.books.grace = cmp.Or(o.d, fileGrace)
			_, err := p.engine.Collect(taskContext{t}, env, o.d)
			return err
		})
	}
}

func sweepAll(r *run, p *process) {
	r.task(p, "Sweep", func(t *task) error {
		_, err := p.engine.Sweep(taskContext{t}, env)
		return err
	})
}

// happenUnasked performs an event that nothing in the engine has requested.
func happenUnasked(r *run, o *op) {
	r.tracef("it happens: %+v", struct {
		Kind opKind
		ID   resource.ID
		N    int64
		D    time.Duration
	}{o.kind, o.id, o.n, o.d})
	t := r.world.thing(o.id)
	switch o.kind {
	case opDrift:
		driftThing(r, t, o)
	case opBreak:
		// visible in a list
		t.broken, t.forGood, t.unread, t.skips = o.class, o.good, o.n == 1 &&
			o.id.Type() != typeShelf, o.n == 2
	case opMend:
		if !t.forGood {
			t.broken, t.unread, t.skips = "", false, false
		}
	case opRotate:
		r.secretVersion = strconv.FormatInt(o.n, 10)
		r.moves++
	case opCrash:
		if p := r.process(); p != nil {
			r.crash(p, "its sleep")
		}
	case opJump:
		r.sched.now += o.d
		r.jumped = r.sched.now
		for _, t := range r.sched.tasks { // a task may have decided before the jump not to connect
			t.books.spared = t.books.spared.Add(o.d)
		}
	case opCancel:
		for _, t := range r.sched.tasks {
			if t.books.lane != "" {
				t.canceled = true
				r.tracef("%s is to stop", t.name)
			}
		}
	}
}

// driftThing changes an object outside the engine.
func driftThing(r *run, t *thing, o *op) {
	t.drifted = true
	t.disclose()
	switch {
	case o.n == 0:
		t.wipe()
	case t.pending != nil:
	case isAssigned(o.id):
		for _, m := range t.made {
			m.v += 100
		}
	default:
		t.exists = true
		t.v += 100
	}
}

// exportBook records one export: its operation and its results.
type exportBook struct {
	op *op
	// Only of an export that expects a plan.
	expect  string
	planned map[resource.ID]deploy.PlannedChange
	moves   int    // value of run.moves for the plan; -1: not a single moment
	then    func() // called after the export; may be nil
	// repeated: the export is repeated although it was carried out.
	repeated bool
	// applied: the plan had been applied before the last try, which resolved no references.
	applied bool
}

// exportModel starts an export as a pipeline does: it is repeated if it fails.
func exportModel(r *run, o *op) {
	book := &exportBook{op: o}
	if !planFirst(r, book) {
		tryExport(r, book, o.tries)
	}
}

func tryExport(r *run, book *exportBook, tries int) {
	p := r.process()
	if p == nil {
		tryAgain(r, book, tries)
		return
	}
	name := "Export"
	t := r.task(p, name, func(t *task) error {
		t.books.inForce = len(r.books.inForce)
		was := fingerprints(r, book.op)
		x := exportOf(r, book.op)
		x.Expect, x.Limits = book.expect, book.op.limits
		book.applied = x.Expect != "" && x.Expect == r.state.read(env).env.Applied
		out, err := p.engine.Export(taskContext{t}, env, x)
		var problems diag.Problems
		switch {
		case refusable(book.op, err):
			return nil
		case mayBeRefused(err):
			checkRefused(r, t, book)
			return nil
		case errors.As(err, &problems):
			r.happened("export refused: " + strconv.FormatBool(book.op.refused()))
			r.happenedIf(strings.Contains(err.Error(), "to be purged, but"),
				"removal refused: not reached")
			if len(book.op.partial) == 0 && !book.op.refused() && !strandsAgent(r, book.op) {
				r.violate("errors", "%s: a valid model is refused: %v", t.name, err)
			}
		case err != nil:
			tryAgain(r, book, tries)
		default:
			checkExported(r, t, book, out)
			checkFingerprints(r, t, was)
			onceMore(r, book)
			if book.then != nil {
				book.then()
			}
		}
		return err
	})
	t.books.export = book
	t.books.retries = book.op.retryFailed && !book.op.noRelease && book.op.target == ""
	t.books.plain = !book.op.check && !book.op.retryFailed
	t.books.clears = book.op.check && !book.op.noRelease && book.op.target == "" &&
		book.op.at == nil
}

// tryAgain schedules the next try of an export.
func tryAgain(r *run, book *exportBook, tries int) {
	if tries > 1 && !r.ended {
		r.sched.at(r.sched.now+time.Duration(r.sched.rng.Int64N(int64(3*time.Second))),
			func() { tryExport(r, book, tries-1) })
	}
}

// exportOf builds the Export of an operation. Its parts are new, since the engine may change them.
func exportOf(r *run, o *op) deploy.Export {
	x := deploy.Export{Model: &model.Model{Agents: slices.Clone(o.agents),
		Files: map[string]state.Blob{}}, NoRelease: o.noRelease, Check: o.check,
		RetryFailed: o.retryFailed, Partial: o.partial != nil}
	if !x.Partial {
		s := r.plan.Settings
		x.Settings = &s
	}
	o.aim(&x)
	x.DeleteSets = o.drops
	x.Model.Fingerprint = fmt.Sprintf("export %p", o)
	r.books.prints[x.Model.Fingerprint] = o
	have := map[resource.ID]bool{}
	for i := range o.model {
		have[o.model[i].id] = true
	}
	for i := range o.model {
		s := &o.model[i]
		res := s.resource(have, x.Partial)
		if r.plan.Uploads && s.text == plainText {
			text := fileText(s.v)
			f := resource.File{Hash: sumOf([]byte(text)), Size: int64(len(text))}
			res.Attributes["text"], r.texts[f.Hash] = f, text
			x.Model.Files[f.Hash] = state.Blob{Hash: f.Hash, Size: f.Size, Data: []byte(text)}
		}
		x.Model.Resources = append(x.Model.Resources, res)
	}
	return x
}

// plainText is the prefix of texts in the model, or in an uploaded file.
const plainText = "plain"

// fileText is the content of a file.
func fileText(v int64) string { return plainText + strconv.FormatInt(v, 10) }

// resource builds the resource of a spec. Unless the export is partial, it omits requirements that
// the model does not have.
func (s *spec) resource(have map[resource.ID]bool, partial bool) resource.Resource {
	parts, _ := resource.ParseID(string(s.id))
	attributes := map[string]any{"name": parts.Keys[0].Value, "v": s.v}
	if s.fixed != 0 {
		attributes["fixed"] = s.fixed
	}
	if replaces(s.id) {
		attributes["key"] = 1 + s.v/2%2
	}
	if s.id.Type() == typeSwap && s.v%4 > 1 { // its replacement changes "fixed" with any v
		attributes[schema.CreateBeforeDestroy] = false
	}
	if of := learnedFrom(s.text); s.text != nil && (of == "" || have[of] || partial) {
		attributes["text"] = s.text
	}
	for attribute, id := range map[string]resource.ID{"ear": s.ear, "mouth": s.mouth} {
		if id != "" {
			attributes[attribute], attributes[attribute+"_agent"] = nameOf(id), id.Agent()
		}
	}
	requires := slices.DeleteFunc(slices.Clone(s.requires),
		func(id resource.ID) bool { return !have[id] && !partial })
	return resource.Resource{ID: s.id, Type: parts.Type, Agent: parts.Agent,
		Attributes: maps.Clone(attributes), Requires: requires, Set: s.set, Flags: s.flags}
}

// tied returns the requirements of a resource: those of its author, those of the types, and those of
// the facts and secret outputs to which it refers.
func (c *content) tied(w *resource.Resource) []resource.ID {
	out := append(slices.Clone(w.Requires), c.subscribed(w)...)
	if of := learnedFrom(w.Attributes["text"]); c.entries[of] != nil {
		out = append(out, of)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// subscribed returns the resources whose changes a resource receives because of the types: its
// subscription, and resources that notify it. The latter include resources that a partial export
// left unchanged.
func (c *content) subscribed(w *resource.Resource) []resource.ID {
	var out []resource.ID
	if id := tie(w.Attributes, "ear"); c.entries[id] != nil {
		out = append(out, id)
	}
	for id, it := range c.entries {
		if w.ID.Type() == typeThing && tie(it.res.Attributes, "mouth") == w.ID {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// tie returns the resource that an attribute of a thing names, or "".
func tie(attributes map[string]any, attribute string) resource.ID {
	name, is := attributes[attribute].(string)
	if !is {
		return ""
	}
	agent, _ := attributes[attribute+"_agent"].(string)
	return resource.NewID(typeThing, agent, resource.Key{Name: "name", Value: name})
}

// nameOf returns the name in an id. All names are unique.
func nameOf(id resource.ID) string {
	parts, _ := resource.ParseID(string(id))
	return parts.Keys[0].Value
}

// checkExported checks invariant V1 after a successful export: the visible version has the content
// that was exported.
func checkExported(r *run, t *task, book *exportBook, out deploy.Exported) {
	c := r.books.visible[out.Version]
	if c == nil {
		r.violate("V1", "%s says that it made version %d, which nobody sees", t.name, out.Version)
		return
	}
	whole := book.op.target == ""
	if whole && book.op.partial == nil && book.op.refused() {
		r.violate("V1", "%s says that it made version %d of documents that contradict themselves",
			t.name, out.Version)
	}
	if whole {
		checkContent(r, t, book, c)
	}
	if have := r.state.read(env).env.Settings; whole && book.op.partial == nil &&
		have != r.plan.Settings {
		r.violate("V1", "%s ends, and the settings are %+v, not %+v", t.name, have, r.plan.Settings)
	}
	if whole && book.op.check && book.op.at != nil && t.books.waved {
		r.violate("waves", "%s was to have checked what is at %v, and has asked for everything",
			t.name, book.op.at)
	}
	if whole && book.op.check && book.op.at == nil && !book.op.noRelease && !t.books.waved {
		r.violate("V1", "%s was to have everything checked, and has not asked for it", t.name)
	}
	if book.op.noRelease {
		return
	}
	switch b := r.books; {
	case !wasInForce(r, t, out.Version):
		r.violate("V1", "%s says that version %d is released, and it is not", t.name, out.Version)
	case b.released.number == out.Version && !book.applied:
		noteExported(r, t, book.op, c)
	}
}

// checkContent compares a version with what was exported.
func checkContent(r *run, t *task, book *exportBook, c *content) {
	o := book.op
	x := exportOf(r, o)
	want, sets := map[resource.ID]*resource.Resource{}, map[string]bool{}
	for i := range x.Model.Resources {
		want[x.Model.Resources[i].ID] = &x.Model.Resources[i]
		sets[x.Model.Resources[i].Set] = true
	}
	for _, a := range o.agents {
		for _, have := range c.agents {
			if have.Name == a.Name && !sameAgent(have, a) {
				r.violate("V1", "%s: version %d has agent %+v, and %+v was exported", t.name,
					c.number, have, a)
			}
		}
	}
	for id, w := range want {
		have := c.entries[id]
		switch {
		case have == nil:
			r.violate("V1", "%s: version %d lacks %s", t.name, c.number, id)
		case o.partial != nil && w.Set == "": // merged with the existing resource
		case have.res.Attributes["v"] != w.Attributes["v"] || have.res.Flags != w.Flags,
			!slices.Equal(have.res.Requires, c.tied(w)) ||
				!slices.Equal(have.res.Subscriptions, c.subscribed(w)):
			r.violate("V1", "%s: version %d has %s as %s, which is not what was exported", t.name,
				c.number, id, have.body)
		}
	}
	for id, have := range c.entries {
		mine := o.partial == nil || have.res.Set != "" && sets[have.res.Set]
		if want[id] == nil && mine {
			r.violate("V1", "%s: version %d has %s, which was not exported", t.name, c.number, id)
		}
	}
}
