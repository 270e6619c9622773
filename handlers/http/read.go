package http

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// thing is an object in the API's form.
type thing struct {
	id, etag string
	value    any
	response any // the whole response that has it
}

// lists are the lists that one batch has read, by their paths.
type lists struct {
	keep bool // keep the lists as long as their reader
	mu   sync.Mutex
	read map[string]func() ([]any, error)
}

// Read implements provider.Handler.
func (o object) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	a, err := newAPI(ctx, req.Resource)
	if err != nil {
		return provider.Observation{}, err
	}
	return a.read(&lists{keep: true})
}

// atOnce is how many objects of a batch are read concurrently.
const atOnce = 8

// ReadBatch implements provider.BatchReader: it reads several objects concurrently, and each list
// once in a run of a lane, unless the list is out of date.
func (o object) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	shared := &lists{keep: true}
	var g errgroup.Group
	g.SetLimit(atOnce)
	for i := range items {
		g.Go(func() error {
			out[i].Observation, out[i].Err = readItem(ctx, &items[i], shared)
			return nil // each reading has its own error
		})
	}
	_ = g.Wait()
	return out
}

func readItem(
	ctx context.Context, item *provider.BatchRead, shared *lists,
) (provider.Observation, error) {
	if err := ctx.Err(); err != nil {
		return provider.Observation{}, provider.Errorf(provider.Retryable, "not begun: %w", err)
	}
	a, err := newAPI(item.Context.With(ctx), item.Resource)
	if err != nil {
		return provider.Observation{}, err
	}
	return a.read(shared)
}

// read reads the object as an observation.
func (a *reader) read(shared *lists) (provider.Observation, error) {
	t, err := a.observe(shared)
	if err != nil || t == nil {
		return provider.Observation{}, err
	}
	return a.observed(t)
}

// observed returns an object in the form of the desired attributes.
func (a *reader) observed(t *thing) (provider.Observation, error) {
	attrs := map[string]any{}
	for name, text := range map[string]string{"object_id": t.id, "etag": t.etag} {
		if text != "" {
			attrs[name] = text
		}
	}
	if a.want.Purged {
		return provider.Observation{Exists: true, Attributes: attrs, Mark: t.etag}, nil
	}
	scope := a.scope.with(t.id)
	compare := newComparison(scope, a.want.Attributes)
	for _, name := range []string{"body", "ready"} {
		template := a.want.Attributes[name]
		if template == nil {
			continue
		}
		seen, err := compare.seen(template, t.value, nil)
		if err != nil {
			return provider.Observation{}, err
		}
		if _, ok := seen.(map[string]any); !ok {
			return provider.Observation{}, provider.Errorf(provider.NeedsChange,
				"the answer of the API has no object at %q; see object_at", a.text("object_at"))
		}
		attrs[name] = seen
		compare = newComparison(scope, nil) // ignored members and sets are declared for body only
	}
	for name, v := range a.facts(t) {
		a.ctx.Fact(name, v)
	}
	obs := provider.Observation{Exists: true, Attributes: attrs}
	if a.equal(obs, "body", "ready") {
		if err := a.outputs().settled(t); err != nil {
			return provider.Observation{}, err
		}
	}
	return obs, nil
}

// facts returns the facts of an object.
func (a *reader) facts(t *thing) map[string]any {
	out := map[string]any{}
	m, _ := a.want.Attributes["facts"].(map[string]any)
	for name, p := range m {
		pointer, _ := p.(string)
		if v, _ := at(t.value, pointer); v != nil && v != "" {
			out[name] = a.withoutSecrets(v)
		}
	}
	return out
}

