package providertest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// env is one place with a case, a host, and the driver that acts as the engine.
type env struct {
	Case
	ctx     context.Context
	subject Subject
	newDir  func() (string, error)
	typ     *schema.Compiled
	handler provider.Handler
	host    *Host
	*tokens
	written *sync.Map                  // write-only values that were written, by resource and attribute
	places  []*env                     // further places of the same check
	saw     func(map[string]diff.Diff) // receives the differences of each update, unless nil
}

func newEnv(ctx context.Context, s Subject, newDir func() (string, error)) (*env, error) {
	registry, err := schema.NewRegistry(s.Definition.Type)
	if err != nil {
		return nil, fmt.Errorf("the type is not valid: %w", err)
	}
	if s.Definition.Handler == nil {
		return nil, errors.New("the Definition has no Handler")
	}
	if s.Definition.Type.Thing == nil {
		return nil, errors.New("the type does not declare its objects; set Thing, for example to " +
			"schema.ByIdentity of the attributes that identify an object")
	}
	if s.New == nil {
		return nil, errors.New("the Subject has no New, which describes a case")
	}
	typ, _ := registry.Type(s.Definition.Type.Name)
	dir, err := newDir()
	if err != nil {
		return nil, err
	}
	e := &env{ctx: ctx, subject: s, newDir: newDir, typ: typ, handler: s.Definition.Handler,
		host: NewHost(s.Transport), tokens: &tokens{mark: rand.Text()}, written: &sync.Map{}}
	if e.Case, err = s.New(dir, e.host); err != nil {
		return nil, fmt.Errorf("New of the Subject: %w", err)
	}
	return e, checkCase(e)
}

// another returns an env in another place, whose output the check examines as well.
func (e *env) another() (*env, error) {
	place, err := newEnv(e.ctx, e.subject, e.newDir)
	if err == nil {
		e.places = append(e.places, place)
	}
	return place, err
}

// close expires the cached values of all places.
func (e *env) close() {
	for _, place := range append([]*env{e}, e.places...) {
		place.host.Cache().Close()
	}
}

// tokens are the tokens of creates in one place. Copies of an env share them.
type tokens struct {
	mark  string // the prefix of every token
	n     atomic.Int64
	begun sync.Map // tokens of creates with an unknown result, by resource
}

// token returns a token that is unique, also among other places: places may share a target.
func (t *tokens) token() string { return fmt.Sprintf("%s-%d", t.mark, t.n.Add(1)) }

// tokenOf returns the token of a create. For types whose target assigns the identity, it is the
// token of the previous create, unless the result of that one is known.
func (e *env) tokenOf(r provider.Resource) string {
	if !e.typ.Assigned {
		return e.token()
	}
	token, _ := e.begun.LoadOrStore(r.ID, e.token())
	text, _ := token.(string)
	return text
}

// want returns the resource that the handler receives for attributes.
func (e *env) want(layers ...map[string]any) (provider.Resource, error) {
	attrs := map[string]any{}
	for _, layer := range layers {
		for name, v := range layer {
			if attrs[name] = v; v == nil {
				delete(attrs, name)
			}
		}
	}
	full, err := e.checked(attrs)
	if err != nil {
		return provider.Resource{}, &caseError{fmt.Errorf("the case is not valid: %w", err)}
	}
	var keys []resource.Key
	for _, name := range e.typ.Namevars() {
		value, ok := resource.KeyText(full[name])
		if !ok {
			return provider.Resource{},
				&caseError{fmt.Errorf("the case is not valid: attribute %s cannot name a resource",
					name)}
		}
		keys = append(keys, resource.Key{Name: name, Value: value})
	}
	return provider.Resource{ID: resource.NewID(e.typ.Name, "test", keys...), Type: e.typ.Name,
		Agent: "test", Attributes: full}, nil
}

// checked validates attributes as those of a document, in which references to secrets replace the
// values of the case, and fills in defaults.
func (e *env) checked(attrs map[string]any) (map[string]any, error) {
	written := maps.Clone(attrs)
	for name, v := range attrs {
		if a, ok := e.typ.Attribute(name); ok && a.Sensitive && a.DataType.Sensitive() &&
			len(resource.References(v)) == 0 {
			if err := a.DataType.Check(v); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			written[name] = resource.Secret{Source: "env:TEST"}
		}
	}
	full, problems := e.typ.Check(written)
	if len(problems) > 0 {
		return nil, diag.Problems(problems)
	}
	for name := range full {
		if _, hidden := full[name].(resource.Secret); hidden {
			full[name] = attrs[name]
		}
	}
	return full, nil
}

// typeID is the identity of a list call.
func typeID(e *env) resource.ID {
	var keys []resource.Key
	for _, name := range e.typ.Namevars() {
		keys = append(keys, resource.Key{Name: name, Value: "*"})
	}
	return resource.NewID(e.typ.Name, "test", keys...)
}

// purged returns r in its purged form.
func purged(r provider.Resource) provider.Resource {
	r.Purged = true
	return r
}

func (e *env) context(method string, r provider.Resource, dry bool) *provider.Context {
	return contextOf(e, method, provider.Options{ID: r.ID, DryRun: dry, Desired: r})
}

