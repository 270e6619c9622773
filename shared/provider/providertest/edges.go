package providertest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// edges replaces attributes of the case by values at the edges of their types.
func edges(e *env) error {
	if e.Present {
		return errNotApplicable
	}
	if len(e.Edges) == 0 {
		return lacks("Edges")
	}
	var errs []error
	for _, a := range variedAttributes(e) {
		values, seen := a.DataType.Edges(), 0
		for _, v := range values {
			made, err := tryEdge(e, a, v)
			if err != nil {
				errs = append(errs,
					doubted("name the attribute in Unfit, with the reason why made-up values are of "+
						"no use for it", "%s = %s, of type %s: %w", a.Name,
						shown(v, a.Sensitive), a.Type, err))
				seen = -1
				break // one of each attribute is enough to read
			}
			if made {
				seen++
			}
		}
		if seen == 0 && len(values) > 1 && a.Behaviour == schema.Property {
			errs = append(errs,
				advise("return the observed values from Read, not the declared ones; if no "+
					"generated value can differ, name the attribute in Unfit of the case",
					"%s is compared, and none of %d values differed from the observed value",
					a.Name, len(values)))
		}
	}
	return errors.Join(errs...)
}

// variedAttributes returns the attributes of Edges for which values are generated.
func variedAttributes(e *env) []*schema.CompiledAttribute {
	var out []*schema.CompiledAttribute
	for _, a := range e.typ.Attributes {
		_, unfit := e.Unfit[a.Name]
		wanted := slices.Contains(e.Edges, "*") || slices.Contains(e.Edges, a.Name)
		if unfit || !wanted || a.Behaviour == schema.Namevar || a.Behaviour == schema.ReadOnly ||
			a.Name == provider.ProviderAttribute {
			continue
		}
		if compiled, ok := e.typ.Attribute(a.Name); ok {
			out = append(out, compiled)
		}
	}
	return out
}

// tryEdge tries one value, and reports whether that had an effect: the value was applied or
// rejected.
func tryEdge(e *env, a *schema.CompiledAttribute, v any) (made bool, err error) {
	attrs := maps.Clone(e.Attributes)
	attrs[a.Name] = v
	if _, err := e.checked(attrs); err != nil {
		return true, nil // the type rejects it in combination with the others
	}
	base, err := e.want(e.Attributes)
	if err != nil {
		return false, err
	}
	from := base
	if a.Behaviour == schema.InitOnly { // it can only be set at creation
		if e.Lasting {
			return true, nil
		}
		from = purged(base)
		defer func() { _, _ = e.apply(from) }() // so that the next value starts without the thing
	}
	if _, err := e.apply(from); err != nil {
		return false, fmt.Errorf("before it: %w", err)
	}
	before, err := e.world()
	if err != nil {
		return false, err
	}
	r := base
	r.Attributes = maps.Clone(base.Attributes)
	r.Attributes[a.Name] = v
	change, err := e.apply(r)
	if err != nil {
		var fixed *initOnlyError
		if errors.As(err, &fixed) {
			return true, nil
		}
		if class := provider.ClassOf(err); class == provider.Retryable {
			return true, fmt.Errorf("it fails as retryable, although a retry cannot succeed: %w", err)
		}
		return true, checkUnchanged(e, before, "a value that was refused")
	}
	return change != diff.NoChange, checkConverged(e, r)
}

func shown(v any, sensitive bool) string {
	if sensitive {
		return "a secret"
	}
	s := fmt.Sprintf("%#v", v)
	if text, ok := v.(string); ok && strings.ContainsFunc(text, unicode.IsMark) {
		s = strconv.QuoteToASCII(text) // shows invisible characters
	}
	if len(s) > 60 {
		s = fmt.Sprintf("%s… (%d bytes)", s[:60], len(s))
	}
	return s
}

// lists makes all resources, compares the list with Read, and lists again after they are purged.
func lists(e *env) error {
	l, ok := provider.As[provider.Lister](e.handler)
	if !ok || e.Present {
		return errNotApplicable
	}
	all, err := allStates(e)
	if err != nil {
		return err
	}
	for _, r := range all {
		if _, err := e.apply(r); err != nil {
			return err
		}
	}
	before, err := e.world()
	if err != nil {
		return err
	}
	found, err := listAll(e, l)
	if err != nil {
		return err
	}
	if e.Unlisted != "" {
		return checkUnchanged(e, before, "listing")
	}
	for _, r := range all {
		same := foundAs(e, found, r)
		if len(same) != 1 {
			return doubted("if List searches another place, or requires a place, set Unlisted "+
				"or Like", "%s is listed %d times", r.ID, len(same))
		}
		obs, err := e.read(r, false)
		if err != nil {
			return err
		}
		for name, v := range same[0].Attributes {
			a, declared := e.typ.Attribute(name)
			switch {
			case !declared:
				return fmt.Errorf("%s is listed, and is not declared", name)
			case a.Behaviour == schema.Property || a.Behaviour == schema.InitOnly:
				// Attributes that a resource does not set need not be reported.
				if w, read := obs.Attributes[name]; read && w != nil && r.Attributes[name] != nil &&
					!reflect.DeepEqual(v, w) {
					return fmt.Errorf("%s of %s is listed as %v and read as %v", name, r.ID, v, w)
				}
			}
		}
	}
	for _, f := range found {
		if err := checkListed(e, l, f); err != nil {
			return err
		}
	}
	if err := checkUnchanged(e, before, "listing"); err != nil || e.Lasting {
		return err
	}
	for _, r := range all {
		if _, err := e.apply(purged(r)); err != nil {
			return err
		}
	}
	if found, err = listAll(e, l); err != nil {
		return err
	}
	for _, r := range all {
		if len(foundAs(e, found, r)) > 0 {
			return fmt.Errorf("%s is listed, and was purged", r.ID)
		}
	}
	return nil
}

