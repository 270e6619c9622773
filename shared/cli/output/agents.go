package output

import (
	"slices"

	"southbound/shared/deploy"
)

// maxNewPlaces is how many places of new agents a plan lists.
const maxNewPlaces = 20

// showAgents shows where the new agents of a plan are, and for which agents only secrets change. If
// the address of an existing agent changes, each of its resources shows that.
func showAgents(c *Console, agents []deploy.AgentChange) {
	showNew(c, agents)
	for _, a := range agents {
		if !a.New && a.Rotated {
			c.Printf("agent %s: %s changes; %s checked again\n", OneLine(a.Name), a.How,
				Are(a.Rechecked, "resource"))
		}
	}
}

// showNew shows where new agents are, in one line for the agents of one place.
func showNew(c *Console, agents []deploy.AgentChange) {
	at := map[string][]string{}
	var places []string
	for _, a := range agents {
		if !a.New {
			continue
		}
		if at[a.Place] == nil {
			places = append(places, a.Place)
		}
		at[a.Place] = append(at[a.Place], a.Name)
	}
	for i, place := range places {
		if i == maxNewPlaces {
			c.Printf("and new agents at %s; --json lists them\n", Plural(len(places)-i, "more place"))
			break
		}
		if names := at[place]; len(names) == 1 {
			c.Printf("agent %s is new: %s\n", OneLine(names[0]), OneLine(place))
		} else {
			c.Printf("agents %s are new: %s\n", Named(names), OneLine(place))
		}
	}
}

// anyReached reports whether the address of an existing agent changes.
func anyReached(agents []deploy.AgentChange) bool {
	return slices.ContainsFunc(agents, func(a deploy.AgentChange) bool { return a.How != "" })
}
