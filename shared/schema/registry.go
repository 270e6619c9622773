package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Registry is an immutable set of compiled types.
type Registry struct {
	types  map[string]*Compiled
	names  []string
	digest struct { // see Digest
		once sync.Once
		text string
	}
}

// NewRegistry compiles types. It returns all problems of their definitions together, as
// diag.Problems. Resource of a problem is the name of the type, and Attribute is the name of the
// attribute.
func NewRegistry(types ...Type) (*Registry, error) {
	c := &compiler{aliases: newAliasTable(), known: map[string]*DataType{}}
	c.collectAliases(types)
	r := &Registry{types: make(map[string]*Compiled, len(types))}
	for i := range types {
		name := types[i].Name
		compiled := c.compile(&types[i])
		if _, twice := r.types[name]; twice {
			c.bad("", "", "the type is registered twice")
			continue
		}
		r.types[name] = compiled
		r.names = append(r.names, name)
	}
	l := &linker{compiler: c, types: r}
	for _, name := range r.names {
		l.link(r.types[name])
	}
	if len(c.problems) > 0 {
		return nil, c.problems
	}
	slices.Sort(r.names)
	return r, nil
}

// Type returns a type by its name.
func (r *Registry) Type(name string) (*Compiled, bool) {
	c, ok := r.types[name]
	return c, ok
}

// Names returns the names of all types, sorted.
func (r *Registry) Names() []string { return slices.Clone(r.names) }

// Nearest returns the known type whose spelling is most similar to name, or "" if none is similar.
func (r *Registry) Nearest(name string) string { return Nearest(name, r.names) }

// compiler compiles definitions and collects their problems.
type compiler struct {
	aliases  *aliasTable
	known    map[string]*DataType // cache of parsed expressions, most of which occur several times
	typ      string               // the current type
	part     string               // the current Part of the type, or ""
	where    func(part string) diag.Pos
	problems diag.Problems
}

func (c *compiler) bad(attribute, hint, format string, args ...any) {
	p := diag.Problem{Resource: c.typ, Attribute: attribute, Message: sprintf(format, args),
		Hint: hint}
	if c.where != nil {
		p.Pos = c.where(cmp.Or(c.part, attribute))
	}
	if strings.ContainsFunc(attribute, func(r rune) bool { return !unicode.IsPrint(r) }) {
		p.Attribute = "" // the message quotes the name
	}
	c.problems.Add(p)
}

// collectAliases checks the aliases of all types before any of them is used.
func (c *compiler) collectAliases(types []Type) {
	owner := map[string]int{}
	for i := range types {
		c.typ, c.where = types[i].Name, types[i].At
		for _, name := range slices.Sorted(maps.Keys(types[i].Aliases)) {
			c.part = Part(AliasPart, name)
			expr := types[i].Aliases[name]
			known, twice := c.aliases.expr[name]
			switch {
			case !validAlias(name):
				c.bad("", "names like Stdlib::Port: capital letters first, joined by ::",
					"the alias %q cannot be a name, or is one of the language", name)
			case twice && known != expr:
				c.bad("", "", "the alias %s is %s here and %s in %s", name, expr, known,
					types[owner[name]].Name)
			default:
				c.aliases.expr[name] = expr
				owner[name] = i
			}
		}
	}
	for _, name := range c.aliases.names() {
		_, _ = c.aliases.lookup(name) // lookup records an error
		if err := c.aliases.wrong[name]; err != nil {
			c.typ, c.where, c.part = types[owner[name]].Name, types[owner[name]].At,
				Part(AliasPart, name)
			c.bad("", hintOf(err), "the alias %s: %v", name, err)
		}
	}
	c.part = ""
}

// reservedNames returns the names that appear next to attribute names in documents, in output and
// in filters.
func reservedNames() []string {
	return []string{
		"type", "agent", "agents", "attributes", "requires", "set", "purged", "purge_on_delete",
		"prevent_destroy", "report_only", "send_event", "receive_events",
		"managed", "id", "defaults", "resources", "southbound", "status", "title",
	}
}

