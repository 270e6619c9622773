package http

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"southbound/shared/platform"
	"southbound/shared/provider"
)

// idFact is the fact that stores an id which only the answer to a create contains.
const idFact = "object_id"

// remembers reports whether the id of an object has to be stored: its path contains the id, and no
// list is searched for it.
func remembers(attrs map[string]any) bool {
	read, _ := member(attrs, "paths", "read").(string)
	if read == "" {
		read, _ = attrs["path"].(string)
	}
	return attrs["find"] == nil && strings.Contains(read, "{id}")
}

// Remembers implements provider.Rememberer.
func (object) Remembers(r provider.Resource) []string {
	if !remembers(r.Attributes) {
		return nil
	}
	return []string{idFact}
}

// hintFind is the hint for an object that exists under an unknown id.
func (a *api) hintFind() string {
	if !remembers(a.want.Attributes) {
		return ""
	}
	return "; if the object exists already, set find to look it up"
}

// created continues after the API has accepted a create.
func (a *api) created(r *answer) (provider.Result, error) {
	if err := a.outputs().take(r, didCreate); err != nil {
		return provider.Result{}, err
	}
	p := a.begin(didCreate)
	id := a.idIn(r)
	if place, ok := a.place(r); ok && r.Status == http.StatusAccepted {
		// its answers describe the operation
		if id = a.idAt(place); id == "" &&
			(remembers(a.want.Attributes) || a.want.Attributes["operation"] != nil) {
			p.Monitor = place
		}
	} else if id == "" && ok {
		id = a.idAt(place)
	}
	if p.Monitor != "" {
		a.ctx.Info("accepted", "see", a.redact(p.Monitor))
		return a.again(p, nil)
	}
	if err := a.keep(id); err != nil {
		return provider.Result{}, err
	}
	a.ctx.Info("created", "id", id)
	return a.await(p)
}

// keep records the id of a created object.
func (a *api) keep(id string) error {
	switch {
	case !remembers(a.want.Attributes):
		return nil
	case id == "":
		return provider.Errorf(provider.Terminal,
			"the object was made, and the answer has no id at %q and no Location that is like "+
				"%s; see id_at and object_at", a.text("id_at"), a.readPath())
	case a.redact(id) != id:
		return provider.Errorf(provider.Terminal,
			"the object was created, but its id contains a secret and cannot be stored; set find "+
				"to look the object up")
	}
	a.ctx.Fact(idFact, id)
	return nil
}

// gone removes the id of a deleted object: the API may reuse it.
func (a *api) gone() (provider.Result, error) {
	if remembers(a.want.Attributes) && a.ctx.Known(idFact) != "" {
		a.ctx.Fact(idFact, "")
	}
	return provider.Result{}, nil
}

// place returns the path in the Location of an answer.
func (a *reader) place(r *answer) (string, bool) {
	location := r.Header.Get("Location")
	if location == "" {
		return "", false
	}
	before, query, asks := strings.Cut(location, "?")
	below, ok := a.conn.Below(before, r.path)
	if asks {
		below += "?" + query
	}
	return below, ok
}

// idIn returns the object's id in an answer.
func (a *reader) idIn(r *answer) string {
	v, err := r.json()
	if err != nil {
		return ""
	}
	if id, ok := a.newID(v); ok {
		return id
	}
	v, ok := at(v, a.text("object_at"))
	if !ok {
		return ""
	}
	return a.thing(v).id
}

// newID returns the id in an answer at new_id_at; ok is false if that is not set.
func (a *reader) newID(v any) (id string, ok bool) {
	pointer, ok := a.want.Attributes["new_id_at"].(string)
	if !ok {
		return "", false
	}
	in, _ := at(v, pointer)
	id, _ = scalarText(in)
	return id, true
}

// replaced records the id of the object that has replaced a changed one.
func (a *api) replaced(r *answer) error {
	v, err := r.json()
	if err != nil {
		return nil // the answer has no id
	}
	id, ok := a.newID(v)
	if !ok || id == "" || id == a.ctx.Known(idFact) {
		return nil
	}
	if err := a.outputs().take(r, didCreate); err != nil {
		return err
	}
	return a.keep(id)
}