// contextOf returns a context for calls of a method.
func contextOf(e *env, method string, opts provider.Options) *provider.Context {
	return e.host.of(e.ctx, fmt.Sprintf("%s of %s", method, opts.ID), opts)
}

// read observes the thing and checks the form of the observation.
func (e *env) read(r provider.Resource, dry bool) (obs provider.Observation, err error) {
	err = e.call("Read", r, func() (err error) {
		obs, err = e.handler.Read(e.context("Read", r, dry), provider.ReadRequest{Resource: r})
		return err
	})
	if err != nil {
		return obs, fmt.Errorf("read: %w", err)
	}
	return obs, wellFormed(e, obs)
}

// nameOfCall returns the method of a handler that makes a change.
func nameOfCall(c diff.Change) string {
	return map[diff.Change]string{diff.Created: "Create", diff.Updated: "Update",
		diff.Purged: "Delete"}[c]
}

func wellFormed(e *env, obs provider.Observation) error {
	if !obs.Exists && len(obs.Attributes) > 0 {
		return errors.New("an object that does not exist was reported with attributes")
	}
	for name, v := range obs.Attributes {
		a, ok := e.typ.Attribute(name)
		switch {
		case !ok:
			return fmt.Errorf("%s was reported, and is not declared", name)
		case a.Behaviour == schema.Parameter:
			return advise(
				"omit parameters from the result of Read: they control the handler and are not "+
					"compared", "%s was reported, and is a parameter", name)
		case a.Behaviour == schema.WriteOnly:
			return advise(
				"omit write_only attributes from the result of Read; declare an attribute that "+
					"the target returns as a property", "%s was reported, and is write_only", name)
		case v != nil && a.DataType.Check(v) != nil:
			return advise(
				"report values in the forms of documents (string, int64, float64, bool, []any, "+
					"map[string]any), return unset values as nil, and widen the type where the "+
					"target has "+
					"more than it allows",
				"%s was reported with a value that its type does not allow: %w", name,
				a.DataType.Check(v))
		}
	}
	return nil
}

// diff compares in the way of the engine.
func (e *env) diff(
	r provider.Resource, obs provider.Observation,
) (diffs map[string]diff.Diff, err error) {
	if c, ok := provider.As[provider.Canonicaliser](e.handler); ok {
		attrs := maps.Clone(r.Attributes)
		if err := e.call("Canonicalise", r,
			func() (err error) { attrs, err = c.Canonicalise(attrs); return err }); err != nil {
			return nil, fmt.Errorf("canonicalise: %w", err)
		}
		r.Attributes = attrs
	}
	d, ok := provider.As[provider.Differ](e.handler)
	if !ok {
		diffs = diff.Compare(e.typ, r.Attributes, obs.Attributes)
		err = e.call("InSync", r, func() (err error) {
			diffs, err = provider.ApplySync(e.context("InSync", r, false), e.handler, comparedAttributes(e),
				r.Attributes, obs.Attributes, diffs)
			return err
		})
		return diffs, err
	}
	err = e.call("Diff", r,
		func() (err error) {
			diffs, err = d.Diff(e.context("Diff", r, false), r, obs)
			return err
		})
	return diffs, err
}

// comparedAttributes names the compared attributes.
func comparedAttributes(e *env) []string {
	var out []string
	for i := range e.typ.Attributes {
		if a := &e.typ.Attributes[i]; diff.Compared(a) {
			out = append(out, a.Name)
		}
	}
	return out
}

// decide returns the necessary change.
func (e *env) decide(
	r provider.Resource, obs provider.Observation,
) (diff.Change, map[string]diff.Diff, error) {
	switch {
	case r.Purged && obs.Exists:
		return diff.Purged, nil, nil
	case r.Purged:
		return diff.NoChange, nil, nil
	case !obs.Exists:
		return diff.Created, nil, nil
	}
	diffs, err := e.diff(r, obs)
	diffs = unwritten(e, r, diffs)
	if err != nil || len(diffs) == 0 {
		return diff.NoChange, nil, err
	}
	if fixed := diff.InitOnly(e.typ, diffs); len(fixed) > 0 {
		return diff.NoChange, nil, &initOnlyError{fixed}
	}
	return diff.Updated, diffs, nil
}

// initOnlyError is the engine's rejection of a change to an attribute that can only be set at
// creation.
type initOnlyError struct{ attributes []string }

// Error names the attributes.
func (e *initOnlyError) Error() string {
	return strings.Join(e.attributes, ", ") + " can only be set at creation"
}

// maxAgain is how often a handler may return Again.
const maxAgain = 100

// apply reads, compares and acts, and returns the change.
func (e *env) apply(r provider.Resource) (diff.Change, error) {
	return e.applyFrom(r, e.tokenOf(r), nil)
}

