package providertest

import (
	"fmt"
	"maps"
	"slices"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// pairs are values that differ in one part only, and whether the second has no more than the first.
func pairs() []struct {
	from, to any
	less     bool
} {
	type pair = struct {
		from, to any
		less     bool
	}
	list := func(vs ...any) any { return vs }
	var out []pair
	for _, v := range [][4]any{{"a", "b", "c", "d"}, {"/a", "/b", "/c", "/d"},
		{int64(1), int64(2), int64(3), int64(4)}} {
		out = append(out, pair{list(v[0], v[1], v[2]), list(v[0], v[1], v[3]), false},
			pair{list(v[0], v[1], v[2]), list(v[0], v[1]), true})
	}
	for _, v := range [][2]any{{"x", "y"}, {int64(1), int64(2)}, {true, false}} {
		from := map[string]any{"a": v[0], "b": v[0], "c": v[0]}
		out = append(out, pair{from, map[string]any{"a": v[0], "b": v[0], "c": v[1]}, false},
			pair{from, map[string]any{"a": v[0], "b": v[0]}, true})
	}
	return out
}

// partsOf changes one part of lists and maps: the last of three, and by leaving it out.
func partsOf(e *env) error {
	if e.Present || e.Lasting {
		return errNotApplicable
	}
	if len(e.Edges) == 0 {
		return lacks("Edges")
	}
	for _, a := range variedAttributes(e) {
		if !diff.Compared(&a.Attribute) || a.Behaviour == schema.InitOnly {
			continue
		}
		for _, p := range pairs() {
			_, oneWay := e.OneWay[a.Name]
			if p.less && oneWay {
				continue
			}
			if err := changePart(e, a.Name, p.from, p.to); err != nil {
				return fmt.Errorf("%s from %s to %s: %w", a.Name, shown(p.from, a.Sensitive),
					shown(p.to, a.Sensitive), err)
			}
		}
	}
	return nil
}

// changePart brings about one value after the other, unless one is refused.
func changePart(e *env, name string, from, to any) error {
	a, _ := e.typ.Attribute(name)
	if a.DataType.Check(from) != nil || a.DataType.Check(to) != nil {
		return nil
	}
	for i, v := range []any{from, to} {
		attrs := maps.Clone(e.Attributes)
		attrs[name] = v
		if _, err := e.checked(attrs); err != nil {
			return nil // the type refuses it together with the rest
		}
		r, err := e.want(attrs)
		if err != nil {
			return err
		}
		change, err := e.apply(r)
		if err != nil && provider.ClassOf(err) != provider.Retryable {
			return nil // refused
		}
		if err == nil {
			err = checkConverged(e, r)
		}
		if err != nil {
			return err
		}
		if i == 1 && change == diff.NoChange {
			return fmt.Errorf("the difference is not seen")
		}
	}
	return nil
}

// leftOut gives the thing all that the case has values for, and then leaves out one attribute while
// another changes.
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

// leavesOut sets all of full, then takes one attribute away and changes another, and looks whether
// the first has stayed.
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
			continue // it has to be given
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
			continue // that these values go well together, nobody has said
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

// isSensitive reports whether an attribute is.
func isSensitive(e *env, name string) bool {
	c, ok := e.typ.Attribute(name)
	return ok && c.Sensitive
}