// idAt returns the id in a path that has the form of object paths.
func (a *reader) idAt(place string) string {
	place, _, _ = strings.Cut(place, "?")
	path, _, _ := strings.Cut(a.readPath(), "?")
	before, after, has := strings.Cut(path, "{id}")
	if !has {
		return ""
	}
	before, err := a.scope.path(before)
	if err != nil {
		return ""
	}
	if after, err = a.scope.path(after); err != nil {
		return ""
	}
	escaped, ok := strings.CutPrefix(place, before)
	if !ok {
		return ""
	}
	if escaped, ok = strings.CutSuffix(strings.TrimSuffix(escaped, "/"),
		strings.TrimSuffix(after, "/")); !ok || strings.Contains(escaped, "/") {
		return ""
	}
	id, err := url.PathUnescape(escaped)
	if err != nil {
		return ""
	}
	return id
}

// watch polls the monitor of an accepted create until it reports the result.
func (a *api) watch(p *progress) (provider.Result, error) {
	late := provider.Errorf(provider.Terminal,
		"the API took the create, and is not done with it after %s; settle may be longer",
		a.settle())
	r, err := a.call(http.MethodGet, p.Monitor, nil, "", "")
	switch {
	case err != nil:
		return provider.Result{}, err
	case r.Status == http.StatusAccepted:
		return a.again(p, late)
	case !r.ok():
		return provider.Result{}, a.refused("create", r)
	}
	id := ""
	if operation, _ := a.want.Attributes["operation"].(map[string]any); operation != nil {
		v, err := r.json()
		if err != nil {
			return provider.Result{}, err
		}
		if failed := operation["failed"]; failed != nil && covers(failed, v) {
			return provider.Result{},
				provider.With(provider.Errorf(provider.Terminal,
					"the API could not make the object: %s", a.excerpt(r.Body)),
					provider.ErrNothingMade)
		}
		if done := operation["done"]; done != nil && !covers(done, v) {
			return a.again(p, late)
		}
		if where, ok := operation["id"].(string); ok {
			in, _ := at(v, where)
			id, _ = scalarText(in)
		}
	}
	if id == "" {
		id = a.idIn(r)
	}
	if err := a.keep(id); err != nil {
		return provider.Result{}, err
	}
	if err := a.outputs().take(r, didOperation); err != nil {
		return provider.Result{}, err
	}
	a.ctx.Info("created", "id", id)
	next := a.begin(didCreate)
	next.Asked = p.Asked
	return a.await(next)
}

// The wait for a create that may have happened: it may appear in lists late.
const (
	findEvery = 250 * time.Millisecond
	maxFind   = 20 * time.Second
)

// FindCreated implements provider.Finder.
func (o object) FindCreated(ctx *provider.Context, req provider.CreateRequest) (bool, error) {
	a, err := newAPI(ctx, req.Resource)
	if err != nil {
		return false, err
	}
	if p := a.progress(); p != nil && p.Did == didCreate {
		return true, nil
	}
	known := !remembers(a.want.Attributes) || ctx.Known(idFact) != ""
	// Only pauses count: after a suspension, the process reads again before it gives up.
	for waited := time.Duration(0); known; waited += findEvery {
		t, err := a.observe(&lists{})
		if err != nil || t != nil {
			return t != nil, err
		}
		// repeating the create makes no second object
		byPath := a.want.Attributes["find"] == nil && !remembers(a.want.Attributes)
		if byPath || waited >= min(a.settle(), maxFind) {
			break
		}
		if err := pause(ctx, findEvery); err != nil {
			return false, err
		}
	}
	if remembers(a.want.Attributes) && !a.conn.Repeats() {
		return false, provider.With(provider.Errorf(provider.Terminal,
			"the API chose an id that was not recorded; set idempotency_header of the agent, or "+
				"find, so that the object can be looked up"), provider.ErrUndecided)
	}
	return false, nil
}

// pause waits.
func pause(ctx *provider.Context, d time.Duration) error {
	if err := (platform.Clock{}).Sleep(ctx, d); err != nil {
		return provider.Errorf(provider.Retryable, "find the object: %w", err)
	}
	return nil
}
