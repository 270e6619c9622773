package resource

import (
	"cmp"
	"slices"
	"strings"

	"southbound/shared/fault"
)

// Output refers to a secret output of a resource: a value that its handler keeps, sealed, beside the
// state of the resource. See docs/design/kept.md.
type Output struct {
	Of   ID
	Path string // the path into the outputs, see ParsePath
}

// outputScheme begins the sources of secrets that are outputs: "output:ID#PATH".
const outputScheme = "output"

// outputHint is advice on how to write such a source.
const outputHint = "write output:ID#PATH, as in output:sql::Role[db,name=app]#password, with the id " +
	"of a resource and the path to one of its secret outputs"

// Source returns the source of a secret that refers to the output.
func (o Output) Source() string { return outputScheme + ":" + string(o.Of) + "#" + o.Path }

// ParseOutput parses the source of a secret. It returns false if the source names no output. Of may
// leave its agent out, see Relative.
func ParseOutput(source string) (Output, bool) {
	rest, is := strings.CutPrefix(source, outputScheme+":")
	if !is {
		return Output{}, false
	}
	end := endOfID(rest)
	if end < 0 || !strings.HasPrefix(rest[end:], "#") {
		return Output{}, false
	}
	return Output{Of: ID(rest[:end]), Path: rest[end+1:]}, true
}

// endOfID returns the offset behind the id with which s begins, -1 if s begins with none. It only
// looks for the end: see CheckReference.
func endOfID(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ']':
			return i + 1
		}
	}
	return -1
}

// checkOutput returns advice on how to write the rest of the source of an output.
func checkOutput(rest string) (hint string) {
	o, is := ParseOutput(outputScheme + ":" + rest)
	if !is || o.Path == "" || CheckReference(string(o.Of)) != nil {
		return outputHint
	}
	if _, err := ParsePath(o.Path); err != nil {
		return fault.HintOf(err)
	}
	return ""
}

// coversOutput is the rule for outputs: an item allows itself, and the paths below it behind "/".
func coversOutput(item, _, rest string) bool {
	return strings.Contains(item, "]#") && below(item, rest, "")
}

// Output returns the output to which a secret refers. It returns false for a secret of another
// source.
func (s Secret) Output() (Output, bool) { return ParseOutput(s.Source) }

// Await returns the output to which a secret refers, if its version is not known yet.
func (s Secret) Await() (Output, bool) {
	if s.Version != "" {
		return Output{}, false
	}
	return s.Output()
}

// On returns the reference for a resource on an agent. If Of leaves its agent out, On adds agent.
func (o Output) On(agent string) Output {
	return Output{Of: On(string(o.Of), agent), Path: o.Path}
}

// Outputs returns the secret outputs to which r refers, each once, in order of resource and path.
func (r *Resource) Outputs() []Output {
	var out []Output
	for name, v := range r.Attributes {
		if written, is := r.Followed[name]; is {
			v = written
		}
		for _, ref := range References(v) {
			if s, is := ref.(Secret); is {
				if o, is := s.Output(); is {
					out = append(out, o)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b Output) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Path, b.Path))
	})
	return slices.Compact(out)
}

// IsFollowed reports whether a reference has a value that runs of another resource change: a fact or
// a secret output.
func IsFollowed(ref any) bool {
	switch r := ref.(type) {
	case Fact:
		return true
	case Secret:
		_, is := r.Output()
		return is
	}
	return false
}
