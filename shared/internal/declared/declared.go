// Package declared compiles files of declarations whose types no program was built with, and reads
// the lock file that lists such files.
//
//	southbound.lock ─► Lock.Declarations ─► the types of a command
//	a file of a version, by hash ─► Cache.Read ─► the type of a stored resource
package declared

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"southbound/shared/diag"
	"southbound/shared/internal/typefile"
	"southbound/shared/schema"
)

// Attribute is the attribute by which a resource of a version names the file that declares its type.
// No document has it.
const Attribute = "_type"

// Members of the metadata of a declared type.
const (
	MetaHandler = "handler" // the name of the program, or pack, whose bridge serves the type
	MetaInstall = "install" // what to install where the bridge is missing
)

// Prefix returns the first part of the name of a type: "tf" for tf::demo::Thing.
func Prefix(typ string) string {
	first, _, _ := strings.Cut(typ, "::")
	return first
}

// HashOf returns the hash of a file.
func HashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Parse compiles a file of declarations. file names it in problems. program has the types that the
// program was built with: a declared type has neither their names nor the first part of one. Parse
// returns all problems together, as diag.Problems, each with its place.
func Parse(file string, text []byte, program *schema.Registry) (*schema.Declaration, error) {
	types := typefile.Parse(file, text)
	var problems diag.Problems
	taken, names := prefixes(program), map[string]bool{}
	for i := range types {
		names[types[i].Name] = true
	}
	for i := range types {
		for _, p := range refused(&types[i], names, taken) {
			p.Resource = types[i].Name
			problems.Add(p)
		}
	}
	d, err := schema.NewDeclaration(HashOf(text), text, Attribute, types...)
	if err != nil {
		own, _ := diag.Of(err)
		problems = append(slices.Clone(own), problems...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	return d, nil
}

// prefixes returns the types of the program by the first part of their names.
func prefixes(program *schema.Registry) map[string]string {
	out := map[string]string{}
	if program == nil {
		return out
	}
	for _, name := range program.Names() {
		if t, _ := program.Type(name); t.Declaration() == nil {
			out[Prefix(name)] = name
		}
	}
	return out
}

// refused returns the problems of a type that are not problems of a type of a program. names are the
// types of the file.
func refused(t *schema.Type, names map[string]bool, taken map[string]string) diag.Problems {
	var out diag.Problems
	bad := func(part, hint, format string, args ...any) {
		out.Add(diag.Problem{Pos: t.At(part), Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	if own := taken[Prefix(t.Name)]; own != "" && t.Name != "" {
		bad("", "begin its name with the name of its bridge, such as tf::",
			"a declared type cannot have a name that begins with %s::, as %s of this program does",
			Prefix(t.Name), own)
	}
	if t.Code != nil {
		bad("", "leave `code` out", "a declared type has no functions, and this one names %s",
			strings.Join(t.Code, ", "))
	}
	if t.Machine {
		bad("", "leave `machine` out, and name the transports",
			"a declared type is not about things on a machine: no program there has its declaration")
	}
	for i := range t.Relations {
		if to := t.Relations[i].Type; !names[to] {
			bad(schema.Part(schema.RelationPart, i), "relate it to types of the same file",
				"the relation is to %s, which this file does not declare", to)
		}
	}
	for _, name := range []string{MetaHandler, MetaInstall} {
		if v, there := t.Metadata[name]; there && !line(v) {
			bad("", "write a text of at most 200 characters",
				"the metadata %s is not a line of text", name)
		}
	}
	return out
}

// line reports whether a value is a short printable text.
func line(v any) bool {
	s, ok := v.(string)
	return ok && s != "" && len(s) <= 200 &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
