// Package tf makes resource types of the schemas of Terraform providers.
//
// See docs/design/terraform.md.
package tf

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/handlers/tf/agents"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// Transport is the name of the transport of agents that provider programs serve.
const Transport = agents.Name

// Prefix is the first part of the names of all types that come from providers.
const Prefix = "tf"

// The attributes of every type that come from no schema.
const (
	attrLabel  = "label"
	attrImport = "import"
)

// The members of the metadata of a type. Attributes holds the schema's names of those attributes
// that have another name here, and Deprecated the messages of deprecated attributes; the message of
// the type itself is that of the attribute "". A program of the version is run only if its package has
// one of the hashes.
const (
	MetaType       = "terraform"
	MetaProvider   = "terraform_provider"
	MetaVersion    = "terraform_version"
	MetaHashes     = "terraform_hashes"
	MetaData       = "terraform_data"
	MetaAttributes = "terraform_attributes"
	MetaDeprecated = "terraform_deprecated"
)

// Origin identifies the provider whose schemas are mapped.
type Origin struct {
	Local   string // the name by which documents use the provider, such as postgresql
	Address string // such as registry.opentofu.org/cyrilgdn/postgresql
	Version string
	Hashes  []string // of the package, for all platforms, as the lock has them
}

// Types returns the types of all resources and data sources of a provider, sorted by name, and a
// problem for each type that cannot be represented. Resource of a problem is the provider's name.
// The types consist of data alone: they can be stored as declarations.
func Types(from Origin, s *wire.Schemas) ([]schema.Type, diag.Problems) {
	var out []schema.Type
	var problems diag.Problems
	secrets := secretOptions(&s.Provider.Block, "config")
	add := func(schemas map[string]wire.Schema, data bool) {
		names := namesOf(from.Local, slices.Sorted(maps.Keys(schemas)))
		for _, theirs := range slices.Sorted(maps.Keys(schemas)) {
			b := &builder{from: from, data: data, theirs: theirs}
			t, err := b.build(names[theirs], schemas[theirs])
			if err != nil {
				problems.Add(diag.Problem{Resource: theirs, Message: err.Error(),
					Hint: "use another version of the provider"})
				continue
			}
			t.SecretOptions = secrets
			out = append(out, t)
		}
	}
	add(s.Resources, false)
	add(s.DataSources, true)
	slices.SortFunc(out, func(a, b schema.Type) int { return cmp.Compare(a.Name, b.Name) })
	return out, problems
}

// typeName returns the name of a type, such as tf::postgresql::Role for a resource and
// tf::postgresql::data::Role for a data source of the name role.
func typeName(local, name string, data bool) string {
	parts := []string{Prefix, word(local)}
	if data {
		parts = append(parts, "data")
	}
	return strings.Join(append(parts, name), "::")
}

// namesOf returns the last part of the name of each type: the words of the provider's name without
// the provider, each with a capital letter. Two names that become equal keep their underscores.
func namesOf(local string, theirs []string) map[string]string {
	out := make(map[string]string, len(theirs))
	count := map[string]int{}
	for _, name := range theirs {
		out[name] = camel(trim(local, name))
		count[out[name]]++
	}
	for _, name := range theirs {
		if count[out[name]] > 1 {
			out[name] = capital(word(trim(local, name)))
		}
	}
	return out
}

// trim removes the name of the provider. A provider like google-beta has types like google_x.
func trim(local, name string) string {
	first, _, _ := strings.Cut(local, "-")
	for _, prefix := range []string{word(local) + "_", first + "_"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && rest != "" {
			return rest
		}
	}
	return name
}

