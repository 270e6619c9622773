package modtool

import (
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/pattern"
)

// setRequires returns a YAML file with a new list requires. An equivalent entry keeps its text. An
// entry with a changed constraint is changed in place, and keeps its comment. Entries of other
// modules are removed, and new entries are appended. All other text stays as written.
func setRequires(text []byte, requires []string) ([]byte, error) {
	var doc yaml.Node
	err := yaml.Unmarshal(text, &doc)
	if err != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, fault.New(fault.Invalid, "write requires", "the file is not a mapping")
	}
	e := &requiresEdit{text: string(text), eol: "\n", wanted: requires}
	if strings.Contains(e.text, "\r\n") {
		e.eol = "\r\n"
	}
	out := ""
	switch value := e.find(doc.Content[0]); {
	case value == nil:
		out = e.added()
	case value.Kind == yaml.SequenceNode && value.Style&yaml.FlowStyle == 0:
		out = e.entries(value.Content)
	default:
		out = e.value(value)
	}
	if e.odd || !e.meant(out) {
		return nil, fault.New(fault.Unsupported, "write requires",
			"its entries are written in a form that is not changed by a program").
			WithHint("write requires as a list with one entry a line, such as `  - net ~= 1.0`")
	}
	return []byte(out), nil
}

// requiresEdit edits the list requires in the text of a file.
type requiresEdit struct {
	text, eol string
	wanted    []string
	key       int  // offset of the key requires
	odd       bool // a value spans several lines without brackets
}

// find returns the value of requires; nil if there is none.
func (e *requiresEdit) find(root *yaml.Node) *yaml.Node {
	for i := 0; i+1 < len(root.Content); i += 2 {
		if key := root.Content[i]; key.Value == "requires" {
			e.key = e.offset(key.Line, key.Column)
			return root.Content[i+1]
		}
	}
	return nil
}

// offset returns the byte offset of a line and column, counted from 1.
func (e *requiresEdit) offset(line, column int) int {
	at := 0
	for ; line > 1; line-- {
		next := strings.IndexByte(e.text[at:], '\n')
		if next < 0 {
			return len(e.text)
		}
		at += next + 1
	}
	for ; column > 1 && at < len(e.text); column-- {
		_, size := utf8.DecodeRuneInString(e.text[at:])
		at += size
	}
	return at
}

// lineEnd returns the offset of the end of a line, before its line break.
func (e *requiresEdit) lineEnd(at int) int {
	end := strings.IndexByte(e.text[at:], '\n')
	if end < 0 {
		return len(e.text)
	}
	return at + len(strings.TrimSuffix(e.text[at:at+end], "\r"))
}

// added returns the text with a new list.
func (e *requiresEdit) added() string {
	return strings.TrimRight(e.text, "\r\n") + e.eol + "requires:" + e.list() + e.eol
}

// list returns a list with one entry a line, to follow `requires:`.
func (e *requiresEdit) list() string {
	out := ""
	for _, r := range e.wanted {
		out += e.eol + "  - " + quotedSpec(r)
	}
	if out == "" {
		return " []"
	}
	return out
}

// value returns the text with a list in place of a value that is not a block list.
func (e *requiresEdit) value(value *yaml.Node) string {
	from := e.offset(value.Line, value.Column)
	to := from + e.length(value, from)
	if value.Kind == yaml.ScalarNode && value.Value == "" && value.Style == 0 { // an empty value
		colon := strings.IndexByte(e.text[e.key:], ':')
		from = e.key + colon + 1
		to = from
	}
	before, after := strings.TrimRight(e.text[:from], " \t\r\n"), e.text[to:]
	one := !strings.Contains(e.text[from:to], "\n") && len(value.Content) > 0
	if one && len(e.wanted) > 0 {
		specs := make([]string, 0, len(e.wanted))
		for _, r := range e.wanted {
			if strings.ContainsAny(r, ",[]") {
				r = "'" + r + "'"
			}
			specs = append(specs, r)
		}
		return before + " [" + strings.Join(specs, ", ") + "]" + after
	}
	end := e.lineEnd(to)
	if len(e.wanted) == 0 {
		return before + " []" + after
	}
	return before + strings.TrimRight(e.text[to:end], " \t") + e.list() + e.text[end:]
}

