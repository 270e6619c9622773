package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// UnsetSecrets returns a problem for each place where a model refers to a secret that does not
// exist or is invalid: lookup returns NotFound or Invalid for it. Any other error of lookup is not
// a problem.
func (m *Model) UnsetSecrets(lookup func(resource.Secret) error) diag.Problems {
	known := map[resource.Secret]error{}
	find := func(ref resource.Secret) error {
		err, asked := known[ref]
		if !asked {
			if err = lookup(ref); !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
				err = nil
			}
			known[ref] = err
		}
		return err
	}
	var problems diag.Problems
	for i := range m.Resources {
		r := &m.Resources[i]
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			for _, ref := range SecretsAmong(resource.References(r.Attributes[name])) {
				if err := find(ref); err != nil {
					problems.Add(unset(ref, err, m.At(i, name), string(r.ID), name))
				}
			}
		}
	}
	for _, a := range m.Agents {
		for _, ref := range SecretsAmong(resource.References(a.Options)) {
			if err := find(ref); err != nil {
				problems.Add(unset(ref, fmt.Errorf("agent %q: %w", a.Name, err), m.AtAgent(a.Name),
					"", ""))
			}
		}
	}
	return problems
}

// HasSecrets reports whether a model refers to secrets.
func (m *Model) HasSecrets() bool {
	has := false
	_ = m.UnsetSecrets(func(resource.Secret) error {
		has = true
		return nil
	})
	return has
}

func unset(ref resource.Secret, err error, at diag.Pos, id, attribute string) diag.Problem {
	hint := "set the secret where this command runs, or name another"
	if scheme, _, _ := strings.Cut(ref.Source, ":"); scheme != "env" && scheme != "file" {
		hint = "make the secret where this command looks for it, or name another"
	}
	return diag.Problem{
		Pos:       at,
		Resource:  id,
		Attribute: attribute,
		Message:   err.Error(),
		Hint:      hint,
	}
}
