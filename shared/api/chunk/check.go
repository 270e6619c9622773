package chunk

import (
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

const (
	maxLanes = 1024
	maxName  = 255 // of sets, transports, parameters
)

// checkResource checks the rules that the engine assumes: the identity of a resource follows from
// its attributes, and names are valid at their places. Documents cannot violate these rules, but a
// resource from outside may. Types and attributes are checked with the whole model.
func checkResource(types *model.Checker, r *resource.Resource) error {
	parts, err := resource.ParseID(string(r.ID))
	if err != nil {
		return err // already a fault
	}
	if parts.ID() != r.ID || parts.Validate() != nil {
		return fault.New(fault.Invalid, "", "the id is not written as ids are")
	}
	if strings.ContainsAny(r.Set, "\x00\n") || len(r.Set) > maxName {
		return fault.New(fault.Invalid, "",
			"the name of the set is longer than %d bytes, or holds a line break", maxName)
	}
	if t, ok := types.Type(r); ok { // it may declare itself, whatever type the program has
		if err := checkIdentity(t, r, parts); err != nil {
			return err
		}
	}
	if len(r.Followed) > 0 {
		return fault.New(fault.Invalid, "", "only a deployed resource has values of facts")
	}
	for _, id := range r.Requires {
		if _, err := resource.ParseID(string(id)); err != nil {
			return err // already a fault
		}
	}
	return checkReferences(r.Attributes)
}

func checkIdentity(t *schema.Compiled, r *resource.Resource, parts resource.Parts) error {
	names := t.Namevars()
	same := len(names) == len(parts.Keys)
	for i := 0; same && i < len(names); i++ {
		v, ok := r.Attributes[names[i]]
		if a, known := t.Attribute(names[i]); !ok && known {
			v = a.Default
		}
		text, ok := resource.KeyText(v)
		same = ok && parts.Keys[i] == resource.Key{Name: names[i], Value: text}
	}
	if !same {
		return fault.New(fault.Invalid, "", "the id does not follow from the attributes")
	}
	return nil
}

// checkReferences checks the references in attributes or options.
func checkReferences(v any) error {
	for _, ref := range resource.References(v) {
		switch r := ref.(type) {
		case resource.Secret:
			// the value may be the secret itself, so the error omits it
			if hint := resource.CheckSecret(r.Source); hint != "" {
				return fault.New(fault.Invalid, "", "this is not a source of a secret").
					WithHint("%s", hint)
			}
			if err := checkOutput(r); err != nil {
				return err
			}
		case resource.Fact:
			if _, err := resource.ParseID(string(r.Of)); err != nil {
				return err // already a fault
			}
			if err := resource.CheckFact(r.Name); err != nil {
				return err // already a fault
			}
		}
	}
	return nil
}

// checkOutput checks a secret that may refer to a secret output. A version has none: only a row names
// the revision that it is for.
func checkOutput(s resource.Secret) error {
	o, is := s.Output()
	if !is {
		return nil
	}
	if s.Version != "" {
		return fault.New(fault.Invalid, "", "only a deployed resource has the version of an output")
	}
	_, err := resource.ParseID(string(o.Of))
	return err // already a fault
}

func checkAgent(
	a resource.Agent, names map[string]bool, wrong func(resource.Agent) []diag.Problem,
) error {
	switch {
	case !resource.ValidAgent(a.Name):
		return fault.New(fault.Invalid, "", "this cannot name an agent").
			WithHint("use at most 255 bytes that all print")
	case names[a.Name]:
		return fault.New(fault.Invalid, "", "the agent %q is described twice", a.Name)
	case a.Lanes < 1 || a.Lanes > maxLanes:
		return fault.New(fault.Invalid, "", "lanes is a whole number from 1 to %d", maxLanes)
	case a.Transport == "" || len(a.Transport) > maxName:
		return fault.New(fault.Invalid, "", "the agent %q has no transport", a.Name)
	}
	if problems := wrong(a); len(problems) > 0 {
		return fault.New(fault.Invalid, "", "agent %q: %s", a.Name, problems[0].Message).
			WithHint("%s", problems[0].Hint)
	}
	return checkReferences(a.Options)
}
