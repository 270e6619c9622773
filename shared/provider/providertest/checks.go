package providertest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

func checks() []check {
	return []check{
		{"declaration", "a type and each of its attributes have a description",
			"describe the type and every attribute", declaration},
		{"create", "a created object reads as declared, and a second apply changes nothing",
			"return each property from Read in the form of the declaration (or implement " +
				"Canonicalise), and return no parameters", creates},
		{"create_twice", "a create that was not recorded can be repeated",
			"look up the object in Create before making it, and complete it if it exists", createsTwice},
		{"update", "an update corrects each difference, and can be repeated",
			"set the declared values in Update, and return the observed values from Read",
			updates},
		{"update_gone", "an object that vanished before an update exists after the next apply",
			"query the target in each Read, and create the missing object in the next run",
			updateGone},
		{"init_only", "a change of an init_only attribute is detected and refused",
			"return init_only attributes from Read", initOnly},
		{"replaced", "a change of an attribute that requires replacement replaces the object",
			"delete only the observed object in Delete, create a new object in Create, and " +
				"return the newest object from Read", replaced},
		{"delete", "a purge removes an object and all its parts, and can be repeated",
			"remove in Delete all that Create made, and succeed if the object no longer exists", deletes},
		{"dry_run", "reading and dry runs change nothing",
			"change nothing in Read, whether the run is dry or not, and look the same in both",
			dryRun},
		{"batch", "a batch acts like single calls, and returns results in order",
			"return one result for each item, in order, with the effects of single calls", batch},
		{"parallel", "a handler can be called for several resources at the same time",
			"keep no state between calls, or lock it", parallel},
		{"canceled", "a canceled call returns, and the next call converges",
			"return when the context of the call is canceled, and put no secret into an error", canceled},
		{"interrupted", "a call that is interrupted after any step is completed by the next call",
			"write a temporary object and rename it, or report incomplete objects in Read, so " +
				"that the next run completes them", interrupted},
		{"canonical", "a canonical form is its own canonical form",
			"return canonical values unchanged from Canonicalise", canonical},
		{"find", "a create that may have happened can be looked up",
			"search by the token alone in FindCreated, and return an error if the search fails",
			find},
		{"reload", "a reload can be repeated and leaves the object as declared",
			"only notify the object in Reload", reload},
		{"facts", "asking for facts changes nothing",
			"only read in Facts", facts},
		{"list", "a list contains each existing object, with the values of Read, and nothing else",
			"return the same values from List and Read, once for each object", lists},
		{"noop", "a dry run that reaches the target changes nothing",
			"send only queries in Noop", noop},
		{"neighbours", "a change of one object leaves other objects unchanged",
			"address exactly the named object, by all of its naming attributes, and never by a " +
				"list, prefix or pattern", neighbours},
		{"left_out", "attributes that a resource omits stay unchanged",
			"send only differences (req.Changes) in Update, or merge them into the observed " +
				"object; if the target resets omitted attributes, list them in Resets of the case", leftOut},
		{"foreign", "unmanaged attributes stay unchanged in an update",
			"send only differences (req.Changes) in Update, with PATCH if the target has it, or " +
				"merge them into the observed object", foreign},
		{"edges", "values at the edges of the types are applied or refused",
			"write and read every value that the type allows as it is, refuse others with an " +
				"error of the class NeedsChange before anything is changed, or narrow the type",
			edges},
	}
}

func declaration(e *env) error {
	var errs []error
	if e.typ.Description == "" {
		errs = append(errs, errors.New("the type has no description"))
	}
	for _, a := range e.typ.Attributes {
		if a.Description == "" {
			errs = append(errs, fmt.Errorf("attribute %s has no description", a.Name))
		}
	}
	if t, ok := provider.As[provider.Timeouter](e.handler); ok {
		// CallTimeout is also called with unresolved references, so it must accept any value of an
		// attribute.
		for _, attrs := range []map[string]any{nil, e.Attributes} {
			if t.CallTimeout(provider.Resource{Type: e.typ.Name, Attributes: attrs}) < 0 {
				errs = append(errs, errors.New("the time limit of a call is negative"))
			}
		}
	}
	for _, m := range provider.Mismatches(e.handler) {
		errs = append(errs, advise(m.Hint, "%s", m.Message))
	}
	_, err := e.want(e.Attributes)
	return errors.Join(append(errs, checkFeatures(e), err)...)
}

