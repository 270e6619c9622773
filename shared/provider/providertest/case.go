package providertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// shortest is the least number of characters of a secret of a case: shorter secrets occur in many
// texts by chance.
const shortest = 4

// checkCase rejects a case if one of its parts would have no effect.
func checkCase(e *env) error {
	var errs []error
	unknown := func(member, name string) {
		if _, ok := e.typ.Attribute(name); !ok {
			errs = append(errs, fmt.Errorf("%s of the case names %s, which is not declared", member,
				name))
		}
	}
	for _, m := range []struct {
		name string
		why  map[string]string
	}{{"Unfit", e.Unfit}, {"Resets", e.Resets}} {
		for _, name := range slices.Sorted(maps.Keys(m.why)) {
			if unknown(m.name, name); m.why[name] == "" {
				errs = append(errs, fmt.Errorf("%s of the case names %s without a reason", m.name,
					name))
			}
		}
	}
	for _, m := range []struct {
		name      string
		values    map[string]any
		behaviour schema.Behaviour
	}{{"InitOnly", e.InitOnly, schema.InitOnly}, {"Replaces", e.Replaces, schema.Replace},
		{"Like", e.Like, ""}} {
		for _, name := range slices.Sorted(maps.Keys(m.values)) {
			unknown(m.name, name)
			if a, ok := e.typ.Attribute(name); ok && m.behaviour != "" &&
				a.Behaviour != m.behaviour {
				errs = append(errs, fmt.Errorf("%s of the case names %s, which is not %s", m.name,
					name, m.behaviour))
			}
		}
	}
	for _, name := range e.Edges {
		if name != "*" {
			unknown("Edges", name)
		}
	}
	for _, s := range e.Secrets {
		if len(s) < shortest {
			errs = append(errs, fmt.Errorf("Secrets of the case has one of %d characters, which "+
				"stands anywhere by chance; take one of %d or more", len(s), shortest))
		}
	}
	return errors.Join(append(errs, checkTransport(e), checkNames(e), checkUpdates(e))...)
}

// checkTransport requires a connection if handlers need one.
func checkTransport(e *env) error {
	if e.subject.Transport != nil || e.typ.Reached("local") || e.typ.Reached("ssh") {
		return nil
	}
	return fmt.Errorf("the Subject has no Transport, and the type is reached over %s; give it the "+
		"connection that handlers are to find in their contexts", strings.Join(e.typ.Over(), " or "))
}

// namesIn returns the values of attributes that name a thing.
func namesIn(e *env, attrs map[string]any) []string {
	var out []string
	for _, name := range e.typ.Namevars() {
		out = append(out, fmt.Sprint(attrs[name]))
	}
	return out
}

// checkNames requires that the things of a case have different names, without secrets.
func checkNames(e *env) error {
	if e.Attributes == nil {
		return nil
	}
	first := namesIn(e, e.Attributes)
	for i, name := range e.typ.Namevars() {
		for _, s := range e.Secrets {
			if s != "" && strings.Contains(first[i], s) {
				return fmt.Errorf("Secrets of the case contains a part of %s, which names the "+
					"object and appears in each message about it; choose another secret", name)
			}
		}
	}
	for i, other := range e.Others {
		if slices.Equal(namesIn(e, other), first) {
			return fmt.Errorf("item %d of Others of the case is the same object as that of "+
				"Attributes; give it another name", i+1)
		}
	}
	return nil
}

// checkUpdates requires that the Updates of the case change only attributes that an update can
// change.
func checkUpdates(e *env) error {
	full, err := e.checked(e.Attributes)
	if err != nil {
		return nil // reported where the case is used
	}
	for _, u := range e.Updates {
		for _, name := range slices.Sorted(maps.Keys(u)) {
			a, ok := e.typ.Attribute(name)
			switch {
			case !ok || resource.Equal(u[name], full[name]):
			case a.Behaviour == schema.Namevar:
				return fmt.Errorf("Updates of the case change %s, which names the thing", name)
			case a.Behaviour == schema.InitOnly:
				return fmt.Errorf("Updates of the case change %s, which is init_only: put it into "+
					"InitOnly", name)
			}
		}
	}
	return nil
}
