package deploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// session is what a worker keeps between runs in its lane.
type session struct {
	transport any
	connected bool
	connErr   error
	failedAt  time.Time     // when connErr came
	waited    time.Duration // how long it was waited for that
	agent     resource.Agent
	checked   map[resource.ID]bool
	changed   bool   // rows were changed by others: read again
	lists     *lists // while it is connected
}

// known returns what the session knows from lists.
func (s *session) known() *lists {
	if s.lists == nil {
		s.lists = &lists{}
	}
	return s.lists
}

func (s *session) close() {
	if c, ok := s.transport.(io.Closer); ok && s.connected {
		_ = c.Close()
	}
	s.transport, s.connected, s.lists = nil, false, nil
}

// follow ends a connection to where the agent is not any more.
func (s *session) follow(agent resource.Agent) {
	now := agent
	now.Lanes = s.agent.Lanes
	if s.connected && !sameAgents([]resource.Agent{s.agent}, []resource.Agent{now}) {
		s.close()
		s.connErr = nil
	}
}

// forgetFailure lets a connection that could not be made be tried once more, when that is not long ago compared with how long it took: an
// agent that cannot be reached costs one wait, and not one for each of its resources or batches.
func (s *session) forgetFailure(now time.Time) {
	if s.connErr != nil && now.Sub(s.failedAt) >= max(2*s.waited, leastBetweenTries) {
		s.close()
		s.connErr = nil
	}
}

// leastBetweenTries is the time between two tries to connect within one run of a lane.
const leastBetweenTries = 15 * time.Second

// run is one run of a handler, from its preparation to its result.
type run struct {
	*result
	host    *host
	ctx     *provider.Context
	claim   *claim
	typ     *schema.Compiled
	handler provider.Handler
	res     *resource.Resource // as stored, with references to secrets
	want    provider.Resource  // as the handler sees it
	seen    provider.Observation
	diff    map[string]plan.Diff
	diffed  *diffAnswer // of the handler, if it was asked together with others
	act     plan.Change // what is to be done; NoChange: nothing
	token   string
	found   bool // what was begun with the token was made
	agent   resource.Agent
	notes   state.Notes
	// replaces: the thing is deleted and created anew. leaves: things that were replaced before are still there.
	replaces, leaves bool
	known            map[string]string // facts that the handler remembers
	reload           bool
	dry              bool
	version          int // the one that brought the intent
	// whole are the changes with values as long as they are, if the host wants them. They are never
	// stored.
	whole map[string]plan.Diff
}

// setChanges notes how the thing differs.
func (r *run) setChanges(diffs map[string]plan.Diff) {
	r.changes, r.whole = nil, nil
	r.addChanges(diffs)
}

// addChanges adds to how the thing differs.
func (r *run) addChanges(diffs map[string]plan.Diff) {
	if r.changes == nil {
		r.changes, r.whole = map[string]plan.Diff{}, map[string]plan.Diff{}
	}
	maps.Copy(r.changes, r.host.redactDiff(diffs, r.texts(), false))
	if r.host.whole {
		maps.Copy(r.whole, r.host.redactDiff(diffs, r.texts(), true))
	}
}

// shown returns the changes as they are to be shown.
func (r *run) shown() map[string]plan.Diff {
	if r.host.whole {
		return r.whole
	}
	return r.changes
}

// over reports whether the run has its outcome.
func (r *run) over() bool { return r.outcome != "" }

// end gives the run its outcome.
func (r *run) end(outcome state.Status, class provider.Class, reason string) {
	r.outcome, r.class, r.reason = outcome, class, r.host.redact(reason)
}

// runGroup runs claims of one type together and gives each its result. One whose outcome cannot be known yet gets none and stays
// scheduled.
func (w *worker) runGroup(ctx context.Context, group []*claim) error {
	if err := w.fetchDeps(ctx, group); err != nil {
		return err
	}
	w.e.prefetchValues(ctx, group)
	runs := make([]*run, 0, len(group))
	for _, c := range group {
		if ctx.Err() != nil {
			break
		}
		if w.superseded(c) {
			w.session.changed = true
			continue
		}
		runs = append(runs, w.prepare(ctx, c))
	}
	x := &executor{e: w.e, runs: runs, mark: w.markCreating, cover: w.cover,
		strict: w.state.Settings.Strict, env: w.env, scheduled: w.scheduledOf}
	err := x.execute(ctx)
	if err != nil && x.lost == nil {
		w.unrecorded = true
		return err
	}
	for _, r := range runs {
		if r.over() {
			w.conclude(r)
		}
	}
	return err
}

