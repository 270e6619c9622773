package exportcmd

import (
	"context"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/internal/declared"
	"southbound/shared/provider"
)

// bridged checks the agents of a model that have resources of bridges, with the programs that are installed on
// this machine. It prints warnings, and returns the problems. The project has the lock file.
func (p *Planner) bridged(
	ctx context.Context, m *model.Model, project string,
) (diag.Problems, error) {
	types, err := p.Docs.Registry(project)
	if err != nil {
		return nil, err
	}
	byAgent := map[string]map[string]*provider.BridgedAgent{} // by bridge and agent
	at := map[string]int{}
	bridges := provider.Bridges(p.Docs.Definitions)
	for i := range m.Resources {
		r := &m.Resources[i]
		prefix, _, _ := strings.Cut(r.Type, "::")
		t, known := types.Type(r.Type)
		if b := bridges[prefix]; b == nil || b.Check == nil || !known {
			continue
		}
		if byAgent[prefix] == nil {
			byAgent[prefix] = map[string]*provider.BridgedAgent{}
		}
		a := byAgent[prefix][r.Agent]
		if a == nil {
			a = &provider.BridgedAgent{Name: r.Agent}
			byAgent[prefix][r.Agent] = a
		}
		at[string(r.ID)] = i
		attributes := maps.Clone(r.Attributes)
		delete(attributes, declared.Attribute)
		a.Resources = append(a.Resources, provider.BridgedResource{ID: string(r.ID), Type: t.Type,
			Attributes: attributes})
	}
	var problems, warnings diag.Problems
	for _, prefix := range slices.Sorted(maps.Keys(byAgent)) {
		for i := range m.Agents {
			a := byAgent[prefix][m.Agents[i].Name]
			if a == nil {
				continue // it has no resources of the bridge
			}
			a.Options = m.Agents[i].Options
			wrong, doubtful := bridges[prefix].Check(ctx, *a)
			problems = append(problems, placed(m, a.Name, at, wrong)...)
			warnings = append(warnings, placed(m, a.Name, at, doubtful)...)
		}
	}
	p.Warn(warnings)
	return problems, nil
}

// placed adds the places of problems in the documents.
func placed(m *model.Model, agent string, at map[string]int, all diag.Problems) diag.Problems {
	for i := range all {
		w := &all[i]
		if w.Resource == "" {
			w.Pos, w.Message = m.AtAgent(agent), "agent "+agent+": "+w.Message
			continue
		}
		w.Pos = m.At(at[w.Resource], w.Attribute)
	}
	return all
}
