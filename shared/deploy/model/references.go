package model

import (
	"fmt"

	"southbound/shared/resource"
)

// Missing names, for people, the parameters and facts that v still refers to, since their values
// are not known.
func Missing(v any) []string {
	var out []string
	for _, ref := range resource.References(v) {
		switch r := ref.(type) {
		case resource.Parameter:
			out = append(out, fmt.Sprintf("parameter %q", r.Name))
		case resource.Fact:
			out = append(out, fmt.Sprintf("fact %q of %s", r.Name, r.Of))
		}
	}
	return out
}

func SecretsAmong(refs []any) []resource.Secret {
	var out []resource.Secret
	for _, ref := range refs {
		if s, ok := ref.(resource.Secret); ok {
			out = append(out, s)
		}
	}
	return out
}