// Reserved reports whether no attribute can have the name, because documents, output and filters use
// it next to the names of attributes.
func Reserved(name string) bool { return slices.Contains(reservedNames(), name) }

func features() []string {
	return []string{"canonicalise", "batch", "noop", "facts", "reload", "discover", FeatureFiles}
}

// featureHint returns the replacement for an unknown feature, or the equivalent of a feature of
// Puppet's types.
func featureHint(name string) string {
	switch name {
	case "supports_noop":
		return `did you mean "noop"?`
	case "simple_get_filter":
		return "leave it out: Read always receives the resources to read"
	case "custom_insync", "custom_generate":
		return "leave it out: a handler implements an interface instead, such as InSyncer or Generator"
	case "remote_resource":
		return "leave it out: the transport of the agent decides where handlers run"
	}
	return orList(nearestHint(name, features()), "features are ", features())
}

func (c *compiler) compile(t *Type) *Compiled {
	c.typ, c.where = t.Name, t.At
	c.problems = append(c.problems, t.Wrong...)
	out := &Compiled{Type: *t, index: make(map[string]int, len(t.Attributes))}
	out.Attributes = slices.Clone(t.Attributes)
	out.compiled = make([]CompiledAttribute, 0, len(t.Attributes))
	if !resource.ValidType(t.Name) && (t.Name != "" || len(t.Wrong) == 0) {
		c.bad("", "a name is like fs::File",
			"%q is not a type name: two or more names joined by ::", t.Name)
	}
	if t.Space != "" && t.Thing == nil && t.Within == nil {
		c.bad("", "", "Space is about the names that Thing gives, and there is no Thing")
	}
	if t.Whole != nil && t.Thing == nil {
		c.bad("", "", "Whole is about the names that Thing gives, and there is no Thing")
	}
	if t.Within != nil && t.Space == "" {
		c.bad("", "", "Within is about the things of Space, and there is no Space")
	}
	if (t.Gather == nil) != (t.Gathers == nil) {
		c.bad("", "", "Gather and Gathers come together")
	}
	if t.Timeout < 0 {
		c.bad("", "", "the timeout is negative")
	}
	for i, f := range t.Features {
		c.part = Part(FeaturePart, i)
		switch {
		case !slices.Contains(features(), f):
			c.bad("", featureHint(f), "unknown feature %q", f)
		case slices.Contains(t.Features[:i], f):
			c.bad("", "", "the feature %q is there twice", f)
		}
	}
	c.part = ""
	c.transports(t)
	c.secretOptions(t)
	for i := range out.Attributes {
		c.attribute(out, i)
	}
	if len(out.namevars) == 0 && len(t.Wrong) == 0 {
		c.bad("", "give one attribute the behaviour namevar", "no attribute names the resource")
	}
	c.replaced(out)
	c.titlePatterns(out)
	c.rules(out)
	c.metadata(out)
	return out
}

// transports checks the transports that a type declares. Only programs know which transports exist.
func (c *compiler) transports(t *Type) {
	for i, name := range t.Transports {
		c.part = Part(TransportPart, i)
		switch {
		case name == AnyTransport && len(t.Transports) > 1:
			c.bad("", "remove the other transports", "the transport %q includes all others",
				name)
		case name != AnyTransport && !TransportName(name):
			c.bad("", "names are like ssh or postgresql: small letters, digits, - and _",
				"%q is not a name of a transport", name)
		case name == transportSSH && !t.Machine:
			c.bad("", "declare that its objects are on a machine, or remove ssh",
				"over ssh handlers run on the machine, and the type is not about one")
		case slices.Contains(t.Transports[:i], name):
			c.bad("", "", "the transport %q is there twice", name)
		}
	}
	c.part = ""
}

