package source

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
)

// Merge returns the model of one export from two sources, such as a model and the documents in its
// directory. Agents that they describe differently are diag.Problems. Checks of the result find
// duplicate ids.
func Merge(a, b *model.Model) (*model.Model, error) {
	n := len(a.Resources)
	out := &model.Model{
		Resources: slices.Concat(a.Resources, b.Resources), Files: map[string]state.Blob{},
		Where: func(i int, attribute string) diag.Pos {
			if i < n {
				return a.At(i, attribute)
			}
			return b.At(i-n, attribute)
		},
	}
	maps.Copy(out.Files, a.Files)
	maps.Copy(out.Files, b.Files)
	agents := map[string]agentAt{}
	var problems diag.Problems
	for _, m := range []*model.Model{a, b} {
		for _, g := range m.Agents {
			at := agentAt{Agent: g, at: m.AtAgent(g.Name)}
			first, known := agents[g.Name]
			switch {
			case !known:
				agents[g.Name] = at
				out.Agents = append(out.Agents, g)
			case !sameAgent(first.Agent, g):
				problems.Add(conflict(first, at))
			}
		}
	}
	out.WhereAgent = func(name string) diag.Pos { return agents[name].at }
	if a.Fingerprint != "" && b.Fingerprint != "" {
		sum := sha256.Sum256([]byte(a.Fingerprint + "\n" + b.Fingerprint))
		out.Fingerprint = hex.EncodeToString(sum[:])
	}
	return out, problems.Err()
}
