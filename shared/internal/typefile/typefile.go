// Package typefile reads and writes the declarations of types as data, in YAML or JSON, for use
// outside of Go: in an editor, on a page, in a program in another language.
//
//	southbound_type: 1
//	name: net::Vlan
//	description: A VLAN of a switch.
//	attributes:
//	  - {name: switch, type: "String[1]", behaviour: namevar, description: the switch it is on}
//	  - {name: tag, type: "Integer[1, 4094]", behaviour: namevar, description: its number}
//	  - {name: label, type: "Optional[String[1, 32]]", description: purpose of the item}
//	titles:
//	  - {pattern: '\A(?<switch>.+)/(?<tag>\d+)\z', description: "switch/tag"}
//	relations:
//	  - {kind: require, type: "net::Switch", title: $switch}
//	rules:
//	  - {exactly_one_of: [label, number]}
//
// Functions (Validate, Relations, Gather) are not part of the data; `code` lists their names.
package typefile

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"southbound/shared/diag"
	"southbound/shared/schema"
)

// Format is the format version of declarations; every declaration states it.
const Format = 1

// The members of a declaration and of its parts.
const (
	keyFormat      = "southbound_type"
	keyName        = "name"
	keyDescription = "description"
	keyAttributes  = "attributes"
	keyTitles      = "titles"
	keyRelations   = "relations"
	keyRules       = "rules"
	keyAliases     = "aliases"
	keyFeatures    = "features"
	keyProviders   = "providers"
	keyTimeout     = "timeout"
	keyAssigned    = "assigned"
	keyCreateFirst = "create_first"
	keyMachine     = "machine"
	keyTransports  = "transports"
	keySecrets     = "secret_options"
	keyCode        = "code"
	keyMetadata    = "metadata"
	keyType        = "type"
	keyDefault     = "default"
	keyBehaviour   = "behaviour"
	keySensitive   = "sensitive"
	keyOneLine     = "one_line"
	keyPattern     = "pattern"
	keyKind        = "kind"
	keyTitle       = "title"
	keyKeys        = "keys"
	keyAgent       = "agent"
	keyIf          = "if"
	keyIs          = "is"
	keyMessage     = "message"
)

// The limits of a text, far above the size of handwritten declarations.
const (
	maxText  = 4 << 20
	maxDepth = 100
)

// Parse parses declarations: YAML or JSON, one or more documents. file names the text in problems.
// It never fails: it records problems in Wrong of the types. schema.NewRegistry reports them
// together with the errors in the types, each with its place.
func Parse(file string, text []byte) []schema.Type {
	if len(text) > maxText {
		return []schema.Type{broken(file, diag.Pos{File: file}, "the text is too long",
			"declare types in several files")}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		return []schema.Type{broken(file, positionOf(file, err),
			"this is not valid YAML: "+reason(err), "")}
	}
	var out []schema.Type
	for {
		var doc yaml.Node
		switch err := loader.Load(&doc); {
		case errors.Is(err, io.EOF) && len(out) > 0:
			return out
		case errors.Is(err, io.EOF):
			return []schema.Type{broken(file, diag.Pos{File: file},
				"there is no declaration in the text",
				"a declaration starts with `southbound_type: 1`")}
		case err != nil:
			return append(out,
				broken(file, positionOf(file, err), "this is not valid YAML: "+reason(err),
					"check this line and the previous one"))
		}
		if len(doc.Content) > 0 {
			out = append(out, declaration(file, doc.Content[0]))
		}
	}
}

// One parses a text with one declaration, such as a file that is embedded in a program with its
// handler:
//
//	//go:embed vlan.yaml
//	var vlan []byte
//	...
//	provider.Definition{Type: typefile.One("vlan.yaml", vlan), Handler: handler{}}
func One(file string, text []byte) schema.Type {
	types := Parse(file, text)
	t := types[0]
	for _, other := range types[1:] {
		t.Wrong = append(t.Wrong, diag.Problem{Pos: diag.Pos{File: file}, Resource: other.Name,
			Message: "expected one declaration, this is another one"})
	}
	return t
}

func broken(file string, at diag.Pos, message, hint string) schema.Type {
	return schema.Type{At: func(string) diag.Pos { return diag.Pos{File: file} },
		Wrong: diag.Problems{{Pos: at, Message: message, Hint: hint}}}
}

