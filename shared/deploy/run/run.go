package run

import (
	"context"
	"maps"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/diff"
	"southbound/shared/internal/parallel"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Run is one run of a handler, from its preparation to its result.
type Run struct {
	*step.Result
	task
	decision
	host *host
	ctx  *provider.Context // for the handler; see Bind
	// token identifies a create that was begun, or will be. found means that the handler looked the
	// create up and its thing exists.
	token string
	found bool
	notes state.Notes
	// whole are the changes with values at full length, if the host asks for them. They are never
	// stored.
	whole map[string]diff.Diff
	// absent means that the target, or a program on it, is missing.
	absent bool
}

// task is the input of a run.
type task struct {
	res     *resource.Resource // as stored, with references to secrets; nil: it cannot be read
	want    provider.Resource  // as the handler sees it
	typ     *schema.Compiled
	handler provider.Handler
	agent   resource.Agent
	known   map[string]string // facts that the handler has remembered
	given   Inputs
	dry     bool
}

// decision is the observed thing, and the change that it needs.
type decision struct {
	seen   provider.Observation
	diff   map[string]diff.Diff
	diffed *diffAnswer // the handler's answer, if it was asked for several runs together
	act    diff.Change // the change to make; NoChange: none
	// replaces means that the thing is deleted and created again. leaves means that things that
	// were replaced earlier still exist.
	replaces, leaves bool
}

// Inputs are the reasons and conditions that a lane passes to a run.
type Inputs struct {
	Reload bool // a resource whose events it receives has changed
	Need   Need // the required freshness of lists that it is read from
	First  bool // no run of the resource has ended well before
	Facts  bool // another resource waits for its facts
	// Released is the version in force.
	Released int
}

// setChanges replaces the changes of a run.
func setChanges(r *Run, diffs map[string]diff.Diff) {
	r.Changes, r.whole = nil, nil
	r.addChanges(diffs)
}

// addChanges adds differences of the thing to the changes.
func (r *Run) addChanges(diffs map[string]diff.Diff) {
	if r.Changes == nil {
		r.Changes, r.whole = map[string]diff.Diff{}, map[string]diff.Diff{}
	}
	maps.Copy(r.Changes, r.host.Diffs(diffs, r.host.texts(r.ctx), false))
	if r.host.whole {
		maps.Copy(r.whole, r.host.Diffs(diffs, r.host.texts(r.ctx), true))
	}
}

// Shown returns the changes in the form to show.
func (r *Run) Shown() map[string]diff.Diff {
	if r.host.whole {
		return r.whole
	}
	return r.Changes
}

// Unavailable reports whether the run has ended because its target, or a program on it, is missing.
func (r *Run) Unavailable() bool { return r.Over() && r.absent }

// Over reports whether the run has its outcome.
func (r *Run) Over() bool { return r.Outcome != "" }

// End gives the run its outcome.
func (r *Run) End(outcome state.Status, class provider.Class, reason string) {
	r.Outcome, r.Class, r.Reason = outcome, class, r.host.redact(reason)
}

// NewRun returns a run for the intent of a row. known is the decoded intent, or nil if it was not
// decoded yet. The run ends immediately if this program cannot run it.
func (n *Runner) NewRun(
	ctx context.Context, env string, row *state.Row, known *resource.Resource, s *Session,
) *Run {
	of := Wanted{row, known}
	from := loadDeclarations(ctx, n, []Wanted{of})
	return n.newRun(begun{n.NewID(), n.Clock.Now()}, env, of, s, from)
}

// Wanted is a row to run, and its intent if it was decoded already.
type Wanted struct {
	Row   *state.Row
	Known *resource.Resource // nil: not decoded
}

// NewRuns is NewRun for many rows, in their order, on all processors.
func (n *Runner) NewRuns(ctx context.Context, env string, rows []Wanted, s *Session) []*Run {
	s.Lists()
	from := loadDeclarations(ctx, n, rows)
	ids := make([]begun, len(rows))
	for i := range ids {
		ids[i] = begun{n.NewID(), n.Clock.Now()}
	}
	out := make([]*Run, len(rows))
	parallel.For(len(rows), func(i int) { out[i] = n.newRun(ids[i], env, rows[i], s, from) })
	return out
}

// begun is the id of a run and the time when it began.
type begun struct {
	id string
	at time.Time
}

// made holds the parts of a run in one allocation, since most runs need little more.
type made struct {
	run   Run
	host  host
	hides Redactor
}

// newRun creates a run. from has the declarations of the rows, by hash.
func (n *Runner) newRun(
	b begun, env string, of Wanted, s *Session, from map[string]loaded,
) *Run {
	row, m := of.Row, &made{}
	r := &m.run
	r.Result, r.host, m.host.Redactor = &step.Result{}, &m.host, &m.hides // outlives the run
	r.Action = state.Action{ID: b.id, Resource: row.ID, Version: row.Version,
		Started: b.at, Change: diff.NoChange, Pack: n.Pack}
	m.host.origin = origin{runner: n, env: env, session: s, lists: s.Lists(), id: row.ID}
	res, err := of.Known, error(nil)
	if res == nil {
		res, err = resource.Decode(row.Body)
	}
	if err != nil {
		r.Damaged = true
		r.End(state.StatusUnavailable, state.ClassUnavailable, "its stored record is damaged; "+
			"it is restored from its version, or else from the documents by the next apply")
		return r
	}
	r.res = res
	var handler provider.Handler
	typ, why := typeOf(n, res, from)
	if why == nil {
		handler, why = n.handlerOf(env, res, typ)
	}
	if typ == nil || handler == nil {
		text := "this program has no handler for " + res.Type
		if why != nil {
			text = why.Error()
		}
		r.End(state.StatusUnavailable, state.ClassUnavailable, text)
		return r
	}
	if code, is := model.CodeOf(res); is {
		r.Pack = code.Hash
	}
	r.typ, r.handler = typ, handler
	r.want = provider.Resource{ID: res.ID, Type: res.Type, Agent: res.Agent,
		Attributes: maps.Clone(res.Attributes), Purged: res.Purged}
	delete(r.want.Attributes, model.TypeAttribute) // the handler was made of it
	r.token, r.Purged, r.ReportOnly = row.Current().Creating, res.Purged, res.ReportOnly
	r.notes = state.DecodeNotes(row.Notes)
	for _, name := range row.Hidden {
		r.host.Hide(name)
	}
	r.host.state, r.host.earlier = row.Current().Waiting, row.EarlierIDs()
	return r
}

// SetDry makes a run read-only. files are files that are not stored yet; whole keeps values in
// changes at full length.
func (r *Run) SetDry(files map[string]state.Blob, whole bool) {
	r.dry, r.Action.Action = true, state.ActionDryRun
	r.host.local, r.host.whole = files, whole
}

// Intent returns the intent of the run, as it is stored; nil if it cannot be read.
func (r *Run) Intent() *resource.Resource { return r.res }

// Decided returns the change to make, and whether it replaces the thing.
func (r *Run) Decided() (what diff.Change, replaces bool) { return r.act, r.replaces }

// Mark stores in a row the data about the run that is needed if it is interrupted.
func (r *Run) Mark(row *state.Row) { row.Creating, row.Notes = r.token, r.notes.Encode() }

// Reread updates the run from a row: notes, and the attributes that hold secrets.
func (r *Run) Reread(row *state.Row) {
	r.notes = state.DecodeNotes(row.Notes)
	row.HideSecrets()
	for _, name := range row.Hidden {
		r.host.Hide(name)
	}
}

// Finish completes the result of a run in a lane, which has its outcome, and returns it.
func (r *Run) Finish() *step.Result {
	r.Report()
	if r.Acted {
		r.host.lists.didChange(r.Resource)
	}
	switch r.Outcome {
	case state.StatusDeployed:
		r.Notes, r.Replaced = r.written(), r.replaces
	case state.StatusDeploying:
		r.Notes = r.notes.Encode()
	}
	r.Facts = r.host.facts
	if !r.Acted && r.Outcome != state.StatusDeployed {
		for name := range remembered(r) {
			delete(r.Facts, name) // it may be about a change that was not made
		}
	}
	if r.res != nil {
		r.SendsEvent = r.res.SendsEvents()
	}
	if r.Outcome == state.StatusFailed || r.Outcome == state.StatusUnavailable {
		line := provider.Line{At: r.Finished, Level: provider.LevelError, Msg: r.Reason}
		r.Messages = append(r.Messages, line)
	}
	return r.Result
}

// Report ends a run: it copies the handler's messages into the record.
func (r *Run) Report() {
	r.Finished = r.host.Now()
	r.host.redactLines()
	r.Messages = r.host.lines
	r.Provider, r.ProviderWhy = r.host.provider, r.host.providerWhy
}

// Bind creates the context that the handler gets.
func (r *Run) Bind(ctx context.Context) {
	r.host.typ, r.host.want, r.host.dry = r.typ, r.want.Attributes, r.dry
	var kept []byte
	if r.host.keeping != nil {
		kept = r.host.keeping.plain.State
	}
	r.ctx = provider.NewContext(ctx, r.host, provider.Options{Kept: kept, ID: r.res.ID, DryRun: r.dry,
		State: r.host.state, Reload: r.given.Reload, Desired: r.want, Version: r.Version,
		Known: r.known, Stored: r.res, New: r.given.First, Released: r.given.Released})
}