// checkFeatures compares the features that the type declares with the interfaces of its handler.
func checkFeatures(e *env) error {
	can := map[string]bool{}
	_, can["canonicalise"] = provider.As[provider.Canonicaliser](e.handler)
	_, can["noop"] = provider.As[provider.Nooper](e.handler)
	_, can["reload"] = provider.As[provider.Reloader](e.handler)
	_, can["discover"] = provider.As[provider.Lister](e.handler)
	_, reads := provider.As[provider.BatchReader](e.handler)
	_, applies := provider.As[provider.BatchApplier](e.handler)
	can["batch"] = reads || applies
	if _, can["facts"] = provider.As[provider.FactReader](e.handler); !can["facts"] {
		delete(can, "facts") // a handler can report facts in any call
	}
	for _, feature := range slices.Sorted(maps.Keys(can)) {
		const fix = "list exactly the implemented features of the handler in Features of the " +
			"type: `southbound type` shows them"
		switch said := slices.Contains(e.typ.Features, feature); {
		case said && !can[feature]:
			return advise(fix, "Features of the type lists %s, and the handler does not implement it", feature)
		case !said && can[feature]:
			return advise(fix, "the handler implements %s, and Features of the type does not list it",
				feature)
		}
	}
	return nil
}

// madeResource returns the first resource after it was created.
func madeResource(e *env) (provider.Resource, error) {
	r, err := e.want(e.Attributes)
	if err == nil {
		_, err = e.apply(r)
	}
	return r, err
}

func creates(e *env) error {
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	if e.Present {
		return checkConverged(e, r)
	}
	obs, err := e.read(r, false)
	if err != nil || obs.Exists {
		return either(err, doubted("name an object that does not exist in Attributes, in a separate "+
			"place for each call of New", "before it was created: exists = %t", obs.Exists))
	}
	if err := e.expect(r, diff.Created); err != nil {
		return err
	}
	return checkSteady(e, r)
}

// checkSteady requires that repeated reads of an unchanged thing return the same.
func checkSteady(e *env, r provider.Resource) error {
	first, err := e.read(r, false)
	if err != nil {
		return err
	}
	for range 5 {
		again, err := e.read(r, false)
		if err != nil {
			return err
		}
		for _, name := range comparedAttributes(e) {
			if !reflect.DeepEqual(first.Attributes[name], again.Attributes[name]) {
				return advise(
					"report lists and texts in an order that is always the same (sort the keys "+
						"of maps), and no times",
					"%s is read as %v and as %v, with nothing in between", name,
					first.Attributes[name], again.Attributes[name])
			}
		}
	}
	return nil
}

func createsTwice(e *env) error {
	if e.Present {
		return errNotApplicable
	}
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	before, err := e.world()
	if err != nil {
		return err
	}
	token := e.token()
	for i := range 2 {
		if !e.typ.Assigned {
			// as in the engine: all attempts share a token only if the target chooses the identity
			token = e.token()
		} else if i > 0 {
			if again, err := repeats(e, r, token); err != nil || !again {
				return err
			}
		}
		out, err := e.act(provider.BatchChange{Change: diff.Created, Resource: r, Token: token},
			nil)
		if err != nil {
			return err
		}
		if out.Again != nil {
			return errNotApplicable // the target needs time
		}
	}
	if err := checkConverged(e, r); err != nil || e.Lasting {
		return err
	}
	if err := e.expect(purged(r), diff.Purged); err != nil {
		return err
	}
	return checkUnchanged(e, before, "creating twice and purging")
}

func updates(e *env) error {
	if len(e.Updates) == 0 && !e.Present && isChangeable(e) {
		return lacks("Updates")
	}
	_, err := madeResource(e)
	if err != nil {
		return err
	}
	layers := []map[string]any{e.Attributes}
	var r provider.Resource
	for i, u := range e.Updates {
		layers = append(layers, u)
		if r, err = e.want(layers...); err != nil {
			return fmt.Errorf("update %d: %w", i+1, err)
		}
		obs, err := e.read(r, false)
		if err != nil {
			return fmt.Errorf("update %d: %w", i+1, err)
		}
		change, diffs, err := e.decide(r, obs)
		if err != nil || change != diff.Updated {
			return either(err, doubted("change a property to a new value in each of Updates",
				"update %d: the difference is not seen: %q", i+1, change))
		}
		if err := e.expect(r, diff.Updated); err != nil {
			return fmt.Errorf("update %d: %w", i+1, err)
		}
		if _, err := e.act(provider.BatchChange{Change: diff.Updated, Resource: r, Observed: obs,
			Changes: diffs}, nil); err != nil {
			return fmt.Errorf("update %d, repeated: %w", i+1, err)
		}
		if err := checkConverged(e, r); err != nil {
			return fmt.Errorf("update %d, repeated: %w", i+1, err)
		}
	}
	if r, err = madeResource(e); err != nil {
		return fmt.Errorf("return to the first attributes: %w", err)
	}
	if err := checkConverged(e, r); err != nil {
		return fmt.Errorf("return to the first attributes: %w", err)
	}
	return nil
}

// isChangeable reports whether any attribute of the type can be updated.
func isChangeable(e *env) bool {
	return slices.ContainsFunc(e.typ.Attributes, func(a schema.Attribute) bool {
		return a.Behaviour == schema.Property && a.Name != provider.ProviderAttribute
	})
}

