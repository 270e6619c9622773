package model

import (
	"fmt"
	"maps"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// UnsetSecrets returns a problem for each place where a model refers to a secret that does not
// exist or is invalid: lookup returns NotFound or Invalid for it. Any other error of lookup is not
// a problem.
func (m *Model) UnsetSecrets(lookup func(resource.Secret) error) diag.Problems {
	l := unsetSecrets{lookup: lookup, known: map[resource.Secret]error{},
		down: map[string]error{}, first: map[string]int{}, more: map[int]int{}}
	for i := range m.Resources {
		r := &m.Resources[i]
		for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
			for _, ref := range SecretsAmong(resource.References(r.Attributes[name])) {
				if err := l.find(ref); err != nil {
					l.add(ref, unset(ref, err, m.At(i, name), string(r.ID), name))
				}
			}
		}
	}
	for _, a := range m.Agents {
		for _, ref := range SecretsAmong(resource.References(a.Options)) {
			if err := l.find(ref); err != nil {
				l.add(ref, unset(ref, fmt.Errorf("agent %q: %w", a.Name, err), m.AtAgent(a.Name),
					"", ""))
			}
		}
	}
	return l.all()
}

// unsetSecrets looks secrets up, each once, and holds the problems.
type unsetSecrets struct {
	lookup   func(resource.Secret) error
	known    map[resource.Secret]error
	down     map[string]error // by scheme: the server of these secrets cannot be reached
	problems diag.Problems
	first    map[string]int // problems of a server, by their text: the index of the first one
	more     map[int]int    // by this index: the number of further references with the problem
}

// find returns the error for a secret that does not exist. If a server cannot be reached, it is not
// asked for further secrets.
func (l *unsetSecrets) find(ref resource.Secret) error {
	if err, asked := l.known[ref]; asked {
		return err
	}
	kind, _ := resource.SecretSourceOf(ref.Source)
	err := l.down[kind.Scheme]
	if err == nil {
		if err = l.lookup(ref); !isUnset(ref, err) {
			err = nil
		}
		if kind.Server && fault.Is(err, fault.Unavailable) {
			l.down[kind.Scheme] = err
		}
	}
	l.known[ref] = err
	return err
}

// add adds a problem. A problem of a server that concerns several references is added once.
func (l *unsetSecrets) add(ref resource.Secret, p diag.Problem) {
	if kind, _ := resource.SecretSourceOf(ref.Source); kind.Server {
		text := p.Message + "\n" + p.Hint
		if i, said := l.first[text]; said {
			l.more[i]++
			return
		}
		l.first[text] = len(l.problems)
	}
	l.problems.Add(p)
}

// all returns the problems, with the numbers of further references.
func (l *unsetSecrets) all() diag.Problems {
	for i, n := range l.more {
		what := "references"
		if n == 1 {
			what = "reference"
		}
		l.problems[i].Message += fmt.Sprintf("; the same holds for %d more %s to secrets", n, what)
	}
	return l.problems
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

// isUnset reports whether an error means that a secret does not exist, and not only that this
// process cannot read it. A source that needs settings is read by the process that runs the
// handlers; if this process may read it at all, it is that process, so any error counts.
func isUnset(ref resource.Secret, err error) bool {
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Invalid:
		return true
	case fault.Unsupported, fault.Canceled:
		return false
	}
	kind, _ := resource.SecretSourceOf(ref.Source)
	return err != nil && kind.Setup
}

// HasSetupSecrets reports whether a model refers to a secret whose source needs settings of the
// process that reads it, see resource.SecretSource.
func (m *Model) HasSetupSecrets() bool {
	return m.refersTo(func(s resource.SecretSource) bool { return s.Setup })
}

// refersTo reports whether a model refers to a secret with a kind of source.
func (m *Model) refersTo(is func(resource.SecretSource) bool) bool {
	in := func(v any) bool {
		return slices.ContainsFunc(SecretsAmong(resource.References(v)),
			func(ref resource.Secret) bool {
				kind, _ := resource.SecretSourceOf(ref.Source)
				return is(kind)
			})
	}
	for i := range m.Resources {
		for _, v := range m.Resources[i].Attributes {
			if in(v) {
				return true
			}
		}
	}
	return slices.ContainsFunc(m.Agents, func(a resource.Agent) bool { return in(a.Options) })
}

func unset(ref resource.Secret, err error, at diag.Pos, id, attribute string) diag.Problem {
	hint := "set the secret where this command runs, or name another"
	switch kind, _ := resource.SecretSourceOf(ref.Source); {
	case kind.Setup && fault.HintOf(err) != "":
		hint = fault.HintOf(err)
	case !kind.Machine || kind.Setup:
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