// applyFrom is apply with a token, and the state of an earlier call.
func (e *env) applyFrom(r provider.Resource, token string, state []byte) (diff.Change, error) {
	change := diff.NoChange
	for range maxAgain {
		obs, err := e.read(r, false)
		if err != nil {
			return change, err
		}
		next, diffs, err := e.decide(r, obs)
		if err != nil || next == diff.NoChange {
			return change, err
		}
		change = next
		if e.saw != nil {
			e.saw(diffs)
		}
		var out provider.Result
		if next == diff.Updated && replaces(e, diffs) {
			out, err = e.replace(r, obs, diffs, e.token())
		} else {
			out, err = e.act(provider.BatchChange{Change: next, Resource: r, Observed: obs,
				Changes: diffs, Token: token}, state)
		}
		if err != nil || out.Again == nil {
			return change, err
		}
		state = out.Again.State
	}
	return change, fmt.Errorf("it still asks for another call after %d", maxAgain)
}

// act calls one method of the handler, and flushes the change, as the engine does after a batch of
// one.
func (e *env) act(c provider.BatchChange, state []byte) (out provider.Result, err error) {
	method := nameOfCall(c.Change)
	c.Context = contextOf(e, method,
		provider.Options{ID: c.Resource.ID, State: state, Desired: c.Resource})
	err = e.call(method, c.Resource,
		func() (err error) { out, err = provider.Apply(e.handler, c); return err })
	done := err == nil && out.Again == nil
	e.wrote(c, done)
	switch {
	case done:
		e.begun.Delete(c.Resource.ID)
		if c.Resource.Purged {
			err = keepState(&e.host.account, c.Resource.ID, nil, nil) // as the engine does
		}
		if err != nil {
			break
		}
		err = e.flush([]provider.BatchChange{c})
	case err == nil:
		err = checkAgain(e, c.Resource, out.Again)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.Change, err)
	}
	return out, err
}

// checkAgain checks the Again of a handler.
func checkAgain(e *env, r provider.Resource, a *provider.Again) error {
	e.host.say(string(r.ID), "the state in Again", string(a.State))
	switch {
	case len(a.State) > 4<<10:
		return advise("keep an id in it and look the rest up",
			"the state to be handed back is larger than 4 KiB")
	case a.After <= 0:
		return advise("set After to the time after which another call is worth it, such as a second",
			"it asks to be called again after %s: immediately, and forever", a.After)
	}
	return nil
}

// flush calls a handler's Flusher with the changes.
func (e *env) flush(done []provider.BatchChange) error {
	f, ok := provider.As[provider.Flusher](e.handler)
	if !ok || len(done) == 0 {
		return nil
	}
	if err := e.named("Flush", func() error { return f.Flush(e.ctx, done) }); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

// expect applies a resource, requires the change want, and requires that no change is left then.
func (e *env) expect(r provider.Resource, want diff.Change) error {
	change, err := e.apply(r)
	if err != nil {
		return err
	}
	if change != want {
		return fmt.Errorf("apply did %q, expected %q", change, want)
	}
	return checkConverged(e, r)
}

// checkConverged requires that a dry run and another apply find nothing to do, and that the apply
// does not change the world.
func checkConverged(e *env, r provider.Resource) error {
	before, err := e.world()
	if err != nil {
		return err
	}
	obs, err := e.read(r, true)
	if err != nil {
		return err
	}
	if change, diffs, err := e.decide(r, obs); err != nil || change != diff.NoChange {
		return either(err,
			fmt.Errorf("after it was applied, a dry run would do %q: %v differ", change,
				attributesOf(diffs)))
	}
	e.host.forgetChanges()
	if change, err := e.apply(r); err != nil || change != diff.NoChange {
		return either(err, fmt.Errorf("a second apply did %q", change))
	}
	if said := e.host.Overridden(); said != "" && said != diff.NoChange {
		return advise("call SetChange where something is changed, never in Read or Diff",
			"a second apply, which has nothing to do, reports %s by SetChange", said)
	}
	for name := range e.host.recentChanges() {
		if a, ok := e.typ.Attribute(name); ok && a.Behaviour != schema.ReadOnly &&
			r.Attributes[name] == nil {
			continue // observed drift
		}
		return advise("call Changed where something is changed, never in Read or Diff",
			"a second apply, which has nothing to do, reports by Changed that %s was changed", name)
	}
	return checkUnchanged(e, before, "a second apply")
}

func attributesOf(diffs map[string]diff.Diff) []string {
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

// checkUnchanged requires that the world is unchanged.
func checkUnchanged(e *env, before, what string) error {
	after, err := e.world()
	if err != nil || after == before {
		return err
	}
	const fix = "describe only state that the handler can change in World, and equal states by equal " +
		"texts: no times, no generated numbers, no state of other programs"
	if again, err := e.world(); err == nil && again != after {
		return advise(fix, "World of the case describes one state differently in two calls: after "+
			"%s it returns\n%s\nand then\n%s", what, after, again)
	}
	return doubted(fix, "%s changed the world\nbefore:\n%s\nafter:\n%s", what, before, after)
}

// vanish removes the thing without the handler.
func vanish(e *env, r provider.Resource) error {
	if e.Vanish != nil {
		return e.Vanish()
	}
	obs, err := e.read(r, false)
	if err != nil {
		return err
	}
	_, err = e.act(provider.BatchChange{Change: diff.Purged, Resource: purged(r), Observed: obs},
		nil)
	return err
}