// conclude completes the result of a run and hands it to its claim.
func (w *worker) conclude(r *run) {
	r.finished = w.e.Clock.Now()
	if r.acted {
		r.host.lists.didChange(r.claim.row.ID)
	}
	switch r.outcome {
	case state.StatusDeployed:
		r.kept, r.replaced = r.written(), r.replaces
	case state.StatusDeploying:
		r.kept = r.notes.Encode()
	}
	r.host.redactLines()
	r.lines, r.facts = r.host.lines, r.host.facts
	r.provider, r.providerWhy = r.host.provider, r.host.providerWhy
	r.claim.result = r.result
	if r.res != nil {
		r.sendEvent = r.res.Tells()
	}
	if r.outcome == state.StatusFailed || r.outcome == state.StatusUnavailable {
		r.lines = append(r.lines, provider.Line{At: r.finished, Level: provider.LevelError, Msg: r.reason})
	}
}

// prepare makes a run and does all that needs no call of the handler. The run is over if it turns out that it cannot be carried out.
func (w *worker) prepare(ctx context.Context, c *claim) *run {
	e := w.e
	r := e.newRunOf(w.env, c.row, c.res, &w.session)
	r.claim = c
	r.follows = c.at
	if c.generation > 0 {
		r.follows = r.started
	}
	r.kind = state.ActionDeploy
	if c.row.Ticket == 0 || c.row.Priority == state.PriorityUserRepair || c.row.Priority == state.PriorityRepairTimer {
		r.kind = state.ActionRepair
	}
	if r.over() {
		return r
	}
	if causes := w.unready(c); len(causes) > 0 && !r.res.ReportOnly {
		r.causes = causes
		r.end(state.StatusSkipped, "", "requires "+joinIDs(causes, 3)+", which is not deployed")
		return r
	}
	e.connect(ctx, &w.session, w.agent.Agent, r)
	if r.over() {
		return r
	}
	r.reload = w.changedSince(c, r.res)
	r.heard = r.reload
	r.host.need = w.needOf(c)
	r.host.cache = e.cacheOf(w.env, r.res.Agent)
	e.resolveFiles(ctx, r)
	e.resolveSecrets(ctx, r)
	r.bind(ctx)
	return r
}

// newRun starts a run of a row's intent.
func (e *Engine) newRun(env string, row *state.Row, s *session) *run {
	return e.newRunOf(env, row, nil, s)
}

// newRunOf is newRun; known is what the row wants, if it was decoded already.
func (e *Engine) newRunOf(env string, row *state.Row, known *resource.Resource, s *session) *run {
	r := &run{result: &result{action: e.NewID(), started: e.Clock.Now(), change: plan.NoChange}}
	r.host = &host{e: e, session: s, lists: s.known(), id: row.ID}
	res, err := known, error(nil)
	if res == nil {
		res, err = resource.Decode(row.Body)
	}
	if err != nil {
		r.damaged = true
		r.end(state.StatusUnavailable, state.ClassUnavailable, "what is stored of it is damaged; it is taken from its version once more, or else from the documents by the next apply")
		return r
	}
	r.res = res
	typ, ok := e.checker().Type(res)
	handler, why := e.handlerOf(env, res)
	if !ok || handler == nil {
		text := "this program has no handler for " + res.Type
		if why != nil {
			text = why.Error()
		}
		r.end(state.StatusUnavailable, state.ClassUnavailable, text)
		return r
	}
	if code, is := model.CodeOf(res); is {
		r.program = code.Hash
	}
	r.typ, r.handler = typ, handler
	r.version = row.Version
	r.want = provider.Resource{ID: res.ID, Type: res.Type, Agent: res.Agent, Attributes: maps.Clone(res.Attributes), Purged: res.Purged}
	r.token, r.purged, r.reportOnly = row.Creating, res.Purged, res.ReportOnly
	r.notes = state.DecodeNotes(row.Notes)
	for _, name := range row.Hidden {
		r.host.hide(name)
	}
	r.host.state = row.Waiting
	return r
}

