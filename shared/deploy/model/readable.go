package model

import (
	"fmt"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// HasMachineSecrets reports whether a model refers to a secret that is read on a machine, see
// resource.SecretSource.
func (m *Model) HasMachineSecrets() bool {
	return m.refersTo(func(s resource.SecretSource) bool { return s.Machine })
}

// UnreadableSecrets returns a problem for each agent and each kind of source that the process that
// serves the agent cannot read: readable returns the reason, and nil if the process can. The
// problem is at the first secret, and has the number of the others. agents are the descriptions of
// agents that may be used; an agent without one has the defaults.
func (m *Model) UnreadableSecrets(
	agents []resource.Agent, readable func(resource.Agent, resource.SecretSource) error,
) diag.Problems {
	u := &unreadable{readable: readable, known: map[string]resource.Agent{},
		found: map[readBy]*unreadAt{}}
	for _, a := range agents {
		u.known[a.Name] = a
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			u.look(r.Agent, r.Attributes[name], func() diag.Problem {
				return diag.Problem{Pos: m.At(i, name), Resource: string(r.ID), Attribute: name}
			})
		}
	}
	for _, a := range m.Agents {
		u.look(a.Name, a.Options, func() diag.Problem {
			return diag.Problem{Pos: m.AtAgent(a.Name)}
		})
	}
	return u.problems()
}

// unreadable collects secrets that the process that serves their agent cannot read.
type unreadable struct {
	readable func(resource.Agent, resource.SecretSource) error
	known    map[string]resource.Agent
	found    map[readBy]*unreadAt
	order    []*unreadAt
}

// readBy is the secrets of one kind of source that the process of an agent reads.
type readBy struct{ agent, scheme string }

// unreadAt is a problem with the number of secrets that have it.
type unreadAt struct {
	diag.Problem
	n int // 0: the process can read them
}

// look adds the secrets in a value. at returns a problem without a message at the value.
func (u *unreadable) look(agent string, v any, at func() diag.Problem) {
	for _, ref := range SecretsAmong(resource.References(v)) {
		source, _ := resource.SecretSourceOf(ref.Source)
		if !source.Machine {
			continue
		}
		key := readBy{agent, source.Scheme}
		if p, known := u.found[key]; known {
			if p.n > 0 {
				p.n++
			}
			continue
		}
		a, described := u.known[agent]
		if !described {
			a = resource.Agent{Name: agent}
		}
		p := &unreadAt{}
		if err := u.readable(a, source); err != nil {
			p.Problem, p.n = at(), 1
			p.Message, p.Hint = err.Error(), fault.HintOf(err)
			u.order = append(u.order, p)
		}
		u.found[key] = p
	}
}

func (u *unreadable) problems() diag.Problems {
	var out diag.Problems
	for _, p := range u.order {
		if p.n > 1 {
			p.Message += fmt.Sprintf("; it has %d such secrets", p.n)
		}
		out.Add(p.Problem)
	}
	return out
}