// checkListed requires that a listed thing has its names and values that its type allows, and
// exists when it is read.
func checkListed(e *env, l provider.Lister, f provider.Found) error {
	r := provider.Resource{Type: e.typ.Name, Agent: "test", Attributes: map[string]any{}}
	for name, v := range f.Attributes {
		a, ok := e.typ.Attribute(name)
		switch {
		case !ok:
			return fmt.Errorf("%s is listed, and is not declared", name)
		case v != nil && a.DataType.Check(v) != nil:
			return fmt.Errorf("%s is listed with a value that its type does not allow: %w", name,
				a.DataType.Check(v))
		case a.Behaviour != schema.ReadOnly && v != nil:
			r.Attributes[name] = v
		}
	}
	var keys []resource.Key
	for _, name := range e.typ.Namevars() {
		value, ok := resource.KeyText(f.Attributes[name])
		if !ok {
			return fmt.Errorf("a thing is listed without %s, which names it", name)
		}
		keys = append(keys, resource.Key{Name: name, Value: value})
	}
	r.ID = resource.NewID(e.typ.Name, "test", keys...)
	full, err := e.checked(r.Attributes)
	if err != nil {
		return nil // parameters that only a user can supply are missing
	}
	r.Attributes = full
	// Another process may have replaced the thing since: places of tests are shared.
	for range 3 {
		obs, err := e.read(r, false)
		if err != nil || obs.Exists {
			return err
		}
		again, err := listAll(e, l)
		if err != nil || len(foundAs(e, again, r)) == 0 {
			return err
		}
	}
	return advise(
		"send the same query in List and Read, and use the same test of existence",
		"%s is listed, and when it is read it is not there", r.ID)
}

func listAll(e *env, l provider.Lister) ([]provider.Found, error) {
	found, err := listOnce(e, l)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	stop := errors.New("enough")
	ctx := listContext(e)
	err = e.named("List", func() error {
		return l.List(ctx, func(provider.Found) error { return stop })
	})
	if !errors.Is(err, stop) {
		return nil, advise("return the error that the function returns, and list no further",
			"a list that its callback stopped returned %v", err)
	}
	return found, nil
}

// listContext returns a context for a list.
func listContext(e *env) *provider.Context {
	opts := provider.Options{ID: typeID(e), DryRun: true}
	if e.Like != nil {
		opts.Desired = provider.Resource{ID: opts.ID, Type: e.typ.Name, Agent: "test",
			Attributes: e.Like}
	}
	return contextOf(e, "List", opts)
}

// listOnce returns the listed things.
func listOnce(e *env, l provider.Lister) (found []provider.Found, err error) {
	ctx := listContext(e)
	err = e.named("List", func() error {
		return l.List(ctx, func(f provider.Found) error {
			found = append(found, f)
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return found, nil
}

// foundAs returns the found things that have the names of a resource.
func foundAs(e *env, found []provider.Found, r provider.Resource) []provider.Found {
	var out []provider.Found
	for _, f := range found {
		same := true
		for _, name := range e.typ.Namevars() {
			same = same && fmt.Sprint(f.Attributes[name]) == fmt.Sprint(r.Attributes[name])
		}
		if same {
			out = append(out, f)
		}
	}
	return out
}

// noop calls the handler's Nooper with a create, an update and a purge in a dry run.
func noop(e *env) error {
	n, ok := provider.As[provider.Nooper](e.handler)
	if !ok || e.Present {
		return errNotApplicable
	}
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	states := []provider.Resource{r}
	for _, u := range e.Updates {
		changed, err := e.want(e.Attributes, u)
		if err != nil {
			return err
		}
		states = append(states, changed)
	}
	for _, state := range append(states, purged(r)) {
		if err := dryRunChangesNothing(e, n, state); err != nil {
			return err
		}
		if _, err := madeResource(e); err != nil {
			return err
		}
	}
	return nil
}

// dryRunChangesNothing calls the handler's Nooper with the change that would bring about a state.
func dryRunChangesNothing(e *env, n provider.Nooper, r provider.Resource) error {
	obs, err := e.read(r, true)
	if err != nil {
		return err
	}
	change, diffs, err := e.decide(r, obs)
	if err != nil || change == diff.NoChange {
		return err
	}
	before, err := e.world()
	if err != nil {
		return err
	}
	would := provider.BatchChange{Context: e.context("Noop", r, true), Change: change, Resource: r,
		Observed: obs, Changes: diffs, Token: e.token()}
	if err := e.call("Noop", r, func() error { return n.Noop(would.Context, would) }); err != nil {
		return fmt.Errorf("noop, %s: %w", change, err)
	}
	return checkUnchanged(e, before, "a noop of a "+string(change)+" resource")
}
