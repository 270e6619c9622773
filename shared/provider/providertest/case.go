package providertest

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"southbound/shared/schema"
)

// shortest is how many characters a secret of a case has at least: what is shorter stands in many
// texts by chance.
const shortest = 4

// checkCase refuses a case of which a part would go unnoticed.
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
	}{{"Unfit", e.Unfit}, {"OneWay", e.OneWay}, {"Resets", e.Resets}} {
		for _, name := range slices.Sorted(maps.Keys(m.why)) {
			if unknown(m.name, name); m.why[name] == "" {
				errs = append(errs, fmt.Errorf("%s of the case does not say why it names %s", m.name,
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
	return errors.Join(errs...)
}
