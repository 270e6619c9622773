package deploy

import (
	"context"
	"fmt"
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

// run is one run of a handler, from its preparation to its result.
type run struct {
	*result
	host    *host
	ctx     *provider.Context
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
	given            inputs
	dry              bool
	// whole are the changes with values as long as they are, if the host wants them. They are never
	// stored.
	whole map[string]plan.Diff
}

// inputs are what a lane tells a run of why it runs.
type inputs struct {
	reload bool // something of whose changes it is notified has changed
	need   need // how new the lists have to be that it is read from
	first  bool // no run of the resource has ended well before
	facts  bool // somebody waits for its facts
}

// setChanges notes how the thing differs.
func (r *run) setChanges(diffs map[string]plan.Diff) {
	r.Changes, r.whole = nil, nil
	r.addChanges(diffs)
}

// addChanges adds to how the thing differs.
func (r *run) addChanges(diffs map[string]plan.Diff) {
	if r.Changes == nil {
		r.Changes, r.whole = map[string]plan.Diff{}, map[string]plan.Diff{}
	}
	maps.Copy(r.Changes, r.host.redactDiff(diffs, r.texts(), false))
	if r.host.whole {
		maps.Copy(r.whole, r.host.redactDiff(diffs, r.texts(), true))
	}
}

// shown returns the changes as they are to be shown.
func (r *run) shown() map[string]plan.Diff {
	if r.host.whole {
		return r.whole
	}
	return r.Changes
}

// over reports whether the run has its outcome.
func (r *run) over() bool { return r.Outcome != "" }

// end gives the run its outcome.
func (r *run) end(outcome state.Status, class provider.Class, reason string) {
	r.Outcome, r.Class, r.Reason = outcome, class, r.host.redact(reason)
}

// newRun starts a run of a row's intent.
func (e *Engine) newRun(env string, row *state.Row, s *session) *run {
	return e.newRunOf(env, row, nil, s)
}

// newRunOf is newRun; known is what the row wants, if it was decoded already.
func (e *Engine) newRunOf(env string, row *state.Row, known *resource.Resource, s *session) *run {
	r := &run{result: &result{Action: state.Action{ID: e.NewID(), Resource: row.ID, Version: row.Version,
		Started: e.Clock.Now(), Change: plan.NoChange, Pack: e.Pack}}}
	r.host = &host{e: e, env: env, session: s, lists: s.known(), id: row.ID}
	res, err := known, error(nil)
	if res == nil {
		res, err = resource.Decode(row.Body)
	}
	if err != nil {
		r.Damaged = true
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
		r.Pack = code.Hash
	}
	r.typ, r.handler = typ, handler
	r.want = provider.Resource{ID: res.ID, Type: res.Type, Agent: res.Agent, Attributes: maps.Clone(res.Attributes), Purged: res.Purged}
	r.token, r.Purged, r.ReportOnly = row.Creating, res.Purged, res.ReportOnly
	r.notes = state.DecodeNotes(row.Notes)
	for _, name := range row.Hidden {
		r.host.hide(name)
	}
	r.host.state = row.Waiting
	return r
}

// finish completes the result of a run in a lane, which has its outcome, and returns it.
func (r *run) finish() *result {
	r.Finished = r.host.Now()
	if r.Acted {
		r.host.lists.didChange(r.Resource)
	}
	switch r.Outcome {
	case state.StatusDeployed:
		r.Notes, r.Replaced = r.written(), r.replaces
	case state.StatusDeploying:
		r.Notes = r.notes.Encode()
	}
	r.report()
	r.Facts = r.host.facts
	if r.res != nil {
		r.SendsEvent = r.res.Tells()
	}
	if r.Outcome == state.StatusFailed || r.Outcome == state.StatusUnavailable {
		r.Messages = append(r.Messages, provider.Line{At: r.Finished, Level: provider.LevelError, Msg: r.Reason})
	}
	return r.result
}

// report takes into the record what the handler has said of the run.
func (r *run) report() {
	r.host.redactLines()
	r.Messages = r.host.lines
	r.Provider, r.ProviderWhy = r.host.provider, r.host.providerWhy
}

// resolve gives the handler what it is to see: the resource with the texts of its files and with its
// secrets.
func (e *Engine) resolve(ctx context.Context, r *run) {
	r.Notified = r.given.reload
	r.host.need = r.given.need
	e.resolveFiles(ctx, r)
	e.resolveSecrets(ctx, r)
	r.bind(ctx)
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
	r.ctx = provider.NewContext(ctx, r.host, provider.Options{ID: r.res.ID, DryRun: r.dry, State: r.host.state, Reload: r.given.reload, Desired: r.want, Version: r.Version,
		Known: r.known, Stored: r.res, New: r.given.first})
}

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