func camel(name string) string {
	var out strings.Builder
	for _, part := range strings.Split(word(name), "_") {
		out.WriteString(capital(part))
	}
	return word(out.String())
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// word makes a valid name of an attribute or of a part of a type's name: other characters become
// underscores, and a name that does not begin with a letter gets one.
func word(s string) string {
	out := strings.Map(func(r rune) rune {
		if r < 0x80 && resource.ValidName("a"+string(r)) {
			return r
		}
		return '_'
	}, s)
	if !resource.ValidName(out) {
		out = "x" + out
	}
	return out
}

// builder makes one type.
type builder struct {
	from       Origin
	theirs     string
	data       bool
	attributes []schema.Attribute
	renamed    map[string]any
	deprecated map[string]any
}

func (b *builder) build(name string, s wire.Schema) (schema.Type, error) {
	if _, err := value.Compile(&s); err != nil {
		return schema.Type{}, err
	}
	b.renamed, b.deprecated = map[string]any{}, map[string]any{}
	b.attributes = []schema.Attribute{{Name: attrLabel, Type: "String[1]",
		Behaviour: schema.Namevar, Description: "The name of the resource in the model."}}
	if !b.data {
		b.attributes = append(b.attributes, schema.Attribute{Name: attrImport,
			Type: "Optional[String[1]]", Behaviour: schema.Parameter,
			Description: "The provider's identifier of an existing object, which is adopted."})
	}
	for i := range s.Block.Attributes {
		if err := b.attribute(&s.Block.Attributes[i]); err != nil {
			return schema.Type{}, err
		}
	}
	for i := range s.Block.Blocks {
		if err := b.block(&s.Block.Blocks[i]); err != nil {
			return schema.Type{}, err
		}
	}
	if s.Block.Deprecated || s.Block.DeprecationMessage != "" {
		b.deprecated[""] = cmp.Or(s.Block.DeprecationMessage, deprecatedText)
	}
	b.order()
	t := schema.Type{Name: typeName(b.from.Local, name, b.data), Attributes: b.attributes,
		Description: describe(s.Block.Description, b.deprecated[""]), Assigned: !b.data,
		Transports: []string{Transport}, Metadata: b.metadata()}
	if t.Description == "" {
		t.Description = fmt.Sprintf("%s of the provider %s.", b.theirs, b.from.Address)
	}
	return t, nil
}

// order adds the attribute that selects the order of a replacement, to types whose objects can be
// distinguished.
func (b *builder) order() {
	reported := func(a schema.Attribute) bool { return a.Behaviour == schema.ReadOnly && !a.Sensitive }
	if b.data || !slices.ContainsFunc(b.attributes, reported) {
		return
	}
	b.attributes = append(b.attributes, schema.Attribute{Name: schema.CreateBeforeDestroy,
		Type: "Boolean", Default: false, Behaviour: schema.Parameter,
		Description: "Whether a replacement creates the new object before it deletes the old one."})
}

func (b *builder) metadata() map[string]any {
	out := map[string]any{MetaType: b.theirs, MetaProvider: b.from.Address}
	if b.from.Version != "" {
		out[MetaVersion] = b.from.Version
	}
	if len(b.from.Hashes) > 0 {
		hashes := make([]any, len(b.from.Hashes))
		for i, h := range b.from.Hashes {
			hashes[i] = h
		}
		out[MetaHashes] = hashes
	}
	if b.data {
		out[MetaData] = true
	}
	if len(b.renamed) > 0 {
		out[MetaAttributes] = b.renamed
	}
	if len(b.deprecated) > 0 {
		out[MetaDeprecated] = b.deprecated
	}
	return out
}

const deprecatedText = "It is deprecated."

// describe returns a description that states a deprecation first.
func describe(text string, deprecated any) string {
	text = strings.TrimSpace(text)
	if message, ok := deprecated.(string); ok {
		text = strings.TrimSpace("Deprecated: " + message + "\n\n" + text)
	}
	return text
}

// rename returns the name of an attribute here. Names that documents or every type use end with an
// underscore.
func (b *builder) rename(theirs string) string {
	name := word(theirs)
	taken := func(name string) bool {
		return schema.Reserved(name) || name == attrLabel || name == attrImport ||
			name == schema.CreateBeforeDestroy || slices.ContainsFunc(b.attributes,
			func(a schema.Attribute) bool { return a.Name == name })
	}
	for taken(name) {
		name += "_"
	}
	if name != theirs {
		b.renamed[name] = theirs
	}
	return name
}

func (b *builder) attribute(from *wire.Attribute) error {
	y := &typer{secret: from.Sensitive}
	expr, err := y.attribute(from)
	if err != nil {
		return err
	}
	a := schema.Attribute{Name: b.rename(from.Name)}
	if from.Deprecated || from.DeprecationMessage != "" {
		b.deprecated[a.Name] = cmp.Or(from.DeprecationMessage, deprecatedText)
	}
	a.Description = describe(from.Description, b.deprecated[a.Name])
	// An id that is optional and computed is what SDKv2 declares for every type; documents never set it.
	reported := from.Computed && (!from.Optional || from.Name == "id")
	switch {
	case reported:
		a.Behaviour, a.Sensitive = schema.ReadOnly, from.Sensitive
	case from.WriteOnly:
		a.Behaviour = schema.WriteOnly
	case b.data:
		a.Behaviour = schema.Parameter
	}
	b.add(a, y, expr, from.Required, from.Sensitive && !reported)
	return nil
}

// add adds an attribute with a data type. A data type that is too large for a declaration becomes
// Any. Then the provider's schema checks the values, and all of them are secret if one is.
func (b *builder) add(a schema.Attribute, y *typer, expr string, required, sensitive bool) {
	if size(expr) > maxTypes || len(expr) > maxPart || depth(expr) > maxNesting {
		y.loose, expr = true, "Any"
	}
	a.Sensitive = a.Sensitive || y.loose && y.secret
	if sensitive {
		expr = "Sensitive[" + expr + "]"
	}
	if !required {
		expr = "Optional[" + expr + "]"
	}
	a.Type = expr
	b.attributes = append(b.attributes, a)
}

// size returns an upper bound of the number of types in an expression.
func size(expr string) int { return strings.Count(expr, "[") + 2*strings.Count(expr, "=>") }

// depth returns the number of levels of an expression.
func depth(expr string) int {
	level, most := 0, 0
	for _, r := range expr {
		switch r {
		case '[', '{':
			level++
			most = max(most, level)
		case ']', '}':
			level--
		}
	}
	return most
}

// The limits of an expression, below those of a declaration.
const (
	maxTypes   = 2000
	maxNesting = 40
)

func (b *builder) block(from *wire.NestedBlock) error {
	y := &typer{}
	expr, err := y.nested(from)
	if err != nil {
		return err
	}
	a := schema.Attribute{Name: b.rename(from.Name)}
	if from.Block.Deprecated || from.Block.DeprecationMessage != "" {
		b.deprecated[a.Name] = cmp.Or(from.Block.DeprecationMessage, deprecatedText)
	}
	a.Description = describe(from.Block.Description, b.deprecated[a.Name])
	if b.data {
		a.Behaviour = schema.Parameter
	}
	b.add(a, y, expr, from.MinItems > 0, false)
	return nil
}