// secretOptions checks the form of the paths of secret options.
func (c *compiler) secretOptions(t *Type) {
	for _, path := range t.SecretOptions {
		if slices.Contains(strings.Split(path, "/"), "") {
			c.bad("", "write it such as config/token", "%q is not the path of an option", path)
		}
	}
}

// TransportName reports whether s is a valid name of a transport.
func TransportName(s string) bool {
	return s != "" && s[0] >= 'a' && s[0] <= 'z' && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
}

// orList returns hint, or the list of names if hint is "".
func orList(hint, prefix string, names []string) string {
	if hint != "" {
		return hint
	}
	return prefix + strings.Join(names, ", ")
}

// lookAlike describes the first character of a name that is not printable ASCII, since it may be
// invisible or resemble a valid character.
func lookAlike(name string) string {
	for _, r := range name {
		if r >= utf8.RuneSelf || !unicode.IsPrint(r) {
			return fmt.Sprintf("; %+q is none of these", string(r))
		}
	}
	return ""
}

// dataType parses the expression of an attribute. Attributes with the same expression share the
// result, which is immutable.
func (c *compiler) dataType(expr string) (*DataType, error) {
	if d := c.known[expr]; d != nil {
		return d, nil
	}
	d, err := parseDataType(expr, c.aliases)
	if err == nil {
		c.known[expr] = d
	}
	return d, err
}

// attribute compiles attribute i of t.
func (c *compiler) attribute(t *Compiled, i int) {
	a := &t.Attributes[i]
	c.part = Part(AttributePart, i)
	defer func() { c.part = "" }()
	switch _, twice := t.index[a.Name]; {
	case !resource.ValidName(a.Name):
		c.bad(a.Name, "a letter, then letters, digits and _"+lookAlike(a.Name),
			"%q is not a name for an attribute", a.Name)
	case Reserved(a.Name):
		c.bad(a.Name, "documents use it beside the attributes; choose another",
			"the name %q is reserved", a.Name)
	case twice:
		c.bad(a.Name, "", "the attribute is declared twice")
	}
	t.index[a.Name] = i
	d, err := c.dataType(a.Type)
	if err != nil {
		c.bad(a.Name, hintOf(err), "%v", err)
		d = &DataType{kind: kindAny, undef: true}
	}
	a.Sensitive = a.Sensitive || d.secret
	c.behaviour(t, a, d)
	c.ensure(a, d)
	if a.Default != nil && err == nil {
		t.defaults++
		c.defaultValue(a, d)
	}
	t.compiled = append(t.compiled, CompiledAttribute{Attribute: *a, DataType: d})
}

// replaced rejects CreateFirst, and the attribute CreateBeforeDestroy, for a type that does not meet
// their requirements, for example if no attribute distinguishes the old object from the new one. The
// handler may decide about replacements, so the attribute requires no attribute with the behaviour
// Replace.
func (c *compiler) replaced(t *Compiled) {
	has := func(is func(a *Attribute) bool) bool {
		return slices.ContainsFunc(t.compiled,
			func(a CompiledAttribute) bool { return is(&a.Attribute) })
	}
	what := "CreateFirst"
	if flag, declared := t.Attribute(CreateBeforeDestroy); declared {
		what = CreateBeforeDestroy
		d := flag.DataType
		if d.kind == kindOptional {
			d = d.of[0]
		}
		if d.kind != kindBoolean || flag.Behaviour != Parameter {
			c.bad(CreateBeforeDestroy,
				"declare it as Boolean with the behaviour parameter, or choose another name",
				"%s selects the order of a replacement", CreateBeforeDestroy)
		}
		if t.CreateFirst {
			c.bad(CreateBeforeDestroy, "leave one of them out",
				"the type always creates first, so its resources have no choice")
		}
	}
	switch {
	case !t.MayCreateFirst():
	case !t.Assigned:
		c.bad("", "leave "+what+" out, or set Assigned where the target chooses the identity",
			"two of one name cannot exist at once, so a thing cannot be created first")
	case t.CreateFirst && !has(func(a *Attribute) bool { return a.Behaviour == Replace }):
		c.bad("", "give the behaviour replace to attributes that cannot be updated",
			"the type describes a replacement, but no attribute has the behaviour replace")
	case !has(func(a *Attribute) bool { return a.Behaviour == ReadOnly && !a.Sensitive }):
		c.bad("", "declare a read_only attribute, such as the id that the target has chosen",
			"no read-only attribute distinguishes the old object from the new one, so an object cannot "+
				"be created first")
	}
}

