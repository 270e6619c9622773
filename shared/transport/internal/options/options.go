// Package options reads the options of agents by the declarations of their transport. A transport
// lists its options (Option), has them checked one by one (Read), and adds rules about several
// options (Reader.Bad). Authors of documents see all Problems. To connect, with references
// resolved, a transport returns an error of the first problem (Reader.Err).
package options

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Option declares one option of a transport.
type Option struct {
	Name, Type, Description string
	// Default is the value of an omitted option; nil: none.
	Default any
	// Example is an example of a required option; "": the option may be omitted.
	Example string
	// Hint names the valid form for a value that is not valid; "": the description.
	Hint string
	// Secret is set if only a reference to a secret is permitted. The value is not shown.
	Secret bool
	// OneLine is set for a password and similar values: a line end at the end, as of a file, is not
	// part of the value.
	OneLine bool
	// Nested is set if a place to which an option leads, such as a bastion, has the option too.
	Nested bool
	// Valid checks a value that contains options, in place of Type. It is not documented.
	Valid func(v any) bool
}

// Reader holds the options of one agent, or of one place to which an option of it leads.
type Reader struct {
	transport string
	given     map[string]any
	values    map[string]any
	// at is the option that leads to a place, and where begins its messages; "": the agent itself.
	at, where string
	found     *found
}

// found holds the problems of an agent's options, with all places.
type found struct {
	problems []problem
	pending  bool // some values are unresolved references, which cannot be checked
}

type problem struct {
	diag.Problem
	// literal is set for a secret that is written in a document. After references are resolved,
	// every secret looks like this, and it is no longer a problem.
	literal bool
}

// Read checks options against their declarations. The reader keeps the problems.
func Read(transport string, declared []Option, given map[string]any) *Reader {
	r := &Reader{transport: transport, given: given, found: &found{}}
	r.read(declared)
	return r
}

// Place reads the options of a place to which the option at leads, limited to those that are
// Nested. Its problems, which begin with where, are kept with those of r.
func (r *Reader) Place(declared []Option, given map[string]any, at, where string) *Reader {
	nested := slices.DeleteFunc(slices.Clone(declared), func(o Option) bool { return !o.Nested })
	p := &Reader{transport: r.transport, given: given, at: at, where: where, found: r.found}
	p.read(nested)
	return p
}

func (r *Reader) read(declared []Option) {
	r.values = map[string]any{}
	var names []string
	for _, o := range declared {
		names = append(names, o.Name)
		if v := r.given[o.Name]; v != nil {
			r.take(o, v)
		} else if o.Default != nil {
			r.values[o.Name] = o.Default
		}
	}
	for _, p := range Unknown(r.transport, r.given, names) {
		r.Bad(p.Attribute, p.Hint, "%s", p.Message)
	}
	for _, o := range declared {
		if o.Example == "" || r.given[o.Name] != nil {
			continue
		}
		who := "an agent with the transport " + r.transport
		if r.at != "" {
			who = "it"
		}
		r.Bad("", "write it such as "+o.Example, "%s needs a %s", who, o.Name)
	}
}

// take checks a single option.
func (r *Reader) take(o Option, v any) {
	for _, ref := range resource.References(v) {
		if _, file := ref.(resource.File); file {
			r.Bad(o.Name,
				`write the text itself, or {secret: "file:PATH"} for a file of the machine that connects`,
				"uploaded files have no meaning in the options of an agent")
			return
		}
	}
	if IsReference(v) {
		r.Pending()
		return
	}
	if text, is := v.(string); is && o.OneLine {
		v = schema.CutLineEnd(text)
	}
	if text := o.wrong(v); text != "" {
		hint := o.Hint
		if hint == "" {
			hint = "it is " + o.Description
		}
		r.Bad(o.Name, hint, "%s", text)
		return
	}
	r.values[o.Name] = v
	if o.Secret {
		r.Literal(o.Name, cmp.Or(o.Hint, `write {secret: "env:NAME"}, or another secret`))
	}
}