// length returns the length of a node's text from an offset: a scalar on one line, or a list in
// brackets.
func (e *requiresEdit) length(n *yaml.Node, at int) int {
	line := e.text[at:e.lineEnd(at)]
	out := 0
	switch {
	case n.Kind == yaml.SequenceNode:
		out = len(inBrackets().FindString(e.text[at:]))
	case n.Kind == yaml.ScalarNode && n.Style&yaml.SingleQuotedStyle != 0:
		out = len(singleQuoted().FindString(line))
	case n.Kind == yaml.ScalarNode && n.Style&yaml.DoubleQuotedStyle != 0:
		out = len(doubleQuoted().FindString(line))
	case n.Kind == yaml.ScalarNode && strings.HasPrefix(line, n.Value):
		return len(n.Value)
	}
	e.odd = e.odd || out == 0
	return out
}

var (
	singleQuoted = pattern.Lazy(`^'(?:[^']|'')*'`)
	doubleQuoted = pattern.Lazy(`^"(?:[^"\\]|\\.)*"`)
	inBrackets   = pattern.Lazy(`^\[(?:[^\]'"#]|[^\s\]'"]#|'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|` +
		`#[^\n]*\n)*\]`)
)

// entries returns the text with other entries in a block list.
func (e *requiresEdit) entries(nodes []*yaml.Node) string {
	wanted := slices.Clone(e.wanted)
	out, at, last := "", 0, 0
	for _, n := range nodes {
		from := e.offset(n.Line, n.Column)
		line := strings.LastIndexByte(e.text[:from], '\n') + 1
		next := min(e.lineEnd(from)+len(e.eol), len(e.text))
		out += e.text[at:line]
		i := slices.IndexFunc(wanted, func(w string) bool {
			return moduleOf(w) == moduleOf(n.Value)
		})
		switch {
		case i < 0: // remove the entry with its line
			at = next
		case specOf(wanted[i]) == specOf(n.Value):
			out, at = out+e.text[line:next], next
		default:
			out += e.text[line:from] + quotedSpec(wanted[i]) + e.text[from+e.length(n, from):next]
			at = next
		}
		if i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
		}
		last = len(out)
	}
	if len(e.wanted) == 0 {
		colon := e.key + strings.IndexByte(e.text[e.key:], ':') + 1
		return e.text[:colon] + " []" + out[colon:] + e.text[at:]
	}
	first := e.offset(nodes[0].Line, nodes[0].Column)
	begins := e.text[strings.LastIndexByte(e.text[:first], '\n')+1 : first]
	fresh := ""
	for _, r := range wanted {
		fresh += begins + quotedSpec(r) + e.eol
	}
	if fresh != "" && last > 0 && out[last-1] != '\n' {
		out, last = out+e.eol, last+len(e.eol)
	}
	return out[:last] + fresh + out[last:] + e.text[at:]
}

// moduleOf returns the module of an entry.
func moduleOf(entry string) string {
	r, wrong, _ := metadata.ParseModule(entry)
	if wrong != "" {
		return entry
	}
	return r.Module
}

// specOf returns the canonical form of an entry.
func specOf(entry string) string {
	r, wrong, _ := metadata.ParseModule(entry)
	if wrong != "" {
		return entry
	}
	return r.String()
}

// meant reports whether the new text has the wanted list, and all other values unchanged.
func (e *requiresEdit) meant(text string) bool {
	var before, after map[string]any
	if yaml.Unmarshal([]byte(e.text), &before) != nil ||
		yaml.Unmarshal([]byte(text), &after) != nil {
		return false
	}
	list, _ := after["requires"].([]any)
	var got []string
	for _, entry := range list {
		text, ok := entry.(string)
		if !ok {
			return false
		}
		got = append(got, specOf(text))
	}
	want := make([]string, 0, len(e.wanted))
	for _, r := range e.wanted {
		want = append(want, specOf(r))
	}
	slices.Sort(got)
	slices.Sort(want)
	delete(before, "requires")
	delete(after, "requires")
	return slices.Equal(got, want) && reflect.DeepEqual(before, after)
}

var plainSpec = pattern.Lazy(`^[A-Za-z_][\w.\[\], ]*([~=<>!]=?=? ?[\w.*+!]+(, ?)?)*$`)

// quotedSpec returns an entry for a block list of YAML, quoted if necessary.
func quotedSpec(text string) string {
	if plainSpec().MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}
