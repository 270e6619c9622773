// Package option has what reading the options of agents has in common, whatever the transport.
package option

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// LiteralSecret is the problem of what only a reference to a secret may stand for. It is none once
// references are resolved.
const LiteralSecret = "the value stands in the document, where anyone can read it"

// Unknown returns a problem for each option that a transport does not have, in the order of their
// names.
func Unknown(transport string, options map[string]any, known []string) []diag.Problem {
	var out []diag.Problem
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if slices.Contains(known, name) {
			continue
		}
		known := append(slices.Clip(known), "transport", "lanes") // what all agents have
		hint := "there are " + strings.Join(known, ", ")
		if near := schema.Nearest(name, known); near != "" {
			hint = fmt.Sprintf("did you mean %q?", near)
		}
		out = append(out, diag.Problem{Attribute: name, Message: fmt.Sprintf("the transport %s has no option %q", transport, name), Hint: hint})
	}
	return out
}

// Refuse makes an error of the first of the problems of options whose references are resolved; nil:
// there is none.
func Refuse(problems []diag.Problem) error {
	for _, p := range problems {
		if p.Message == LiteralSecret {
			continue
		}
		text := p.Message
		if p.Attribute != "" && !strings.Contains(text, p.Attribute) {
			text = p.Attribute + ": " + text
		}
		return fault.New(fault.Invalid, "connect", "%s", text).WithHint("%s", p.Hint)
	}
	return nil
}

// IsReference reports whether a value is known only later.
func IsReference(v any) bool {
	switch v.(type) {
	case resource.Secret, resource.Parameter, resource.Fact:
		return true
	}
	return false
}
