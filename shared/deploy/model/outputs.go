package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// outputsOf refuses references to secret outputs of types whose handlers keep no state. A type
// without a handler in this program is not checked.
func outputsOf(c *Checker, r *resource.Resource) []diag.Problem {
	return eachOutput(r, func(o resource.Output) *diag.Problem {
		h, known := c.handlers[o.Of.Type()]
		if _, keeps := provider.As[provider.Keeper](h); !known || h == nil || keeps {
			return nil
		}
		return &diag.Problem{
			Message: fmt.Sprintf("refers to secret output %q of %s, and %s keeps no secret outputs",
				o.Path, o.Of, o.Of.Type()),
			Hint: "refer to a resource of a type that does, or to a fact: {fact: NAME, of: ID}",
		}
	})
}

// absentOutputs refuses references to secret outputs of resources that are not among resources: no
// run can give them a value. It also refuses outputs that a resource does not have by its attributes.
func absentOutputs(
	c *Checker, r *resource.Resource, resources []resource.Resource, byID map[resource.ID]int,
) []diag.Problem {
	return eachOutput(r, func(o resource.Output) *diag.Problem {
		i, there := byID[o.Of]
		p := &diag.Problem{Message: fmt.Sprintf("refers to secret output %q of %s, ", o.Path, o.Of)}
		switch {
		case !there:
			p.Message += "which does not exist"
			p.Hint = "describe that resource, or use another secret"
			if similar := nearestID(o.Of, resources); similar != "" {
				p.Hint = fmt.Sprintf("did you mean %s?", similar)
			}
		case resources[i].Purged && !r.Purged:
			p.Message += "which is purged"
			p.Hint = "use another secret, or purge this resource as well"
		case !r.Purged:
			return noOutput(c, &resources[i], o)
		default:
			return nil
		}
		return p
	})
}

// noOutput refuses an output that a resource does not have by its attributes.
func noOutput(c *Checker, of *resource.Resource, o resource.Output) *diag.Problem {
	t, ok := c.Type(of)
	path, err := resource.ParsePath(o.Path)
	if !ok || t.Outputs == nil || err != nil || len(path) == 0 {
		return nil
	}
	names := t.Outputs(of.Attributes)
	if names == nil || slices.Contains(names, path[0]) {
		return nil
	}
	slices.Sort(names)
	p := &diag.Problem{
		Message: fmt.Sprintf("refers to secret output %q of %s, which has no output %q", o.Path, o.Of,
			path[0]),
		Hint: "use one of its outputs: " + strings.Join(names, ", "),
	}
	if len(names) == 0 {
		p.Hint = "declare the output in that resource, or use another secret"
	}
	return p
}

// eachOutput returns the problems that check finds with the secret outputs to which attributes of r
// refer.
func eachOutput(r *resource.Resource, check func(o resource.Output) *diag.Problem) []diag.Problem {
	var out []diag.Problem
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		for _, ref := range resource.References(r.Attributes[name]) {
			s, _ := ref.(resource.Secret)
			o, is := s.Output()
			if !is {
				continue
			}
			if p := check(o); p != nil {
				p.Attribute, p.Resource = name, string(r.ID)
				out = append(out, *p)
			}
		}
	}
	return out
}

// options refuses secret outputs in the options of agents: a connection has no place in the order of
// runs.
func (v *validator) options() {
	for _, a := range v.m.Agents {
		for _, ref := range resource.References(a.Options) {
			s, _ := ref.(resource.Secret)
			if o, is := s.Output(); is {
				v.problems.Add(diag.Problem{
					Pos: v.m.AtAgent(a.Name),
					Message: fmt.Sprintf("agent %q: an option is secret output %q of %s, and only "+
						"attributes of resources take outputs", a.Name, o.Path, o.Of),
					Hint: "use a secret of another source",
				})
			}
		}
	}
}
