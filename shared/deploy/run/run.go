package run

import (
	"context"
	"maps"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/diff"
	"southbound/shared/parallel"
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
	ctx  *provider.Context // for the handler; see bind
	// token identifies a create that was begun, or is to be; found says that it was looked up and
	// that the thing was made.
	token string
	found bool
	notes state.Notes
	// whole are the changes with values as long as they are, if the host wants them. They are never
	// stored.
	whole map[string]diff.Diff
	// absent: the target, or a program on it, is not there.
	absent bool
}

// task is what is to be run.
type task struct {
	res     *resource.Resource // as stored, with references to secrets; nil: it cannot be read
	want    provider.Resource  // as the handler sees it
	typ     *schema.Compiled
	handler provider.Handler
	agent   resource.Agent
	known   map[string]string // facts that the handler remembers
	given   Inputs
	dry     bool
}

// decision is what was read, and what follows from it.
type decision struct {
	seen   provider.Observation
	diff   map[string]diff.Diff
	diffed *diffAnswer // of the handler, if it was asked together with others
	act    diff.Change // what is to be done; NoChange: nothing
	// replaces: the thing is deleted and created anew. leaves: things that were replaced before are
	// still there.
	replaces, leaves bool
}

// Inputs are what a lane tells a run of why it runs.
type Inputs struct {
	Reload bool // something of whose changes it is notified has changed
	Need   Need // how new the lists have to be that it is read from
	First  bool // no run of the resource has ended well before
	Facts  bool // somebody waits for its facts
	// Released is the version in force.
	Released int
}

// setChanges replaces the changes of a run.
func setChanges(r *Run, diffs map[string]diff.Diff) {
	r.Changes, r.whole = nil, nil
	r.addChanges(diffs)
}

// addChanges adds to how the thing differs.
func (r *Run) addChanges(diffs map[string]diff.Diff) {
	if r.Changes == nil {
		r.Changes, r.whole = map[string]diff.Diff{}, map[string]diff.Diff{}
	}
	maps.Copy(r.Changes, r.host.Diffs(diffs, r.host.texts(r.ctx), false))
	if r.host.whole {
		maps.Copy(r.whole, r.host.Diffs(diffs, r.host.texts(r.ctx), true))
	}
}

// Shown returns the changes as they are to be shown.
func (r *Run) Shown() map[string]diff.Diff {
	if r.host.whole {
		return r.whole
	}
	return r.Changes
}

// Unavailable reports whether the run has ended since its target, or a program on it, is not there.
func (r *Run) Unavailable() bool { return r.Over() && r.absent }

// Over reports whether the run has its outcome.
func (r *Run) Over() bool { return r.Outcome != "" }

// End gives the run its outcome.
func (r *Run) End(outcome state.Status, class provider.Class, reason string) {
	r.Outcome, r.Class, r.Reason = outcome, class, r.host.redact(reason)
}

// NewRun makes a run of what a row wants, which is known if it was decoded already, and nil
// otherwise. The run ends at once if this program cannot run it.
func (n *Runner) NewRun(env string, row *state.Row, known *resource.Resource, s *Session) *Run {
	return n.newRun(begun{n.NewID(), n.Clock.Now()}, env, Wanted{row, known}, s)
}

// Wanted is a row that is to be run, and what it wants if it was decoded already.
type Wanted struct {
	Row   *state.Row
	Known *resource.Resource // nil: not decoded
}

// NewRuns is NewRun for many rows, in their order, on all processors.
func (n *Runner) NewRuns(env string, rows []Wanted, s *Session) []*Run {
	s.Lists()
	ids := make([]begun, len(rows))
	for i := range ids {
		ids[i] = begun{n.NewID(), n.Clock.Now()}
	}
	out := make([]*Run, len(rows))
	parallel.For(len(rows), func(i int) { out[i] = n.newRun(ids[i], env, rows[i], s) })
	return out
}

// begun says which run it is, and when it began.
type begun struct {
	id string
	at time.Time
}

// made is what is made for a run: in one piece, as most have little more.
type made struct {
	run   Run
	host  host
	hides Redactor
}

func (n *Runner) newRun(b begun, env string, of Wanted, s *Session) *Run {
	row, m := of.Row, &made{}
	r := &m.run
	r.Result, r.host, m.host.Redactor = &step.Result{}, &m.host, &m.hides // results are kept longer
	r.Action = state.Action{ID: b.id, Resource: row.ID, Version: row.Version,
		Started: b.at, Change: diff.NoChange, Pack: n.Pack}
	m.host.origin = origin{runner: n, env: env, session: s, lists: s.Lists(), id: row.ID}
	res, err := of.Known, error(nil)
	if res == nil {
		res, err = resource.Decode(row.Body)
	}
	if err != nil {
		r.Damaged = true
		r.End(state.StatusUnavailable, state.ClassUnavailable, "what is stored of it is damaged; "+
			"it is taken from its version once more, or else from the documents by the next apply")
		return r
	}
	r.res = res
	typ, ok := n.types.Type(res)
	handler, why := n.handlerOf(env, res)
	if !ok || handler == nil {
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
	r.token, r.Purged, r.ReportOnly = row.Creating, res.Purged, res.ReportOnly
	r.notes = state.DecodeNotes(row.Notes)
	for _, name := range row.Hidden {
		r.host.Hide(name)
	}
	r.host.state = row.Waiting
	return r
}

// SetDry lets a run only look. files are those that are not stored yet; whole keeps values in
// changes as long as they are.
func (r *Run) SetDry(files map[string]state.Blob, whole bool) {
	r.dry, r.Action.Action = true, state.ActionDryRun
	r.host.local, r.host.whole = files, whole
}

// Intent returns what is run, as it is stored; nil if that cannot be read.
func (r *Run) Intent() *resource.Resource { return r.res }

// Decided returns what is to be done, and whether that is by replacing the thing.
func (r *Run) Decided() (what diff.Change, replaces bool) { return r.act, r.replaces }

// Mark notes in a row what has to be known of the run if it ends in the middle.
func (r *Run) Mark(row *state.Row) { row.Creating, row.Notes = r.token, r.notes.Encode() }

// Reread takes from a row what is known of the thing by now: notes, and which attributes hold
// secrets.
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

// Report ends a run: it takes into the record what the handler has said of it.
func (r *Run) Report() {
	r.Finished = r.host.Now()
	r.host.redactLines()
	r.Messages = r.host.lines
	r.Provider, r.ProviderWhy = r.host.provider, r.host.providerWhy
}

// Bind makes the context that the handler gets.
func (r *Run) Bind(ctx context.Context) {
	r.host.typ, r.host.want, r.host.dry = r.typ, r.want.Attributes, r.dry
	r.ctx = provider.NewContext(ctx, r.host, provider.Options{ID: r.res.ID, DryRun: r.dry,
		State: r.host.state, Reload: r.given.Reload, Desired: r.want, Version: r.Version,
		Known: r.known, Stored: r.res, New: r.given.First, Released: r.given.Released})
}
