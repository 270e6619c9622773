package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
)

// clearOptions rejects secret options of agents that are written in clear. The types of an agent's
// resources declare these options.
func (v *validator) clearOptions() {
	secrets := map[string]map[string]bool{} // paths by agent
	checked := map[[2]string]bool{}         // by agent and type
	for i := range v.m.Resources {
		r := &v.m.Resources[i]
		key := [2]string{r.Agent, r.Type}
		if checked[key] {
			continue
		}
		checked[key] = true
		t, known := v.c.Type(r)
		if !known {
			continue
		}
		for _, path := range t.SecretOptions {
			if secrets[r.Agent] == nil {
				secrets[r.Agent] = map[string]bool{}
			}
			secrets[r.Agent][path] = true
		}
	}
	for _, a := range v.m.Agents {
		for _, path := range slices.Sorted(maps.Keys(secrets[a.Name])) {
			for _, at := range clearAt(a.Options, strings.Split(path, "/"), nil) {
				v.problems.Add(diag.Problem{Pos: v.m.AtAgent(a.Name),
					Message: fmt.Sprintf("agent %s: the option %s is secret, and is written in clear", a.Name, at),
					Hint:    `write a reference, such as {secret: "env:NAME"}`})
			}
		}
	}
}

// clearAt returns the paths of the values at a path within v that should be secrets and are not. The
// path leads through lists, and * leads to all members of a map.
func clearAt(v any, path, at []string) []string {
	at = slices.Clip(at)
	var out []string
	switch v := v.(type) {
	case nil, bool:
	case []any:
		for i, e := range v {
			out = append(out, clearAt(e, path, append(at, fmt.Sprint(i)))...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			switch {
			case len(path) == 0:
				out = append(out, clearAt(v[name], nil, append(at, name))...)
			case path[0] == "*" || path[0] == name:
				out = append(out, clearAt(v[name], path[1:], append(at, name))...)
			}
		}
	default:
		if len(path) == 0 && !isSecret(v) {
			out = append(out, strings.Join(at, "/"))
		}
	}
	return out
}
