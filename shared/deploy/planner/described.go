package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
)

// checkDescribed refuses a whole or targeted export that names agents and describes none while the
// version in force describes agents, unless the export keeps these descriptions. If the export
// describes agents, validation has already found the missing ones.
func (p *editor) checkDescribed(ctx context.Context, m *model.Model, keeps bool) error {
	if len(m.Agents) > 0 {
		return nil
	}
	v, err := p.pl.Client.Version(ctx, p.was, p.env.Released)
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
