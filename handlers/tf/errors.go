package tf

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/tf/process"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// maxLines bounds the diagnostics of one answer that are shown.
const maxLines = 20

// lines returns diagnostics of a severity, one a line: the place, the summary and the detail.
func (m *meta) lines(all []wire.Diagnostic, warnings bool) []string {
	var out []string
	for _, d := range all {
		if (d.Severity == wire.SeverityWarning) != warnings {
			continue
		}
		if len(out) == maxLines {
			return append(out, "(the rest is left out)")
		}
		text := d.Summary
		if detail := strings.TrimSpace(d.Detail); detail != "" && detail != d.Summary {
			text = strings.TrimPrefix(text+": "+detail, ": ")
		}
		if place := m.place(pathOf(d.Path)); place != "" {
			text = place + ": " + text
		}
		out = append(out, text)
	}
	return out
}

// failed returns the error of an answer with errors, or nil.
func (m *meta) failed(class provider.Class, d []wire.Diagnostic) error {
	if !wire.Failed(d) {
		return nil
	}
	return provider.Errorf(class, "%s", strings.Join(m.lines(d, false), "\n"))
}

// invalid returns the error of attributes that do not fit the schema.
func (m *meta) invalid(err error) error {
	var problems diag.Problems
	if !errors.As(err, &problems) {
		return provider.Errorf(provider.NeedsChange, "%s", textOf(err))
	}
	var out []string
	for _, p := range problems {
		text := m.here(p.Attribute) + ": " + p.Message
		if p.Hint != "" {
			text += "; " + p.Hint
		}
		out = append(out, text)
	}
	return provider.Errorf(provider.NeedsChange, "%s", strings.Join(out, "\n"))
}

// contradicts returns the error of an answer that contradicts the configuration or the plan.
func (m *meta) contradicts(what string, found []value.Violation) error {
	var out []string
	for _, v := range found[:min(len(found), maxLines)] {
		out = append(out, strings.TrimPrefix(m.place(v.Path)+": "+v.Message, ": "))
	}
	return provider.Errorf(provider.Terminal, "the %s of the provider is invalid; report it to the "+
		"authors of %s %s:\n%s", what, m.provider, m.version, strings.Join(out, "\n"))
}

// broken returns the error of a call that has no answer, with its class. Kinds by which the engine
// would explain the error differently are removed: Internal, for example, is a panic of a handler.
func broken(err error) error {
	if err == nil {
		return nil
	}
	var refused *process.Refused
	if errors.As(err, &refused) {
		return provider.With(errors.New(textOf(err)), provider.ErrUnavailable)
	}
	switch fault.KindOf(err) {
	case fault.Canceled, fault.Timeout, fault.Unknown: // unknown: an error with a class
		return err
	case fault.Unsupported, fault.Damaged:
		return provider.Errorf(provider.Terminal, "%s", textOf(err))
	case fault.NotFound, fault.Denied, fault.Refused:
		return provider.With(errors.New(textOf(err)), provider.ErrUnavailable)
	}
	return provider.Errorf(provider.Retryable, "%s", textOf(err))
}

// textOf returns the text of an error with its hint.
func textOf(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return fmt.Sprintf("%v; %s", err, hint)
	}
	return err.Error()
}

// firsts returns the attributes of the schema to which paths lead, or into which, each once.
func firsts(paths []cty.Path) []string {
	var out []string
	seen := map[string]bool{}
	for _, p := range paths {
		if name := top(p); name != "" && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}
