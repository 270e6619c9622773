package deploy

import (
	"context"
	"fmt"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// checkReach refuses resources whose type is not reached over the transport of their agent: a handler that was called all the same would
// act on the machine it runs on. With closed, an agent that is not described is local; without, it may be one of a version before.
func (e *Engine) checkReach(m *Model, closed bool) diag.Problems {
	over := make(map[string]string, len(m.Agents))
	for i := range m.Agents {
		over[m.Agents[i].Name] = m.Agents[i].Transport
	}
	var problems diag.Problems
	for i := range m.Resources {
		r := &m.Resources[i]
		t, known := e.typeOf(r)
		transport, described := over[r.Agent]
		if !known || r.Agent == "" || !described && !closed || t.Reached(transport) {
			continue
		}
		problems.Add(diag.Problem{Pos: m.at(i, "agent"), Resource: string(r.ID), Message: unreached(t, r.Agent, transport),
			Hint: fmt.Sprintf("give the resource an agent with the transport %s; `southbound type %s` describes the type", overText(t), t.Name)})
	}
	return problems
}

// stranded refuses a release by which an agent comes to be reached in a way that is not for something
// that has left and is still to be purged there, now or in a later wave: it would never be. An interrupted release was asked
// when it began.
func (r *releaser) stranded(ctx context.Context) error {
	moved, err := r.rehosted(ctx)
	if err != nil || len(moved) == 0 {
		return err
	}
	var problems diag.Problems
	err = r.p.e.eachRow(ctx, r.p.env.Name, func(row *state.Row) error {
		transport, moves := moved[row.ID.Agent()]
		now := row
		if planned := r.p.rows[row.ID]; planned != nil {
			now = planned
		}
		t, known := r.p.e.Types.Type(row.ID.Type())
		if !moves || now.Orphaned || !known || t.Reached(transport) {
			return nil
		}
		what := "left the model and is to be purged, but "
		hint := "apply once with the agent as it was, so that it is purged, or without purge_on_delete, so that it stays"
		switch {
		case row.Removing:
			hint = fmt.Sprintf("`southbound forget '%s'` lets go of it; or apply once with the agent as it was", row.ID)
		case !now.Removing: // by a wave of an apply
			what = "is left to a later wave, as something still requires it, but "
			hint = "apply once with the agent as it was, or not in waves"
		}
		problems.Add(diag.Problem{Resource: string(row.ID), Hint: hint,
			Message: what + unreached(t, row.ID.Agent(), transport)})
		return nil
	})
	if err != nil {
		return err
	}
	return problems.Err()
}

// rehosted returns the transports of agents that had another one: in the version in force, or when they
// left.
func (r *releaser) rehosted(ctx context.Context) (map[string]string, error) {
	env := &r.p.env
	if env.Released == 0 || env.Releasing != 0 || sameAgents(r.agents, r.v.Agents) {
		return nil, nil
	}
	was, err := r.p.e.State.Agents(ctx, env.Name)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read agents", err)
	}
	out := map[string]string{}
	for i := range r.v.Agents {
		a := &r.v.Agents[i]
		if before, had := was[a.Name]; had && before.Transport != a.Transport {
			out[a.Name] = a.Transport
		}
	}
	return out, nil
}

// unreached says that things of a type are not reached over the transport of an agent.
func unreached(t *schema.Compiled, agent, transport string) string {
	if transport == "" {
		transport = localTransport
	}
	return fmt.Sprintf("%s is not reached over the transport %s of the agent %q", t.Name, transport, agent)
}

// overText lists the transports over which things of a type are reached.
func overText(t *schema.Compiled) string { return strings.Join(t.Over(), " or ") }

// localTransport is that of an agent that nobody describes.
const localTransport = "local"

// undescribed is the agent that a name stands for when nobody describes it.
func undescribed(name string) resource.Agent {
	return resource.Agent{Name: name, Transport: localTransport, Lanes: 1}
}
