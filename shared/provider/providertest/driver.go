package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// env is one place with a case, a host, and what the engine would do.
type env struct {
	Case
	ctx     context.Context
	subject Subject
	newDir  func() (string, error)
	typ     *schema.Compiled
	handler provider.Handler
	host    *Host
	errors  []string // texts of all errors of the handler
	tokens  int
	saw     func(map[string]plan.Diff) // is told what an update is about, unless nil
}

func newEnv(ctx context.Context, s Subject, newDir func() (string, error)) (*env, error) {
	registry, err := schema.NewRegistry(s.Definition.Type)
	if err != nil {
		return nil, fmt.Errorf("the type is not valid: %w", err)
	}
	typ, _ := registry.Type(s.Definition.Type.Name)
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	e := &env{ctx: ctx, subject: s, newDir: newDir, typ: typ, handler: s.Definition.Handler, host: NewHost(s.Transport)}
	e.Case, err = s.New(dir, e.host)
	return e, err
}

// another returns an env in another place.
func (e *env) another() (*env, error) { return newEnv(e.ctx, e.subject, e.newDir) }

// want returns what the handler gets for attributes.
func (e *env) want(layers ...map[string]any) (provider.Resource, error) {
	attrs := map[string]any{}
	for _, layer := range layers {
		for name, v := range layer {
			if attrs[name] = v; v == nil {
				delete(attrs, name)
			}
		}
	}
	full, problems := e.typ.Check(attrs)
	if len(problems) > 0 {
		return provider.Resource{}, fmt.Errorf("the case is not valid: %w", diag.Problems(problems))
	}
	var keys []resource.Key
	for _, name := range e.typ.Namevars() {
		value, ok := resource.KeyText(full[name])
		if !ok {
			return provider.Resource{}, fmt.Errorf("attribute %s cannot name a resource", name)
		}
		keys = append(keys, resource.Key{Name: name, Value: value})
	}
	return provider.Resource{ID: resource.NewID(e.typ.Name, "test", keys...), Type: e.typ.Name, Agent: "test", Attributes: full}, nil
}

// typeID is the identity under which a list is made.
func (e *env) typeID() resource.ID {
	var keys []resource.Key
	for _, name := range e.typ.Namevars() {
		keys = append(keys, resource.Key{Name: name, Value: "*"})
	}
	return resource.NewID(e.typ.Name, "test", keys...)
}

// purged returns r as it is when it must not exist.
func purged(r provider.Resource) provider.Resource {
	r.Purged = true
	return r
}

func (e *env) context(r provider.Resource, dry bool) *provider.Context {
	return e.host.Context(e.ctx, provider.Options{ID: r.ID, Desired: r, DryRun: dry})
}

// call runs f and sees to it that the handler leaves the resource it was given alone.
func (e *env) call(r provider.Resource, f func() error) error {
	before, ok := deepCopy(r.Attributes).(map[string]any)
	err := f()
	if err != nil {
		e.errors = append(e.errors, err.Error())
	}
	if !ok || !reflect.DeepEqual(before, r.Attributes) {
		return errors.Join(err, errors.New("the handler changed the attributes that it was given"))
	}
	return err
}

func deepCopy(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = deepCopy(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = deepCopy(v[k])
		}
		return out
	}
	return v
}

// read observes and checks the form of what is reported.
func (e *env) read(r provider.Resource, dry bool) (obs provider.Observation, err error) {
	err = e.call(r, func() (err error) {
		obs, err = e.handler.Read(e.context(r, dry), provider.ReadRequest{Resource: r})
		return err
	})
	if err != nil {
		return obs, fmt.Errorf("read: %w", err)
	}
	return obs, e.wellFormed(obs)
}

func (e *env) wellFormed(obs provider.Observation) error {
	if !obs.Exists && len(obs.Attributes) > 0 {
		return errors.New("what does not exist was reported with attributes")
	}
	for name, v := range obs.Attributes {
		a, ok := e.typ.Attribute(name)
		switch {
		case !ok:
			return fmt.Errorf("%s was reported, and is not declared", name)
		case a.Behaviour == schema.Parameter:
			return fmt.Errorf("%s was reported, and is a parameter", name)
		case v != nil && a.DataType.Check(v) != nil:
			return fmt.Errorf("%s was reported with a value that its type does not allow: %w", name, a.DataType.Check(v))
		}
	}
	return nil
}

// diff compares as the engine does.
func (e *env) diff(r provider.Resource, obs provider.Observation) (diffs map[string]plan.Diff, err error) {
	if c, ok := provider.As[provider.Canonicaliser](e.handler); ok {
		attrs := maps.Clone(r.Attributes)
		if err := e.call(r, func() (err error) { attrs, err = c.Canonicalise(attrs); return err }); err != nil {
			return nil, fmt.Errorf("canonicalise: %w", err)
		}
		r.Attributes = attrs
	}
	d, ok := provider.As[provider.Differ](e.handler)
	if !ok {
		return plan.Compare(e.typ, r.Attributes, obs.Attributes), nil
	}
	err = e.call(r, func() (err error) { diffs, err = d.Diff(e.context(r, false), r, obs); return err })
	return diffs, err
}

