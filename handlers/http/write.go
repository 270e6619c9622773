package http

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"southbound/shared/provider"
	"southbound/shared/resource"
)

// The kind of change, in the state between two calls.
const (
	didCreate = "create"
	didUpdate = "update"
	didDelete = "delete"
)

// progress is a change that the API was asked for and does not show yet.
type progress struct {
	Did string `json:"did"`
	For string `json:"for"` // hash of the desired attributes
	// Asked is the number of polls since.
	Asked int `json:"told"`
	// Monitor is the path that reports the result, if the API answered one.
	Monitor string `json:"monitor,omitempty"`
}

// begin returns the progress of a change that was just made.
func (a *api) begin(did string) *progress {
	return &progress{Did: did, For: a.intent()}
}

// progress returns the change of the previous call for the same intent, nil if there was none.
func (a *api) progress() *progress {
	var p progress
	if json.Unmarshal(a.ctx.State(), &p) != nil || p.Did == "" || p.For != a.intent() {
		return nil
	}
	return &p
}

// intent returns a text that is unique for the desired attributes, without any secret.
func (a *api) intent() string {
	b, err := resource.CanonicalValue(map[string]any{"body": a.want.Attributes["body"],
		"ready": a.want.Attributes["ready"], "purged": a.want.Purged})
	if err != nil {
		return "none"
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// settle is how long the API may take to show a change.
func (a *api) settle() time.Duration {
	n, _ := a.want.Attributes["settle"].(int64)
	return time.Duration(n) * time.Second
}

// over reports whether the time is up for the API to show a change: the sum of the pauses between
// polls. A clock would also count the time in which this process was suspended.
func (a *api) over(p *progress) bool {
	waited := time.Duration(0)
	for asked := 1; asked <= p.Asked && waited < a.settle(); asked++ {
		waited += pauseAfter(asked)
	}
	return waited >= a.settle()
}

// pauseAfter returns the pause after the poll with a number.
func pauseAfter(asked int) time.Duration {
	return min(time.Duration(asked)*time.Second, 10*time.Second)
}

// again returns Again, with longer pauses the longer it takes; over is returned when the time is
// up.
func (a *api) again(p *progress, over error) (provider.Result, error) {
	if over != nil && a.over(p) {
		return provider.Result{}, over
	}
	p.Asked++
	state, err := json.Marshal(p)
	if err != nil {
		return provider.Result{}, err
	}
	return provider.Result{Again: &provider.Again{After: pauseAfter(p.Asked), State: state}}, nil
}

// Create implements provider.Handler. An object that already exists, or was created since the read,
// is updated.
func (o object) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	a, err := newAPI(ctx, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	if p := a.progress(); p != nil {
		return a.await(p)
	}
	if a.want.Attributes["find"] != nil || remembers(a.want.Attributes) && ctx.Known(idFact) != "" {
		// the API would accept a second object like the first
		if t, err := a.observe(&lists{}); err != nil || t != nil {
			return a.adopt(t, err)
		}
	}
	method, path := http.MethodPut, a.text("path")
	if c := a.text("collection"); c != "" {
		method, path = http.MethodPost, c
	}
	a.arrived = false
	r, err := a.send(a.scope, didCreate, method, path,
		func() (any, error) { return a.scope.body(a.want.Attributes["body"]) }, req.Token, "")
	switch {
	case err != nil && !a.arrived:
		return provider.Result{}, provider.With(err, provider.ErrNothingMade)
	case err != nil:
		return provider.Result{}, err
	case r.Status == http.StatusConflict || r.Status == http.StatusPreconditionFailed:
		t, err := a.observe(&lists{})
		if err == nil && t == nil {
			err = provider.With(provider.Errorf(provider.NeedsChange, "%w%s", a.refused(method, r),
				a.hintFind()), provider.ErrNothingMade)
		}
		return a.adopt(t, err)
	case r.declined():
		return provider.Result{}, provider.With(a.refused(method, r), provider.ErrNothingMade)
	case !r.done():
		return provider.Result{}, a.refused(method, r)
	}
	return a.created(r)
}

// adopt updates the existing object.
func (a *api) adopt(t *thing, err error) (provider.Result, error) {
	if err != nil {
		return provider.Result{}, err
	}
	obs, err := a.observed(t)
	if err != nil || a.equal(obs, "body", "ready") {
		return provider.Result{}, err
	}
	return a.change(obs)
}

// send makes a request with the resource's settings for it, or else with the defaults.
func (a *api) send(
	s *scope, what, method, path string, body func() (any, error), key, match string,
) (*answer, error) {
	if m, _ := member(a.want.Attributes, "methods", what).(string); m != "" {
		method = m
	}
	if p, _ := member(a.want.Attributes, "paths", what).(string); p != "" {
		path = p
	}
	if own, ok := a.own(what); ok {
		body = func() (any, error) { return s.whole(own, a.want.Attributes["body"]) }
	}
	path, err := s.path(path)
	if err != nil {
		return nil, err
	}
	var b any
	if body != nil {
		if b, err = body(); err != nil {
			return nil, err
		}
	}
	if w := a.text("wrap"); w != "" && b != nil {
		b = map[string]any{w: b}
	}
	return a.call(method, path, b, key, match)
}

// own returns the resource's body for one kind of request.
func (a *api) own(what string) (any, bool) {
	m, _ := a.want.Attributes["bodies"].(map[string]any)
	v, ok := m[what]
	return v, ok
}

// Update implements provider.Handler.
func (o object) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	a, err := newAPI(ctx, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	if p := a.progress(); p != nil {
		return a.await(p)
	}
	return a.change(req.Observed)
}

// change sends the attributes that differ from the observed ones.
func (a *api) change(obs provider.Observation) (provider.Result, error) {
	if a.equal(obs, "body") { // only readiness is missing
		return a.await(a.begin(didUpdate))
	}
	id, _ := obs.Attributes["object_id"].(string)
	etag, _ := obs.Attributes["etag"].(string)
	s := a.scope.with(id)
	body := func() (any, error) { return a.sends(s, obs) }
	_, own := a.own(didUpdate)
	if !own && a.text("update_sends") == "merged" {
		t, err := a.get(id)
		if err != nil {
			return provider.Result{}, err
		}
		if t == nil {
			return provider.Result{}, provider.Errorf(provider.Retryable,
				"the object disappeared while it was changed")
		}
		etag = t.etag
		body = func() (any, error) {
			want, err := s.body(a.want.Attributes["body"])
			return overlay(t.value, want), err
		}
	}
	if member := a.text("update_id"); member != "" && !own {
		body = withMember(body, member, id)
	}
	r, err := a.send(s, didUpdate, http.MethodPatch, a.text("path"), body, rand.Text(), etag)
	switch {
	case err != nil:
		return provider.Result{}, err
	case r.Status == http.StatusPreconditionFailed:
		return a.overtaken(r)
	case !r.done():
		return provider.Result{}, a.refused("update", r)
	}
	if err := a.outputs().take(r, didUpdate); err != nil {
		return provider.Result{}, err
	}
	if err := a.replaced(r); err != nil {
		return provider.Result{}, err
	}
	return a.await(a.begin(didUpdate))
}

// withMember returns a body with one more member.
func withMember(body func() (any, error), member string, value any) func() (any, error) {
	return func() (any, error) {
		v, err := body()
		in, ok := v.(map[string]any)
		if err != nil || !ok {
			return v, err
		}
		out := maps.Clone(in)
		out[member] = value
		return out, nil
	}
}

// sends returns the body of an update.
func (a *api) sends(s *scope, obs provider.Observation) (any, error) {
	want, _ := a.want.Attributes["body"].(map[string]any)
	if a.text("update_sends") == "changed" {
		have, _ := obs.Attributes["body"].(map[string]any)
		want = maps.Clone(want)
		maps.DeleteFunc(want, func(k string, v any) bool {
			h, there := have[k]
			return (there || v == nil) && resource.Equal(v, h)
		})
	}
	return s.body(want)
}

// overlay returns a value merged with another one.
func overlay(under, over any) any {
	u, ok := under.(map[string]any)
	o, also := over.(map[string]any)
	if !ok || !also {
		return over
	}
	out := maps.Clone(u)
	for k, v := range o {
		out[k] = overlay(u[k], v)
	}
	return out
}

// overtaken handles an update that was rejected because the object has changed: by an earlier
// attempt of the same update, or by another client.
func (a *api) overtaken(r *answer) (provider.Result, error) {
	t, err := a.observe(&lists{})
	if err != nil {
		return provider.Result{}, err
	}
	if t != nil {
		if obs, err := a.observed(t); err != nil || a.equal(obs, "body") {
			return provider.Result{}, err
		}
	}
	return provider.Result{}, a.refused("update", r)
}

// await checks whether the API shows the change, and whether the object is ready; otherwise it
// returns Again.
func (a *api) await(p *progress) (provider.Result, error) {
	if p.Monitor != "" {
		return a.watch(p)
	}
	if a.settle() == 0 && a.want.Attributes["ready"] == nil && a.text("outputs_from") != fromReads {
		return provider.Result{}, a.outputs().settled(nil)
	}
	t, err := a.observe(&lists{})
	if err != nil {
		return provider.Result{}, err
	}
	if t == nil {
		return a.again(p,
			provider.Errorf(provider.Retryable,
				"the API took the %s, and does not show the object after %s; settle may be longer",
				p.Did, a.settle()))
	}
	if failed, err := a.isLike("failed", t); err != nil || failed {
		return provider.Result{},
			cmp.Or(err,
				provider.Errorf(provider.Terminal,
					"the object has failed: it matches the attribute failed"))
	}
	obs, err := a.observed(t)
	switch {
	case err != nil || a.equal(obs, "body", "ready"):
		return provider.Result{}, err
	case !a.equal(obs, "body"):
		out, err := a.again(p,
			provider.Errorf(provider.Retryable,
				"the API accepted the %s but does not show it after %s; it may need more time, or "+
					"it alters the values that it receives", p.Did, a.settle()))
		if err != nil && p.Did == didCreate { // a create need not accept all members of an object
			return a.change(obs)
		}
		return out, err
	}
	return a.again(p,
		provider.Errorf(provider.Retryable,
			"the object is not ready after %s; settle may be longer", a.settle()))
}

// Delete implements provider.Handler.
func (o object) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	a, err := newAPI(ctx, req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	a.want.Purged = true
	if p := a.progress(); p != nil {
		return a.awaitGone(p)
	}
	id, _ := req.Observed.Attributes["object_id"].(string)
	if id == "" && a.needsID() {
		t, err := a.observe(&lists{})
		switch {
		case err != nil:
			return provider.Result{}, err
		case t == nil:
			return a.gone()
		}
		id = t.id
	}
	r, err := a.send(a.scope.with(id), didDelete, http.MethodDelete, a.text("path"), nil, "", "")
	switch {
	case err != nil:
		return provider.Result{}, err
	case r.missing():
		return a.gone()
	case !r.done():
		return provider.Result{}, a.refused("delete", r)
	}
	return a.awaitGone(a.begin(didDelete))
}

// awaitGone checks whether the object was removed; otherwise it returns Again.
func (a *api) awaitGone(p *progress) (provider.Result, error) {
	if a.settle() == 0 {
		return a.gone()
	}
	t, err := a.observe(&lists{})
	switch {
	case err != nil:
		return provider.Result{}, err
	case t == nil:
		return a.gone()
	}
	return a.again(p,
		provider.Errorf(provider.Retryable,
			"the API took the delete, and still shows the object after %s; settle may be longer",
			a.settle()))
}
