package resource

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"southbound/shared/fault"
)

// MaxPath is the maximum length, in bytes, of the text of a Path.
const MaxPath = 1024

// Path leads into a JSON value: each segment is the name of a member of a map, or a position in a
// list, counted from 0. Its text is a JSON pointer without the first slash: segments are separated by
// "/", "~" is written "~0", and "/" in a name is written "~1".
type Path []string

// ParsePath parses the text of a path. The empty text is the path to the value itself. ParsePath
// returns fault.Invalid for text that is too long or not UTF-8, and for "~" without 0 or 1.
func ParsePath(text string) (Path, error) {
	switch {
	case len(text) > MaxPath:
		return nil, fault.New(fault.Invalid, "", "the path has %d bytes, and a path has at most %d",
			len(text), MaxPath).WithHint("shorten the names in the value")
	case !utf8.ValidString(text):
		return nil, fault.New(fault.Invalid, "", "the path is not UTF-8").WithHint("write it in UTF-8")
	case text == "":
		return nil, nil
	}
	out := Path(strings.Split(text, "/"))
	for i, s := range out {
		for rest := s; ; {
			_, after, found := strings.Cut(rest, "~")
			if !found {
				break
			}
			if after == "" || after[0] != '0' && after[0] != '1' {
				return nil, fault.New(fault.Invalid, "", "the path %q has a ~ without 0 or 1", text).
					WithHint(`write "~" as "~0", and "/" in a name as "~1"`)
			}
			rest = after
		}
		out[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~1", "/"), "~0", "~")
	}
	return out, nil
}

// String returns the text of the path, which ParsePath reads.
func (p Path) String() string {
	out := make([]string, len(p))
	for i, s := range p {
		out[i] = strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1")
	}
	return strings.Join(out, "/")
}

// In returns the value to which the path leads from v. If the path leads nowhere, In returns
// fault.NotFound; it names the first segment that does not fit. The error shows names of members, and
// no values.
func (p Path) In(v any) (any, error) { return p.in(v, 0) }

// in is In for a value at the first from segments of the path, which only messages show.
func (p Path) in(v any, from int) (any, error) {
	for i := from; i < len(p); i++ {
		step := p[i]
		switch in := v.(type) {
		case map[string]any:
			next, is := in[step]
			if !is {
				return nil, fault.New(fault.NotFound, "", "%s has no member %q", p.at(i), step).
					WithHint("%s", membersHint(in))
			}
			v = next
		case []any:
			n, err := strconv.Atoi(step)
			switch {
			case err != nil || n < 0 || strconv.Itoa(n) != step:
				return nil, fault.New(fault.NotFound, "", "%s is a list, and %q is no position in it",
					p.at(i), step).WithHint("write a position, counted from 0")
			case n >= len(in):
				return nil, fault.New(fault.NotFound, "", "%s has no position %d: its length is %d",
					p.at(i), n, len(in)).WithHint("write a position below its length, counted from 0")
			}
			v = in[n]
		default:
			return nil, fault.New(fault.NotFound, "", "%s is %s, so %q leads nowhere in it", p.at(i),
				KindOf(v), step).WithHint("end the path at %s", p.at(i))
		}
	}
	return v, nil
}

// at names the value at the first n segments in a message.
func (p Path) at(n int) string {
	if n == 0 {
		return "the value"
	}
	return strconv.Quote(p[:n].String())
}

// membersHint returns a hint with the first names of members.
func membersHint(m map[string]any) string {
	const most = 8
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, strconv.Quote(k))
	}
	slices.Sort(names)
	switch n := len(names); {
	case n == 0:
		return "use a value that has members; this one has none"
	case n > most:
		return "use one of its " + strconv.Itoa(n) + " members, such as " +
			strings.Join(names[:most], ", ")
	}
	return "use one of its members: " + strings.Join(names, ", ")
}

// Path returns the name of the fact, unescaped, and the path into its value behind it. Text that is
// no path is the name of a fact as it stands.
func (f Fact) Path() Path {
	p, err := ParsePath(f.Name)
	if err != nil || len(p) == 0 {
		return Path{f.Name}
	}
	return p
}

// CheckFact checks the name in a reference to a fact: a path whose first segment, the name of the
// fact, is not empty. The error is fault.Invalid.
func CheckFact(name string) error {
	p, err := ParsePath(name)
	if err == nil && (len(p) == 0 || p[0] == "") {
		return fault.New(fault.Invalid, "", "the path %q begins with no name of a fact", name).
			WithHint("write the name first, without a slash before it: NAME/MEMBER/0")
	}
	return err
}

// Key returns the name under which the fact is stored.
func (f Fact) Key() string { return f.Path()[0] }

// In returns the part of the fact's value to which f refers. See Path.In.
func (f Fact) In(value any) (any, error) { return f.Path().in(value, 1) }