func updateGone(e *env) error {
	if len(e.Updates) == 0 && !e.Present && isChangeable(e) {
		return lacks("Updates")
	}
	if len(e.Updates) == 0 || e.Present {
		return errNotApplicable
	}
	if _, err := madeResource(e); err != nil {
		return err
	}
	r, err := e.want(e.Attributes, e.Updates[0])
	if err != nil {
		return err
	}
	obs, err := e.read(r, false)
	if err != nil {
		return err
	}
	_, diffs, err := e.decide(r, obs)
	if err != nil {
		return err
	}
	if err := vanish(e, r); err != nil {
		return fmt.Errorf("vanish: %w", err)
	}
	if now, err := e.read(r, false); err != nil || now.Exists {
		return either(err, doubted("remove exactly the object of Attributes in Vanish",
			"an object that vanished is still reported: exists = %t", now.Exists))
	}
	// The update may fail or replace the thing, as long as later runs converge.
	if _, err := e.act(provider.BatchChange{Change: diff.Updated, Resource: r, Observed: obs,
		Changes: diffs}, nil); err != nil && provider.ClassOf(err) != provider.Retryable {
		return advise("return an error of the class Retryable: the next run finds the object "+
			"missing and creates it", "an update of an object that vanished fails as %s, which is "+
			"never retried: %w", provider.ClassOf(err), err)
	}
	if _, err := e.apply(r); err != nil {
		return err
	}
	return checkConverged(e, r)
}

func initOnly(e *env) error {
	for _, a := range e.typ.Attributes {
		if _, ok := e.InitOnly[a.Name]; a.Behaviour == schema.InitOnly && !ok {
			return advise("give InitOnly of the case another value for "+a.Name,
				"the case has no other value for %s", a.Name)
		}
	}
	if _, err := madeResource(e); err != nil {
		return err
	}
	before, err := e.world()
	if err != nil {
		return err
	}
	for name, v := range e.InitOnly {
		r, err := e.want(e.Attributes, map[string]any{name: v})
		if err != nil {
			return err
		}
		var refused *initOnlyError
		if change, err := e.apply(r); !errors.As(err, &refused) {
			return either(err,
				fmt.Errorf("another value of %s is not refused: %s is done", name, change))
		}
	}
	return checkUnchanged(e, before, "a refused change")
}

func deletes(e *env) error {
	if e.Present {
		return errNotApplicable
	}
	before, err := e.world()
	if err != nil {
		return err
	}
	r, err := madeResource(e)
	if err != nil {
		return err
	}
	want := diff.Purged
	if e.Lasting {
		want = diff.NoChange
	}
	gone := purged(r)
	obs, err := e.read(gone, false)
	if err != nil {
		return err
	}
	if err := e.expect(gone, want); err != nil {
		return err
	}
	if _, err := e.act(provider.BatchChange{Change: diff.Purged, Resource: gone, Observed: obs},
		nil); err != nil {
		return fmt.Errorf("deleting an object that no longer exists: %w", err)
	}
	if e.Lasting {
		return nil
	}
	if obs, err := e.read(r, false); err != nil || obs.Exists {
		return either(err, fmt.Errorf("after it was purged: exists = %t", obs.Exists))
	}
	if err := checkUnchanged(e, before, "creating and purging"); err != nil {
		return err
	}
	return e.expect(r, diff.Created)
}

func dryRun(e *env) error {
	r, err := e.want(e.Attributes)
	if err != nil {
		return err
	}
	states := []provider.Resource{r, purged(r)}
	for _, u := range e.Updates {
		changed, err := e.want(e.Attributes, u)
		if err != nil {
			return err
		}
		states = append(states, changed)
	}
	for _, phase := range []string{"missing", "there"} {
		before, err := e.world()
		if err != nil {
			return err
		}
		for _, s := range states {
			if err := readsAlike(e, s); err != nil {
				return fmt.Errorf("while it is %s: %w", phase, err)
			}
		}
		if err := checkUnchanged(e, before, "reading while it is "+phase); err != nil {
			return err
		}
		if _, err := madeResource(e); err != nil {
			return err
		}
	}
	if e.World == nil && !e.Present {
		return lacks("World")
	}
	return nil
}

// readsAlike requires that a dry run reads the same state as a run.
func readsAlike(e *env, r provider.Resource) error {
	var seen [2]provider.Observation
	for i, dry := range []bool{true, false} {
		obs, err := e.read(r, dry)
		if err == nil {
			_, _, err = e.decide(r, obs)
		}
		var refused *initOnlyError
		if err != nil && !errors.As(err, &refused) {
			return err
		}
		obs.Mark = "" // which a run does not use
		seen[i] = obs
	}
	if !reflect.DeepEqual(seen[0], seen[1]) {
		return fmt.Errorf("a dry run sees %v, a run %v", seen[0], seen[1])
	}
	return nil
}
