package model

import (
	"fmt"

	"southbound/shared/resource"
)

// Missing returns descriptions, for people, of unknown values that v still refers to: parameters,
// facts, secret outputs and values of models.
func Missing(v any) []string {
	var out []string
	for _, ref := range resource.References(v) {
		switch r := ref.(type) {
		case resource.Parameter:
			if why, is := r.Unknown(); is {
				out = append(out, fmt.Sprintf("a value of the model (%s)", why))
				continue
			}
			out = append(out, fmt.Sprintf("parameter %q", r.Name))
		case resource.Fact:
			out = append(out, FactText(r))
		case resource.Secret:
			if o, awaited := r.Await(); awaited {
				out = append(out, fmt.Sprintf("secret output %q of %s", o.Path, o.Of))
			}
		}
	}
	return out
}

// FactText names a fact, with the path into it, in a message.
func FactText(f resource.Fact) string { return fmt.Sprintf("fact %q of %s", f.Name, f.Of) }

// SecretsAmong returns the secrets among references that a source holds: all but secret outputs.
func SecretsAmong(refs []any) []resource.Secret {
	var out []resource.Secret
	for _, ref := range refs {
		if s, ok := ref.(resource.Secret); ok && !resource.IsFollowed(ref) {
			out = append(out, s)
		}
	}
	return out
}