// usualConnectLimit is how long connecting may take where the Connector does not say.
const usualConnectLimit = time.Minute

func (e *Engine) connectLimit(a resource.Agent) time.Duration {
	if c, says := e.Connector.(state.ConnectLimiter); says {
		return c.ConnectLimit(a)
	}
	return usualConnectLimit
}

// connect opens the agent's connection, unless the session has it or has failed to open it, and lets it replace the handler where it
// runs handlers elsewhere.
func (e *Engine) connect(ctx context.Context, s *session, agent resource.Agent, r *run) {
	if agent.Name == "" {
		agent = model.LocalAgent(r.res.Agent)
	}
	if r.typ != nil && !r.typ.Reached(agent.Transport) { // of a version that was stored before that was checked
		r.end(state.StatusUnavailable, state.ClassRefused, model.UnreachedText(r.typ, agent.Name, agent.Transport)+"; it is over "+model.TransportsText(r.typ))
		return
	}
	r.agent = agent
	if e.open(ctx, s, agent); s.connErr != nil {
		r.end(state.StatusUnavailable, unreachable(s.connErr), "agent "+agent.Name+": "+hinted(s.connErr))
		return
	}
	remote, ok := s.transport.(provider.Remote)
	if !ok || r.typ == nil {
		return
	}
	h, err := remote.Handler(r.typ.Type, r.handler)
	if err != nil {
		r.end(state.StatusUnavailable, unreachable(err), "agent "+agent.Name+": "+hinted(err))
		return
	}
	if p, ok := s.transport.(provider.Programmed); ok {
		r.program = p.Program()
	}
	r.handler = h
}

// open connects a session, unless it is connected or has failed to, and tries the connection out where it can be.
func (e *Engine) open(ctx context.Context, s *session, agent resource.Agent) {
	if s.connected {
		return
	}
	began := e.Clock.Now()
	limited, cancel := context.WithTimeout(ctx, e.connectLimit(agent))
	defer cancel()
	s.transport, s.connErr = e.Connector.Connect(limited, agent)
	s.connected, s.agent = true, agent
	if s.connErr != nil {
		s.transport = nil
	} else if v, ok := s.transport.(provider.Verifier); ok {
		s.connErr = v.Verify(limited)
	}
	s.failedAt = e.Clock.Now()
	s.waited = s.failedAt.Sub(began)
}

// unreached tries a connection out with which a call has failed, and returns why it is lost. What else is to run with it is not called then.
func (x *executor) unreached(r *run) error {
	s := r.host.session
	v, ok := s.transport.(provider.Verifier)
	if !ok || s.connErr != nil {
		return s.connErr
	}
	began, said := x.e.Clock.Now(), make(chan error, 1)
	if x.within(r.ctx.Context, x.e.connectLimit(s.agent), func(ctx context.Context) { said <- v.Verify(ctx) }) != nil {
		return nil // nothing is known
	}
	if s.connErr = <-said; s.connErr != nil {
		s.failedAt = x.e.Clock.Now()
		s.waited = s.failedAt.Sub(began)
	}
	return s.connErr
}

// unreachable is the class of what cannot be run because its agent is not reached: refused when that will not pass by itself.
func unreachable(err error) provider.Class {
	if class := provider.ClassOf(err); (class == state.ClassTerminal || class == state.ClassNeedsChange) && !fault.Is(err, fault.Unsupported) {
		return state.ClassRefused
	}
	return state.ClassUnavailable
}

// hinted returns the text of an error and its hint.
func hinted(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + "; " + hint
	}
	return err.Error()
}

