package cli

import (
	"slices"

	"southbound/shared/deploy"
)

// maxNewAgents bounds how many new agents of a plan are listed.
const maxNewAgents = 20

// showAgents says where the new agents of a plan are, and for which agents only secrets change.
// Where else an agent is reached in another way, each resource says so.
func showAgents(c *console, agents []deploy.AgentChange) {
	fresh := 0
	for _, a := range agents {
		switch {
		case a.New:
			if fresh++; fresh <= maxNewAgents {
				c.printf("agent %s is new: %s\n", oneLine(a.Name), oneLine(a.Place))
			}
		case a.Rotated:
			c.printf("agent %s: %s changes; %s checked again\n", oneLine(a.Name), a.How,
				are(a.Rechecked, "resource"))
		}
	}
	if more := fresh - maxNewAgents; more > 0 {
		c.printf("and %s more are new; --json lists them\n", plural(more, "agent"))
	}
}

// anyReached reports whether an agent that is not new is reached in another way.
func anyReached(agents []deploy.AgentChange) bool {
	return slices.ContainsFunc(agents, func(a deploy.AgentChange) bool { return a.How != "" })
}
