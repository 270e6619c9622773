package providertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// foreign adds an unmanaged part to the thing, before an update and, in another place, after it,
// and requires that both end in the same state.
func foreign(e *env) error {
	switch {
	case e.Present || len(e.Updates) == 0:
		return errNotApplicable
	case e.Foreign == nil:
		return lacks("Foreign")
	case e.World == nil:
		return lacks("World")
	}
	for i := range e.Updates {
		before, err := withForeign(e, i, true)
		if err != nil {
			return fmt.Errorf("update %d: %w", i+1, err)
		}
		after, err := withForeign(e, i, false)
		if err != nil {
			return fmt.Errorf("update %d: %w", i+1, err)
		}
		if before != after {
			return fmt.Errorf("update %d changes an addition of Foreign of the case: "+
				"there is\n%s\nand when it is added after the update\n%s", i+1, before, after)
		}
	}
	return nil
}

// withForeign makes the thing in a place of its own, and updates it after or before an unmanaged
// part is added to it. It returns the world.
func withForeign(e *env, update int, first bool) (string, error) {
	place, err := e.another()
	if err != nil {
		return "", err
	}
	r, err := madeResource(place)
	if err != nil {
		return "", err
	}
	if first {
		if err := addForeign(place); err != nil {
			return "", err
		}
		if change, err := place.apply(r); err != nil || change != diff.NoChange {
			return "", either(err, advise(
				"report and compare only attributes that the type declares; if the handler "+
					"has to remove additions, set no Foreign in the case",
				"after Foreign of the case has added something, it would be %s", change))
		}
	}
	next, err := place.want(place.Attributes, place.Updates[update])
	if err != nil {
		return "", err
	}
	if _, err := place.apply(next); err != nil {
		return "", err
	}
	if !first {
		if err := addForeign(place); err != nil {
			return "", err
		}
	}
	return place.world()
}

// addForeign adds an unmanaged part, which must be visible in the world.
func addForeign(place *env) error {
	before, err := place.world()
	if err != nil {
		return err
	}
	if err := place.Foreign(); err != nil {
		return &caseError{fmt.Errorf("Foreign of the case: %w", err)}
	}
	after, err := place.world()
	if err == nil && before == after {
		err = &caseError{errors.New("World of the case does not describe the addition of Foreign")}
	}
	return err
}

// leftOut sets all attributes that the case has, and then omits one attribute while another
// changes.
func leftOut(e *env) error {
	if e.Present || e.Lasting {
		return errNotApplicable
	}
	if len(e.Updates) == 0 {
		return lacks("Updates")
	}
	all := maps.Clone(e.Attributes)
	for _, u := range e.Updates {
		maps.Copy(all, u)
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		a, ok := e.typ.Attribute(name)
		_, resets := e.Resets[name]
		if !ok || resets || all[name] == nil || a.Behaviour != schema.Property ||
			a.Default != nil || a.Name == provider.ProviderAttribute {
			continue
		}
		if err := leavesOut(e, name, all); err != nil {
			return fmt.Errorf("%s was left out: %w", name, err)
		}
	}
	return nil
}

// leavesOut sets all of full, then omits one attribute and changes another, and checks whether the
// omitted one is unchanged.
func leavesOut(e *env, name string, full map[string]any) error {
	for _, u := range e.Updates {
		if _, also := u[name]; also {
			continue
		}
		before := maps.Clone(e.Attributes)
		before[name] = full[name]
		next := maps.Clone(e.Attributes)
		maps.Copy(next, u)
		delete(next, name)
		if _, err := e.checked(next); err != nil {
			continue // it is required
		}
		first, err := e.want(before)
		if err != nil {
			continue
		}
		second, err := e.want(next)
		if err != nil {
			continue
		}
		if _, err := e.apply(first); err != nil {
			continue // the case does not declare that these values are valid together
		}
		was, err := e.read(first, false)
		if err != nil {
			return err
		}
		change, diffs, err := e.decide(second, was)
		if err != nil || change != diff.Updated || replaces(e, diffs) {
			continue
		}
		if _, err := e.apply(second); err != nil {
			continue
		}
		now, err := e.read(first, false)
		if err != nil {
			return err
		}
		change, diffs, err = e.decide(first, now)
		if _, reset := diffs[name]; err == nil && change == diff.Updated && reset {
			return fmt.Errorf("it was changed to %s by an update of something else",
				shown(now.Attributes[name], isSensitive(e, name)))
		}
	}
	return nil
}

// isSensitive reports whether an attribute is sensitive.
func isSensitive(e *env, name string) bool {
	c, ok := e.typ.Attribute(name)
	return ok && c.Sensitive
}