// wrong returns the problem of a value, "" if it is valid.
func (o Option) wrong(v any) string {
	text := fmt.Sprintf("the value of %s is not valid", o.Name)
	if o.Valid != nil {
		if o.Valid(v) {
			return ""
		}
		return text
	}
	d, err := schema.ParseDataType(o.Type)
	if err == nil {
		err = d.Check(v)
	}
	switch {
	case err == nil:
		return ""
	case o.Secret:
		return text
	}
	return fmt.Sprintf("%s: %v", text, err)
}

// Bad adds a problem of an option; "" stands for all options.
func (r *Reader) Bad(name, hint, format string, args ...any) {
	r.add(name, hint, r.where+fmt.Sprintf(format, args...), false)
}

// Literal adds the problem that a secret is written in the document.
func (r *Reader) Literal(name, hint string) {
	r.add(name, hint, fmt.Sprintf("the document contains the value of %s in plain text",
		name), true)
}

func (r *Reader) add(name, hint, message string, literal bool) {
	if r.at != "" {
		name = r.at
	}
	p := diag.Problem{Attribute: name, Message: message, Hint: hint}
	r.found.problems = append(r.found.problems, problem{p, literal})
}

// Pending records that some values are unresolved references, which cannot be checked.
func (r *Reader) Pending() { r.found.pending = true }

// Given reports whether an option has been given, also by a reference.
func (r *Reader) Given(name string) bool { return r.given[name] != nil }

// Value returns the value of an option, or its default. It is nil if the value is unknown or not
// valid.
func (r *Reader) Value(name string) any { return r.values[name] }

// Text returns the value of an option that is text; "" for none.
func (r *Reader) Text(name string) string {
	s, _ := r.values[name].(string)
	return s
}

// Number returns the value of an option that is a whole number; 0 for none.
func (r *Reader) Number(name string) int64 {
	n, _ := r.values[name].(int64)
	return n
}

// Problems returns the problems, sorted by the names of options; Attribute of a problem is the name
// of an option.
func (r *Reader) Problems() []diag.Problem {
	var out []diag.Problem
	for _, p := range r.sorted() {
		out = append(out, p.Problem)
	}
	return out
}

// Err returns the error of options whose references are resolved: the first problem, or a remaining
// reference. nil: the options are valid.
func (r *Reader) Err() error {
	for _, p := range r.sorted() {
		if p.literal {
			continue
		}
		text := p.Message
		if p.Attribute != "" && !strings.Contains(text, p.Attribute) {
			text = p.Attribute + ": " + text
		}
		return fault.New(fault.Invalid, "connect", "%s", text).WithHint("%s", p.Hint)
	}
	if r.found.pending {
		return fault.New(fault.Invalid, "connect",
			"the options of the agent hold a reference that has no meaning there")
	}
	return nil
}

func (r *Reader) sorted() []problem {
	return slices.SortedStableFunc(slices.Values(r.found.problems), func(a, b problem) int {
		return strings.Compare(a.Attribute, b.Attribute)
	})
}

// Unknown returns a problem for each option that a transport does not have, sorted by name.
func Unknown(transport string, given map[string]any, known []string) []diag.Problem {
	var out []diag.Problem
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		known := append(slices.Clip(known), "transport", "lanes") // options of all agents
		hint := "there are " + strings.Join(known, ", ")
		if similar := schema.Nearest(name, known); similar != "" {
			hint = fmt.Sprintf("did you mean %q?", similar)
		}
		out = append(out, diag.Problem{Attribute: name,
			Message: fmt.Sprintf("the transport %s has no option %q", transport, name), Hint: hint})
	}
	return out
}

// IsReference reports whether a value is an unresolved reference.
func IsReference(v any) bool {
	switch v.(type) {
	case resource.Secret, resource.Parameter, resource.Fact, resource.Text:
		return true
	}
	return false
}
