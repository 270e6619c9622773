package planner

import (
	"context"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Agents of versions and models.

// checkDescribed refuses a whole or targeted export that names agents and describes none while the
// version in force describes agents, unless the export keeps these descriptions. If the export
// describes agents, validation has already found the missing ones.
func (pl *Config) checkDescribed(
	ctx context.Context, env state.Env, m *model.Model, keeps bool,
) error {
	if len(m.Agents) > 0 {
		return nil
	}
	v, err := pl.Client.Version(ctx, env, env.Released)
	if err != nil {
		return err
	}
	return checkDescribedOver(m, v, keeps).Err()
}

// checkDescribedOver refuses undescribed agents of an export, if the export or the version that it
// replaces describes any agent.
func checkDescribedOver(m *model.Model, over state.Version, keeps bool) diag.Problems {
	return model.CheckDescribed(m, model.Describing{Version: over.Number,
		Names: describedIn(over.Agents), Kept: keeps})
}

// describedIn returns the names of the agents that a version describes.
func describedIn(agents []resource.Agent) []string {
	var out []string
	for i := range agents {
		if agents[i].Described {
			out = append(out, agents[i].Name)
		}
	}
	return out
}

// anyDescribed reports whether a version describes any agent.
func anyDescribed(agents []resource.Agent) bool {
	return slices.ContainsFunc(agents, func(a resource.Agent) bool { return a.Described })
}

// sameDescribed reports whether two versions describe the same agents.
func sameDescribed(a, b []resource.Agent) bool {
	return slices.Equal(describedIn(a), describedIn(b))
}

// MergeAgents returns the agents of both lists; an agent of over replaces one of base with the same
// name.
func MergeAgents(base, over []resource.Agent) []resource.Agent {
	out, replaced := slices.Clone(over), agentsByName(over)
	for _, a := range base {
		if _, is := replaced[a.Name]; !is {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, compareNames)
	return out
}

// agentsByName indexes agents by their names.
func agentsByName(agents []resource.Agent) map[string]resource.Agent {
	out := make(map[string]resource.Agent, len(agents))
	for _, a := range agents {
		out[a.Name] = a
	}
	return out
}

// compareNames orders agents by their names.
func compareNames(a, b resource.Agent) int { return strings.Compare(a.Name, b.Name) }
