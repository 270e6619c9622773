package providertest

import (
	"errors"
	"fmt"
	"maps"
	"reflect"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// replaces reports whether only a replacement can remove the differences.
func replaces(
	e *env, diffs map[string]diff.Diff,
) bool {
	return len(diff.Replacing(e.typ, diffs)) > 0
}

// replace replaces a thing as the engine does. For an old thing that is deleted last, the handler
// receives only the reported attributes.
func (e *env) replace(
	r provider.Resource, obs provider.Observation, diffs map[string]diff.Diff, token string,
) (provider.Result, error) {
	old, last := obs, e.typ.CreatesFirst(r.Attributes)
	if last {
		old = provider.Observation{Exists: true, Attributes: map[string]any{}}
		for i := range e.typ.Attributes {
			if a := &e.typ.Attributes[i]; a.Behaviour == schema.ReadOnly && !a.Sensitive &&
				obs.Attributes[a.Name] != nil {
				old.Attributes[a.Name] = obs.Attributes[a.Name]
			}
		}
		if len(old.Attributes) == 0 {
			return provider.Result{},
				advise("report the identity that the target has chosen, as a read_only attribute",
					"no read_only attribute distinguishes the old object from the new one")
		}
	}
	steps := []provider.BatchChange{{Change: diff.Purged, Resource: r, Observed: old},
		{Change: diff.Created, Resource: r, Changes: diffs, Token: token}}
	if last {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, s := range steps {
		out, err := e.act(s, nil)
		if err != nil || out.Again != nil {
			return out, err
		}
	}
	return provider.Result{}, nil
}

// replaced changes the attributes that only a replacement can change, back and forth, and stops
// between the two calls.
func replaced(e *env) error {
	var names []string
	for _, a := range e.typ.Attributes {
		if a.Behaviour == schema.Replace {
			names = append(names, a.Name)
			if _, ok := e.Replaces[a.Name]; !ok && !e.Present {
				return lacks("Replaces for " + a.Name)
			}
		}
	}
	if len(names) == 0 || e.Present || e.Lasting {
		return errNotApplicable
	}
	first, err := madeResource(e)
	if err != nil {
		return err
	}
	for _, name := range names {
		other, err := e.want(e.Attributes, map[string]any{name: e.Replaces[name]})
		if err != nil {
			return err
		}
		for _, next := range []provider.Resource{other, first} {
			if err := e.expect(next, diff.Updated); err != nil {
				return fmt.Errorf("another %s: %w", name, err)
			}
		}
		if e.typ.CreatesFirst(first.Attributes) {
			continue
		}
		obs, err := e.read(first, false)
		if err == nil {
			_, err = e.act(provider.BatchChange{Change: diff.Purged, Resource: other,
				Observed: obs}, nil)
		}
		if err == nil {
			err = e.expect(other, diff.Created)
		}
		if err != nil {
			return fmt.Errorf("another %s, cut off after the delete: %w", name, err)
		}
		if err := e.expect(first, diff.Updated); err != nil {
			return err
		}
	}
	return nil
}

// unwritten adds the write-only attributes whose desired value was not written to the differences.
func unwritten(e *env, r provider.Resource, diffs map[string]diff.Diff) map[string]diff.Diff {
	for i := range e.typ.Attributes {
		a := &e.typ.Attributes[i]
		want := r.Attributes[a.Name]
		if a.Behaviour != schema.WriteOnly || want == nil {
			continue
		}
		if have, ok := e.written.Load(string(r.ID) + " " + a.Name); ok &&
			reflect.DeepEqual(have, want) {
			continue
		}
		if diffs = maps.Clone(diffs); diffs == nil {
			diffs = map[string]diff.Diff{}
		}
		diffs[a.Name] = diff.Diff{Desired: want}
	}
	return diffs
}

// wrote records which write-only attributes a call has written; after a failed call, this is
// unknown.
func (e *env) wrote(c provider.BatchChange, done bool) {
	for i := range e.typ.Attributes {
		a := &e.typ.Attributes[i]
		key := string(c.Resource.ID) + " " + a.Name
		_, among := c.Changes[a.Name]
		switch {
		case a.Behaviour != schema.WriteOnly:
		case done && (c.Change == diff.Created || among):
			e.written.Store(key, c.Resource.Attributes[a.Name])
		case c.Change == diff.Purged && !c.Resource.Purged &&
			e.typ.CreatesFirst(c.Resource.Attributes):
			// The new thing has the attributes written already.
		case c.Change != diff.Updated || among:
			e.written.Delete(key)
		}
	}
}

// missing is a member that a case lacks: checks that need it are skipped.
type missing struct{ member string }

// Error names the member.
func (m *missing) Error() string { return "not checked: the case has no " + m.member }

// lacks ends a check that needs a member of the case.
func lacks(member string) error { return &missing{member} }

// skipped returns the member that a skipped check needs, "" if the check was made.
func skipped(err error) string {
	var m *missing
	if errors.As(err, &m) {
		return m.Error()
	}
	return ""
}