// resolveSecrets replaces references to secrets in what the handler sees.
func (e *Engine) resolveSecrets(ctx context.Context, r *run) {
	for name, v := range r.want.Attributes {
		refs := resource.References(v)
		if len(refs) == 0 {
			continue
		}
		secret := false
		resolved, err := resource.Walk(v, func(ref any) (any, error) {
			s, ok := ref.(resource.Secret)
			if !ok {
				return ref, nil
			}
			secret = true
			value, _, err := e.Secrets.Resolve(ctx, s)
			if err == nil {
				r.host.Secret(value)
			}
			return value, err
		})
		if err != nil {
			class := provider.Retryable
			if fault.Is(err, fault.Unsupported) || fault.Is(err, fault.Denied) {
				class = provider.Terminal
			}
			r.end(state.StatusFailed, class, fmt.Sprintf("attribute %s: %v", name, err))
			return
		}
		if secret {
			if a, ok := r.typ.Attribute(name); ok && a.DataType.Check(resolved) != nil {
				r.end(state.StatusFailed, provider.NeedsChange, fmt.Sprintf("attribute %s: the secret is not %s", name, a.DataType.Describe()))
				return
			}
			r.host.hide(name)
		}
		r.want.Attributes[name] = resolved
	}
	for i := range r.typ.Attributes {
		if a := &r.typ.Attributes[i]; a.Sensitive {
			r.host.hide(a.Name)
			r.host.secretsIn(r.want.Attributes[a.Name])
		}
	}
}

// bind makes the context that the handler gets.
func (r *run) bind(ctx context.Context) {
	r.host.typ, r.host.want, r.host.dry = r.typ, r.want.Attributes, r.dry
	r.ctx = provider.NewContext(ctx, r.host, provider.Options{ID: r.res.ID, DryRun: r.dry, State: r.host.state, Reload: r.reload, Desired: r.want, Version: r.version,
		Known: r.known, Stored: r.res, New: r.claim != nil && r.claim.row.SucceededAt.IsZero()})
}

// markCreating records the token of a create before it begins, as its outcome could not be told from the real thing after a crash, and the notes
// of the run. It returns false if the row was changed meanwhile; then the run must not go on.
func (w *worker) markCreating(ctx context.Context, r *run) (bool, error) {
	row := *r.claim.row
	row.Creating, row.Notes = r.token, r.notes.Encode()
	done, err := w.commit(ctx, state.Commit{Rows: []state.Row{row}, Next: w.running, SeenPlan: w.sched.PlanSeq,
		Until: w.e.Clock.Now().Add(w.e.limitOf(&row, r.res) + leaseMargin)})
	if err != nil {
		return false, err
	}
	for i := range done.Conflicts {
		if c := &done.Conflicts[i]; c.Creating != r.token || !bytes.Equal(c.Notes, row.Notes) {
			w.session.changed = true
			return false, nil
		}
	}
	row.Rev++
	r.claim.row = &row
	if r.claim.node >= 0 {
		w.rows[r.claim.node] = &row
	}
	return true, nil
}

// cover prolongs the lease when it ends before a call can, and its result be written: another process would take the lane over in the middle. A lease
// that may have ended is not revived: others may have seen that, and run what was moved from here.
func (w *worker) cover(ctx context.Context, limit time.Duration) error {
	for range coverTries {
		now, ends := w.e.Clock.Now(), w.lease.Until
		if !ends.Before(now.Add(limit + commitTime)) {
			return nil
		}
		// As in takeOver, Next is refused, so that Running stays.
		if _, err := w.commit(ctx, state.Commit{Next: w.running, SeenPlan: -1, Until: now.Add(limit + leaseMargin)}); err != nil {
			return err
		}
		if !w.e.Clock.Now().Before(ends) {
			return fault.New(fault.Fenced, "hold lane "+w.lane, "its lease ended before it was prolonged")
		}
	}
	return fault.New(fault.Unavailable, "hold lane "+w.lane, "the store takes longer to prolong a lease than it is prolonged by")
}

const (
	commitTime = 5 * time.Second // what a result is given to be written in
	coverTries = 3
)

// limitOf returns how long one call for a row may take, as executor.limit does for its run. res is what
// the row wants; nil: it cannot be read.
func (e *Engine) limitOf(row *state.Row, res *resource.Resource) time.Duration {
	typ := row.ID.Type()
	if coded(row) {
		return model.CodeTimeout
	}
	if h, ok := provider.As[provider.Timeouter](e.Handlers[typ]); ok && res != nil {
		want := provider.Resource{ID: res.ID, Type: res.Type, Agent: res.Agent,
			Attributes: res.Attributes, Purged: res.Purged}
		if d := h.CallTimeout(want); d > 0 {
			return d
		}
	}
	if t, ok := e.Types.Type(typ); ok && t.Timeout > 0 {
		return t.Timeout
	}
	return schema.DefaultTimeout
}
