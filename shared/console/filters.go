package console

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// selection is what the address of a list of resources selects, and what a form acts on.
type selection struct {
	Status, Agents  []string
	Type, Set, Word string
	HasSet          bool
}

// The parameters of the addresses of lists of resources.
const (
	paramStatus = "status"
	paramAgent  = "agent"
	paramType   = "type"
	paramSet    = "set"
	paramWord   = "q"
	paramCursor = "cursor"
)

// selectionOf reads a selection from the parameters of an address. Empty parameters, as forms send
// them, select everything.
func selectionOf(q url.Values) selection {
	s := selection{Type: strings.TrimSpace(q.Get(paramType)), Set: q.Get(paramSet),
		Word: strings.TrimSpace(q.Get(paramWord))}
	s.HasSet = s.Set != ""
	for _, name := range []struct {
		to   *[]string
		from string
	}{{&s.Status, paramStatus}, {&s.Agents, paramAgent}} {
		for _, v := range q[name.from] {
			if v = strings.TrimSpace(v); v != "" && !slices.Contains(*name.to, v) {
				*name.to = append(*name.to, v)
			}
		}
	}
	return s
}

// terms returns the selection as the terms of a filter.
func (s *selection) terms() []string {
	var out []string
	for _, v := range s.Status {
		out = append(out, "status="+v)
	}
	for _, v := range s.Agents {
		out = append(out, "agent="+v)
	}
	if s.Type != "" {
		out = append(out, "type="+s.Type)
	}
	if s.HasSet {
		out = append(out, "set="+s.Set)
	}
	if strings.ContainsAny(s.Word, "*?[") { // an id, or a glob of one
		return append(out, s.Word)
	}
	for word := range strings.FieldsSeq(s.Word) { // parts of an id, in any order
		out = append(out, "id~="+word)
	}
	return out
}

// values returns the selection as the parameters of an address.
func (s *selection) values() url.Values {
	q := url.Values{}
	for _, v := range s.Status {
		q.Add(paramStatus, v)
	}
	for _, v := range s.Agents {
		q.Add(paramAgent, v)
	}
	for name, v := range map[string]string{paramType: s.Type, paramSet: s.Set, paramWord: s.Word} {
		if v != "" {
			q.Set(name, v)
		}
	}
	return q
}

// oneStatus returns the selected status if it is one.
func (s *selection) oneStatus() string {
	if len(s.Status) == 1 {
		return s.Status[0]
	}
	return ""
}

// empty reports whether the selection selects everything.
func (s *selection) empty() bool { return len(s.terms()) == 0 }

// chipsOf returns the terms of a list's parameters, each with the address of the list without it.
// at makes the address of the list with some parameters. names are the shown parameters, in order.
func chipsOf(q url.Values, names []string, at func(url.Values) string) []chip {
	var out []chip
	for _, name := range names {
		for i, v := range q[name] {
			if v == "" {
				continue
			}
			rest := url.Values{}
			for _, other := range names {
				kept := slices.Clone(q[other])
				if other == name {
					kept = slices.Delete(kept, i, i+1)
				}
				if kept = slices.DeleteFunc(kept, func(v string) bool { return v == "" }); len(kept) > 0 {
					rest[other] = kept
				}
			}
			out = append(out, chip{chipName(name) + ": " + line(cutEnd(v, 120)), at(rest)})
		}
	}
	return out
}

// chipName returns the word for a parameter of an address.
func chipName(name string) string {
	if name == paramWord {
		return "words"
	}
	return name
}

// urlOf returns the URL of a path below the environment with a query.
func (r *request) urlOf(path string, q url.Values) string {
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(q)) {
		for _, v := range q[name] {
			pairs = append(pairs, name, v)
		}
	}
	return r.url(path, pairs...)
}

// choice is an option of a control, or a field that a form sends along.
type choice struct {
	Value, Text string
	Chosen      bool
}

// choicesOf returns options of which one may be chosen.
func choicesOf[T ~string](values []T, chosen string) []choice {
	var out []choice
	for _, v := range values {
		out = append(out, choice{string(v), string(v), string(v) == chosen})
	}
	return out
}

// button is a button of a form: the words on it, and the address to which it posts.
type button struct{ Text, URL, Title string }
