package model

import (
	"fmt"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// CheckReach refuses resources whose type is not reached over the transport of their agent: their
// handler would act on the machine on which it runs. With closed, an agent that is not described is
// local; without, it may belong to a previous version.
func (c *Checker) CheckReach(m *Model, closed bool) diag.Problems {
	over := make(map[string]string, len(m.Agents))
	for i := range m.Agents {
		over[m.Agents[i].Name] = m.Agents[i].Transport
	}
	var problems diag.Problems
	for i := range m.Resources {
		r := &m.Resources[i]
		t, known := c.Type(r)
		transport, described := over[r.Agent]
		if !known || r.Agent == "" || !described && !closed || t.Reached(transport) {
			continue
		}
		problems.Add(
			diag.Problem{
				Pos:      m.At(i, "agent"),
				Resource: string(r.ID),
				Message:  UnreachedText(t, r.Agent, transport),
				Hint:     reachHint(r, t),
			},
		)
	}
	return problems
}

// reachHint returns the hint for a resource that is not reached over the transport of its agent.
func reachHint(r *resource.Resource, t *schema.Compiled) string {
	if _, is := CodeOf(r); is {
		return fmt.Sprintf(
			"its handler is Python code, which runs where Southbound does and reaches "+
				"things by its own means, such as `via=mitogen::...`: give the agent %q "+
				"the transport local, and give resources of Southbound's own types an agent of "+
				"another name",
			r.Agent,
		)
	}
	return fmt.Sprintf("give the resource an agent with the transport %s; `southbound type %s` "+
		"describes the type", TransportsText(t), t.Name)
}

// UnreachedText returns the text that things of a type are not reached over the transport of an
// agent.
func UnreachedText(t *schema.Compiled, agent, transport string) string {
	if transport == "" {
		transport = localTransport
	}
	return fmt.Sprintf("%s is not reached over the transport %s of the agent %q", t.Name,
		transport, agent)
}

// TransportsText lists the transports over which things of a type are reached.
func TransportsText(t *schema.Compiled) string { return strings.Join(t.Over(), " or ") }

// functionTransport is the transport of an agent that a function with Python serves.
const functionTransport = "function"

// RunsCode reports whether resources that come with their handlers are reached over a transport.
func RunsCode(transport string) bool {
	return transport == localTransport || transport == functionTransport
}

// localTransport is the transport of an agent without a description.
const localTransport = "local"

// LocalAgent returns the agent that a name stands for without a description.
func LocalAgent(name string) resource.Agent {
	return resource.Agent{Name: name, Transport: localTransport, Lanes: 1}
}