// withoutSecrets returns a JSON value without secrets in its texts and names.
func (a *reader) withoutSecrets(v any) any {
	switch v := v.(type) {
	case string:
		return a.redact(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = a.withoutSecrets(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[a.redact(k)] = a.withoutSecrets(v[k])
		}
		return out
	}
	if text, _ := scalarText(v); a.redact(text) != text {
		return diff.Redacted
	}
	return v
}

// Facts implements provider.FactReader.
func (o object) Facts(ctx *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	a, err := newAPI(ctx, req.Resource)
	if err != nil {
		return nil, err
	}
	t, err := a.observe(&lists{})
	if err != nil || t == nil {
		return nil, err
	}
	return a.facts(t), nil
}

// observe returns the object, nil if there is none.
func (a *reader) observe(shared *lists) (*thing, error) {
	id := ""
	if a.want.Attributes["find"] != nil {
		t, err := a.find(shared)
		if err != nil || t == nil {
			return nil, err
		}
		if id = t.id; id == "" && a.needsID() {
			return nil, provider.Errorf(provider.NeedsChange,
				"the object found has no id at %q; see id_at", a.text("id_at"))
		}
	} else if remembers(a.want.Attributes) {
		if id = a.ctx.Known(idFact); id == "" {
			return nil, nil
		}
	}
	t, err := a.get(id)
	if err == nil && t == nil && a.want.Attributes["find"] != nil && !a.want.Purged {
		return nil, provider.Errorf(provider.Retryable,
			"the list has the object, and it cannot be read; it is being made or removed")
	}
	return t, err
}

// needsID reports whether the object's path contains its id.
func (a *reader) needsID() bool { return strings.Contains(a.readPath(), "{id}") }

func (a *reader) readPath() string {
	if p, _ := member(a.want.Attributes, "paths", "read").(string); p != "" {
		return p
	}
	return a.text("path")
}

// get reads the object at its path; nil if there is none.
func (a *reader) get(id string) (*thing, error) {
	path, err := a.scope.with(id).path(a.readPath())
	if err != nil {
		return nil, err
	}
	r, err := a.call(http.MethodGet, path, nil, "", "")
	switch {
	case err != nil:
		return nil, err
	case r.missing():
		return nil, nil
	case !r.ok():
		return nil, a.refused(http.MethodGet, r)
	}
	v, err := r.json()
	if err != nil && a.want.Attributes["body"] != nil {
		return nil, err
	}
	whole := v
	v, found := at(v, a.text("object_at"))
	if !found || v == nil && a.want.Attributes["body"] != nil {
		return nil, nil // the answer is empty
	}
	t := a.thing(v)
	t.response = whole
	if id != "" {
		t.id = id
	}
	// A weak ETag does not distinguish states.
	if e := r.Header.Get("ETag"); strings.HasPrefix(e, `"`) {
		t.etag = e
	}
	gone, err := a.isLike("gone", t)
	if err != nil || gone {
		return nil, err
	}
	return t, nil
}

// thing returns an object with its id.
func (a *reader) thing(v any) *thing {
	found, _ := at(v, a.text("id_at"))
	id, _ := scalarText(found)
	return &thing{id: id, value: v}
}

// isLike reports whether an object has all members of an attribute; false if that is not set.
func (a *reader) isLike(attribute string, t *thing) (bool, error) {
	want, err := a.scope.with(t.id).object(a.want.Attributes[attribute])
	return want != nil && err == nil && covers(want, t.value), err
}

// find searches the list for the object; nil if it is missing.
func (a *reader) find(shared *lists) (*thing, error) {
	path, _ := member(a.want.Attributes, "find", "path").(string)
	if path == "" {
		path = a.text("collection")
	}
	path, err := a.scope.path(path)
	if err != nil {
		return nil, err
	}
	want, err := a.scope.body(member(a.want.Attributes, "find", "match"))
	if err != nil {
		return nil, err
	}
	items, err := shared.once(path+"\n"+a.pointer("items")+"\n"+a.pointer("next")+"\n"+
		a.pointer("cursor")+"\n"+a.pointer("page")+"\n"+a.pointer("offset")+"\n"+headerKey(a.want),
		func(key string) ([]any, error) { return a.listed(shared, key, path) })
	if err != nil {
		return nil, err
	}
	var found *thing
	for _, item := range items {
		if !covers(want, item) {
			continue
		}
		t := a.thing(item)
		if gone, err := a.isLike("gone", t); err != nil || gone {
			if err != nil {
				return nil, err
			}
			continue
		}
		if found != nil {
			return nil, provider.Errorf(provider.Terminal,
				"several objects in %s match find; "+
					"remove one, or match more", path)
		}
		found = t
	}
	return found, nil
}

// listed reads a list, or returns one that was already read in this run of the lane.
func (a *reader) listed(shared *lists, key, path string) ([]any, error) {
	if !shared.keep {
		items, _, err := a.list(path)
		return items, err
	}
	return provider.Listed(a.ctx, provider.Key{Name: "find", Args: []any{key}},
		func(*provider.Context) ([]any, int, error) { return a.list(path) })
}

// headerKey distinguishes resources whose own headers may lead to other lists.
func headerKey(r provider.Resource) string {
	if r.Attributes["headers"] == nil {
		return ""
	}
	return string(r.ID)
}

func (a *caller) pointer(name string) string {
	p, _ := member(a.want.Attributes, "find", name).(string)
	return p
}

// once returns the result of f, which it calls once for a key.
func (l *lists) once(key string, f func(key string) ([]any, error)) ([]any, error) {
	l.mu.Lock()
	if l.read == nil {
		l.read = map[string]func() ([]any, error){}
	}
	get := l.read[key]
	if get == nil {
		get = sync.OnceValues(func() ([]any, error) { return f(key) })
		l.read[key] = get
	}
	l.mu.Unlock()
	return get()
}

// equal reports whether an attribute of an observation has the desired value.
func (a *reader) equal(obs provider.Observation, names ...string) bool {
	for _, n := range names {
		if w := a.want.Attributes[n]; w != nil && !resource.Equal(w, obs.Attributes[n]) {
			return false
		}
	}
	return true
}
