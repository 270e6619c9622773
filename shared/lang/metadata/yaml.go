// Package metadata parses the metadata of projects and modules: project.yml, module.yml, setup.cfg
// and requirements.txt. It returns errors in them as diag.Problems with places.
package metadata

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
)

// Problem codes.
const (
	CodeProject  = "project" // of project.yml
	CodeModule   = "module"  // of module.yml, setup.cfg and requirements.txt
	CodeRequires = "version" // conflicting requirements of modules
)

// MaxText limits the bytes of a metadata file.
const MaxText = 1 << 20

// reader parses a file, and collects its problems.
//
// Large: it has a method for each section of the files and for each kind of value in them. They
// share only the places of problems.
type reader struct {
	file     string
	code     string
	problems diag.Problems
	warnings diag.Problems
}

func (r *reader) place(line, column int) diag.Pos {
	return diag.Pos{File: r.file, Line: line, Column: column}
}

func (r *reader) problem(at diag.Pos, hint, format string, args ...any) diag.Problem {
	return diag.Problem{Pos: at, Code: r.code, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// bad records an error at a node.
func (r *reader) bad(n *yaml.Node, hint, format string, args ...any) {
	r.problems.Add(r.problem(r.place(n.Line, n.Column), hint, format, args...))
}

// warn records a warning at a node.
func (r *reader) warn(n *yaml.Node, hint, format string, args ...any) {
	r.warnings.Add(r.problem(r.place(n.Line, n.Column), hint, format, args...))
}

// members are the values of a mapping by name.
type members map[string]*yaml.Node

// document parses a YAML text that is a single mapping; nil for any other text.
func (r *reader) document(text []byte) (*yaml.Node, members) {
	what := "a mapping with `name: ...` first"
	if len(text) > MaxText {
		r.problems.Add(r.problem(r.place(1, 1), "", "the file is larger than %d bytes", MaxText))
		return nil, nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	var doc yaml.Node
	if err == nil {
		err = loader.Load(&doc)
	}
	switch {
	case errors.Is(err, io.EOF) || err == nil && len(doc.Content) == 0:
		r.problems.Add(r.problem(r.place(1, 1), "write "+what, "the file is empty"))
		return nil, nil
	case err != nil:
		at, why := r.place(0, 0), strings.TrimPrefix(err.Error(), "yaml: ")
		var le *yaml.LoadError
		if errors.As(err, &le) {
			why = strings.TrimPrefix(le.Message, "yaml: ")
			if le.Mark.Line > 0 {
				at = r.place(le.Mark.Line, le.Mark.Column)
			}
		}
		r.problems.Add(r.problem(at, "check this line and the previous one",
			"this is not valid YAML: %s", why))
		return nil, nil
	}
	root := doc.Content[0]
	m, ok := r.mapping(root, "the file")
	if !ok {
		return nil, nil
	}
	return root, m
}

// resolved follows aliases to the node that they refer to.
func resolved(n *yaml.Node) *yaml.Node {
	for range 10 {
		if n.Kind != yaml.AliasNode || n.Alias == nil {
			return n
		}
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	n = resolved(n)
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// mapping returns the members of a mapping.
func (r *reader) mapping(n *yaml.Node, what string) (members, bool) {
	at := n
	if n = resolved(n); n.Kind != yaml.MappingNode {
		r.bad(
			at,
			"write `name: value`, a line each",
			"%s is %s, expected a mapping",
			what,
			describe(n),
		)
		return nil, false
	}
	out := members{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := resolved(n.Content[i])
		if key.Kind != yaml.ScalarNode {
			r.bad(key, "", "a name in %s is %s, expected a text", what, describe(key))
			continue
		}
		if out[key.Value] != nil {
			r.bad(key, "keep one of them", "%s is there twice", key.Value)
			continue
		}
		out[key.Value] = n.Content[i+1]
	}
	return out, true
}

// unknown warns of unknown members.
func (r *reader) unknown(n *yaml.Node, what string, known []string) {
	n = resolved(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := resolved(n.Content[i]); !slices.Contains(known, key.Value) {
			r.warn(
				key,
				eval.DidYouMean(key.Value, known),
				"%s%s has no meaning here and is ignored",
				what,
				key.Value,
			)
		}
	}
}

// describe names the kind of a node.
func describe(n *yaml.Node) string {
	switch resolved(n).Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	if isNull(n) {
		return "empty"
	}
	return "the value " + resolved(n).Value
}

// text returns a text, or a number as written; "" if it is missing.
func (r *reader) text(m members, name string) string {
	n := m[name]
	if n == nil || isNull(n) {
		return ""
	}
	s, _ := r.scalar(n, name)
	return s
}

// scalar returns a text, or a number as written.
func (r *reader) scalar(n *yaml.Node, what string) (string, bool) {
	v := resolved(n)
	if v.Kind != yaml.ScalarNode || v.Tag == "!!null" || v.Tag == "!!bool" {
		r.bad(n, "put quotes around it if it is meant as a text", "%s is %s, expected a text", what,
			describe(n))
		return "", false
	}
	return v.Value, true
}

// flag returns a boolean; nil if it is missing.
func (r *reader) flag(m members, name string) *bool {
	n := m[name]
	if n == nil || isNull(n) {
		return nil
	}
	yes, ok := boolean(resolved(n).Value)
	if resolved(n).Kind != yaml.ScalarNode || !ok {
		r.bad(n, "write true or false", "%s is %s, expected true or false", name, describe(n))
		return nil
	}
	return &yes
}

// boolean parses the boolean forms of YAML 1.1 and of Python.
func boolean(text string) (value, ok bool) {
	switch strings.ToLower(text) {
	case "true", "yes", "on", "1":
		return true, true
	case "false", "no", "off", "0":
		return false, true
	}
	return false, false
}

// items returns the items of a list. Any other value that is not null counts as a list of one item.
func (r *reader) items(m members, name string) []*yaml.Node {
	n := m[name]
	if n == nil || isNull(n) {
		return nil
	}
	if v := resolved(n); v.Kind == yaml.SequenceNode {
		return v.Content
	}
	return []*yaml.Node{n}
}

// texts returns a list of texts, or a single one.
func (r *reader) texts(m members, name string) []string {
	var out []string
	for _, n := range r.items(m, name) {
		if s, ok := r.scalar(n, name); ok {
			out = append(out, s)
		}
	}
	return out
}

// paths returns a list of paths, or a single one.
func (r *reader) paths(m members, name string) []string {
	var out []string
	for _, n := range r.items(m, name) {
		v := resolved(n)
		if v.Kind == yaml.ScalarNode && v.Tag != "!!str" {
			r.bad(n, "put quotes around it if a folder has this name",
				"%s is %s, expected a folder", name, describe(n))
		} else if s, ok := r.scalar(n, name); ok {
			out = append(out, s)
		}
	}
	return out
}

// choice returns one of several values; the first one if the member is missing.
func (r *reader) choice(m members, name string, values ...string) string {
	s := r.text(m, name)
	if s == "" {
		return values[0]
	}
	if !slices.Contains(values, s) {
		r.bad(m[name], eval.DidYouMean(s, values), "%s is %s, expected one of %s", name, s,
			strings.Join(values, ", "))
		return values[0]
	}
	return s
}

// needed records a missing member.
func (r *reader) needed(root *yaml.Node, m members, example string) {
	name, _, _ := strings.Cut(example, ":")
	if n := m[name]; n == nil {
		r.problems.Add(r.problem(r.place(root.Line, 1), "add a line such as `"+example+"`",
			"%s is missing", name))
	} else if isNull(n) {
		r.bad(n, "write such as `"+example+"`", "%s is empty", name)
	}
}