func positionOf(file string, err error) diag.Pos {
	at := diag.Pos{File: file}
	var le *yaml.LoadError
	if errors.As(err, &le) && le.Mark.Line > 0 {
		at.Line, at.Column = le.Mark.Line, le.Mark.Column
	}
	return at
}

func reason(err error) string {
	var le *yaml.LoadError
	if errors.As(err, &le) {
		return strings.TrimPrefix(le.Message, "yaml: ")
	}
	return strings.TrimPrefix(err.Error(), "yaml: ")
}

// reader reads a declaration, and collects its problems.
//
// Large: it has a method for each part of a declaration, which share the parsed type and the
// problems.
type reader struct {
	file      string
	t         schema.Type
	parts     map[string]diag.Pos // places of attributes by name, and of the parts of schema.Part
	attribute string              // the current one
}

func declaration(file string, n *yaml.Node) schema.Type {
	r := &reader{file: file, parts: map[string]diag.Pos{}}
	start := r.place(n)
	r.t.At = func(part string) diag.Pos { return cmp.Or(r.parts[part], start) }
	m := r.members(n, "a declaration", []string{
		keyFormat, keyName, keyDescription, keyAttributes, keyTitles, keyRelations, keyRules,
		keyAliases, keyFeatures, keyProviders, keyTimeout, keyAssigned,
		keyCreateFirst, keyMachine, keyTransports, keySecrets, keyCode, keyMetadata,
	})
	if m == nil {
		return r.t
	}
	r.t.Name, r.t.Description = r.text(m[keyName], "the name"), r.text(m[keyDescription],
		"the description")
	for i := range r.t.Wrong {
		r.t.Wrong[i].Resource = r.t.Name
	}
	switch f, _ := r.value(m[keyFormat], 0).(int64); {
	case m[keyFormat] == nil:
		r.bad(n, "add `southbound_type: 1`", "the declaration lacks its format")
	case f != Format:
		r.bad(m[keyFormat], "this program reads format 1", "the format is not known")
	}
	switch {
	case m[keyName] == nil:
		r.bad(n, "add `name: net::Vlan`, for example", "the type has no name")
	case m[keyAttributes] == nil:
		r.bad(n, "add `attributes:`, one of them with `behaviour: namevar`",
			"the type has no attributes")
	}
	r.readAttributes(m[keyAttributes])
	r.readTitles(m[keyTitles])
	r.readRelations(m[keyRelations])
	r.readRules(m[keyRules])
	r.rest(m)
	return r.t
}

// rest reads the settings of the type as a whole.
func (r *reader) rest(m map[string]*yaml.Node) {
	r.t.Aliases = r.texts(m[keyAliases], "aliases", schema.AliasPart)
	maps.DeleteFunc(r.t.Aliases, func(_, expr string) bool { return expr == "" }) // reported above
	r.t.Features = r.list(m[keyFeatures], "features", schema.FeaturePart)
	r.t.Providers = r.list(m[keyProviders], "providers", "")
	r.t.Code = r.list(m[keyCode], "code", "")
	slices.Sort(r.t.Code)
	r.t.Assigned = r.flag(m[keyAssigned], keyAssigned)
	r.t.CreateFirst = r.flag(m[keyCreateFirst], keyCreateFirst)
	r.t.Machine = r.flag(m[keyMachine], keyMachine)
	r.t.Transports = r.list(m[keyTransports], "transports", schema.TransportPart)
	r.t.SecretOptions = r.list(m[keySecrets], "secret_options", "")
	r.t.Timeout = r.duration(m[keyTimeout])
	if n := m[keyMetadata]; n != nil {
		v := r.value(n, 0)
		if data, ok := v.(map[string]any); ok {
			r.t.Metadata = data
		} else if v != nil {
			r.bad(n, "write it such as {owner: net}", "metadata is a map")
		}
	}
}

func (r *reader) place(n *yaml.Node) diag.Pos {
	return diag.Pos{File: r.file, Line: n.Line, Column: n.Column}
}

func (r *reader) bad(n *yaml.Node, hint, format string, args ...any) {
	r.t.Wrong.Add(diag.Problem{Pos: r.place(n), Resource: r.t.Name, Attribute: r.attribute,
		Message: sprintf(format, args), Hint: hint})
}