// decide says what has to be done.
func (e *env) decide(r provider.Resource, obs provider.Observation) (plan.Change, map[string]plan.Diff, error) {
	switch {
	case r.Purged && obs.Exists:
		return plan.Purged, nil, nil
	case r.Purged:
		return plan.NoChange, nil, nil
	case !obs.Exists:
		return plan.Created, nil, nil
	}
	diffs, err := e.diff(r, obs)
	if err != nil || len(diffs) == 0 {
		return plan.NoChange, nil, err
	}
	if fixed := plan.InitOnly(e.typ, diffs); len(fixed) > 0 {
		return plan.NoChange, nil, &initOnlyError{fixed}
	}
	return plan.Updated, diffs, nil
}

// initOnlyError is how the engine refuses to change what can only be set at creation.
type initOnlyError struct{ attributes []string }

// Error names the attributes.
func (e *initOnlyError) Error() string {
	return strings.Join(e.attributes, ", ") + " can only be set at creation"
}

// mostAgain bounds how often a handler may ask to be called again.
const mostAgain = 100

// apply reads, compares and acts, and returns what was done.
func (e *env) apply(r provider.Resource) (plan.Change, error) {
	e.tokens++
	return e.applyFrom(r, fmt.Sprintf("token-%d", e.tokens), nil)
}

// applyFrom is apply with a token, and the state that a call before it handed over.
func (e *env) applyFrom(r provider.Resource, token string, state []byte) (plan.Change, error) {
	change := plan.NoChange
	for range mostAgain {
		obs, err := e.read(r, false)
		if err != nil {
			return change, err
		}
		next, diffs, err := e.decide(r, obs)
		if err != nil || next == plan.NoChange {
			return change, err
		}
		change = next
		if e.saw != nil {
			e.saw(diffs)
		}
		out, err := e.act(provider.BatchChange{Change: next, Resource: r, Observed: obs, Changes: diffs, Token: token}, state)
		if err != nil || out.Again == nil {
			return change, err
		}
		if len(out.Again.State) > 4<<10 {
			return change, errors.New("the state to be handed back is larger than 4 KiB")
		}
		state = out.Again.State
	}
	return change, fmt.Errorf("it still asks for another call after %d", mostAgain)
}

// act calls one method of the handler.
func (e *env) act(c provider.BatchChange, state []byte) (out provider.Result, err error) {
	ctx := e.host.Context(e.ctx, provider.Options{ID: c.Resource.ID, Desired: c.Resource, State: state})
	err = e.call(c.Resource, func() (err error) {
		switch c.Change {
		case plan.Created:
			out, err = e.handler.Create(ctx, provider.CreateRequest{Resource: c.Resource, Token: c.Token})
		case plan.Updated:
			out, err = e.handler.Update(ctx, provider.UpdateRequest{Resource: c.Resource, Observed: c.Observed, Changes: c.Changes})
		case plan.Purged:
			out, err = e.handler.Delete(ctx, provider.DeleteRequest{Resource: c.Resource, Observed: c.Observed})
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("%s: %w", c.Change, err)
	}
	return out, err
}

// expect applies and demands that it does what is named, and that nothing is left to do then.
func (e *env) expect(r provider.Resource, want plan.Change) error {
	change, err := e.apply(r)
	if err != nil {
		return err
	}
	if change != want {
		return fmt.Errorf("apply did %q, expected %q", change, want)
	}
	return e.settled(r)
}

// settled demands that a dry run and another apply have nothing to do, and that the apply leaves the world as it is.
func (e *env) settled(r provider.Resource) error {
	before, err := e.world()
	if err != nil {
		return err
	}
	obs, err := e.read(r, true)
	if err != nil {
		return err
	}
	if change, diffs, err := e.decide(r, obs); err != nil || change != plan.NoChange {
		return errors.Join(err, fmt.Errorf("after it was applied, a dry run would do %q: %v differ", change, attributesOf(diffs)))
	}
	if change, err := e.apply(r); err != nil || change != plan.NoChange {
		return errors.Join(err, fmt.Errorf("a second apply did %q", change))
	}
	return e.unchanged(before, "a second apply")
}

func attributesOf(diffs map[string]plan.Diff) []string {
	var out []string
	for name := range diffs {
		out = append(out, name)
	}
	return out
}

func (e *env) world() (string, error) {
	if e.World == nil {
		return "", nil
	}
	w, err := e.World()
	if err != nil {
		return "", fmt.Errorf("describe the world: %w", err)
	}
	return w, nil
}

// unchanged demands that the world is as it was.
func (e *env) unchanged(before, what string) error {
	after, err := e.world()
	if err != nil || after == before {
		return err
	}
	return fmt.Errorf("%s changed the world\nbefore:\n%s\nafter:\n%s", what, before, after)
}

// vanish takes the thing away behind the handler's back.
func (e *env) vanish(r provider.Resource) error {
	if e.Vanish != nil {
		return e.Vanish()
	}
	obs, err := e.read(r, false)
	if err != nil {
		return err
	}
	_, err = e.act(provider.BatchChange{Change: plan.Purged, Resource: purged(r), Observed: obs}, nil)
	return err
}