func (c *compiler) behaviour(t *Compiled, a *Attribute, d *DataType) {
	switch a.Behaviour {
	case Property, InitOnly, Replace, Parameter, WriteOnly:
	case ReadOnly:
		if a.Default != nil {
			c.bad(a.Name, "leave it out",
				"a read_only attribute is never set, so it has no default")
		}
	case Namevar:
		t.namevars = append(t.namevars, a.Name)
		switch {
		case a.Sensitive:
			c.bad(a.Name, "name the resource by something else",
				"a naming attribute is shown everywhere, so it is not sensitive")
		case !d.hasScalar():
			c.bad(a.Name, "use String, Enum, Pattern, Integer or the like",
				"a naming attribute is a scalar, and %s has none", d)
		}
		if d.Optional() && a.Default == nil {
			c.bad(a.Name, "leave Optional out, or give it a default",
				"a naming attribute is never missing, so it is not %s", d)
		}
	default:
		known := []string{string(Namevar), string(ReadOnly), string(InitOnly), string(Replace),
			string(Parameter), string(WriteOnly)}
		c.bad(a.Name,
			orList(nearestHint(string(a.Behaviour), known),
				"leave it empty for a property, or use one of ", known), "unknown behaviour %q",
			a.Behaviour)
	}
}

// defaultValue checks a default and converts it to a value.
func (c *compiler) defaultValue(a *Attribute, d *DataType) {
	v, err := resource.FromGo(a.Default)
	if err != nil {
		c.bad(a.Name, "", "the default is not a value: %v", err)
		return
	}
	a.Default = v
	if !d.accepts(v, authored) {
		text, hint := d.explain(v, authored).render(!a.Sensitive)
		c.bad(a.Name, hint, "the default is not of the attribute's type: %s", text)
	}
	if _, reference := v.(resource.Secret); a.Sensitive && !reference {
		c.bad(a.Name, "leave it out",
			"a secret that everybody has is none, so a sensitive attribute has no default")
	}
}

// ensure rejects an attribute that duplicates the flag purged, which every resource has.
func (c *compiler) ensure(a *Attribute, d *DataType) {
	if a.Name != "ensure" || !d.accepts("absent", authored) ||
		d.accepts("no word of any type", authored) {
		return
	}
	hint := "leave ensure out"
	if !d.accepts("present", authored) {
		hint = "take absent out of it"
	}
	c.bad(a.Name, hint,
		"resources use `purged: true` for absence, so ensure cannot be absent")
}

// metadata converts the metadata of a declaration to values.
func (c *compiler) metadata(t *Compiled) {
	if t.Metadata == nil {
		return
	}
	v, err := resource.FromGo(t.Metadata)
	if err != nil {
		c.bad("", "", "the metadata is not a value: %v", err)
		return
	}
	t.Metadata, _ = v.(map[string]any)
}

// hasScalar reports whether the type accepts any text, number or boolean.
func (d *DataType) hasScalar() bool {
	switch d.kind {
	case kindOptional, kindVariant:
		return slices.ContainsFunc(d.of, (*DataType).hasScalar)
	case kindArray, kindTuple, kindHash, kindStruct, kindSensitive:
		return false
	}
	return true
}
