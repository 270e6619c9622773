package schema

import (
	"maps"
	"slices"

	"southbound/shared/resource"
)

// linker checks the declared relations after all types are compiled, since a relation is between
// two types.
type linker struct {
	*compiler
	types *Registry
}

// link checks the declared relations of a type and resolves their target types.
func (l *linker) link(t *Compiled) {
	l.typ, l.where = t.Name, t.At
	defer func() { l.part = "" }()
	kinds := make([]string, 0, 4)
	for _, k := range RelationKinds() {
		kinds = append(kinds, string(k))
	}
	for i := range t.Relations {
		d := &t.Relations[i]
		at := sprintf("relation %d (%s %s): ", []any{i + 1, d.Kind, d.Type})
		l.part = Part(RelationPart, i)
		if !slices.Contains(kinds, string(d.Kind)) {
			l.bad("", orList(nearestHint(string(d.Kind), kinds), "there are ", kinds),
				"%sunknown kind %q", at, d.Kind)
		}
		if !resource.ValidType(d.Type) {
			l.bad("", orList(nearestHint(d.Type, l.types.names), "a name is like fs::File", nil),
				"%s%q is not a name of a type", at, d.Type)
			continue
		}
		rel := relation{kind: d.Kind, target: l.types.types[d.Type], names: d.Names}
		switch {
		case d.Names != nil && len(d.Titles)+len(d.Keys) > 0:
			l.bad("", "", "%sit has names in code, and titles or keys", at)
		case d.Names != nil:
		case len(d.Titles) == 0 && len(d.Keys) == 0:
			l.bad("", "set its title, such as $source", "%sit names nothing", at)
		case len(d.Titles) > 0 && len(d.Keys) > 0:
			l.bad("", "", "%sit has titles and keys, and one of them is enough", at)
		}
		for _, text := range d.Titles {
			rel.titles = append(rel.titles, l.template(t, at, text))
			l.constantTitle(&rel, at, text)
		}
		lists := 0
		for _, name := range slices.Sorted(maps.Keys(d.Keys)) {
			text := l.template(t, at, d.Keys[name])
			if l.mayRepeat(t, text) > 0 {
				lists++
			}
			l.relationKey(&rel, at, name)
			rel.keys = append(rel.keys, keyTemplate{name, text})
		}
		if lists > 1 {
			l.bad("", "use titles, or one list", "%stwo of the keys can be lists", at)
		}
		if d.Agent != "" {
			rel.agent = l.template(t, at, d.Agent)
		}
		l.complete(&rel, at, len(d.Keys) > 0)
		l.contradiction(t, i, at)
		t.related = append(t.related, rel)
	}
}

// contradiction rejects a relation that is declared twice, or in both directions.
func (l *linker) contradiction(t *Compiled, i int, at string) {
	d := &t.Relations[i]
	later := func(k RelationKind) bool { return k == Before || k == Notify }
	for j := range t.Relations[:i] {
		e := &t.Relations[j]
		if e.Names != nil || d.Names != nil {
			continue // functions cannot be compared
		}
		if e.Type != d.Type || e.Agent != d.Agent || !slices.Equal(e.Titles, d.Titles) ||
			!maps.Equal(e.Keys, d.Keys) {
			continue
		}
		switch {
		case e.Kind == d.Kind:
			l.bad("", "remove one of the two", "%sit stands there twice, first as relation %d", at,
				j+1)
		case later(e.Kind) != later(d.Kind):
			l.bad("", "",
				"%sthe same comes first by relation %d and later by this one, a cycle wherever "+
					"it exists", at, j+1)
		}
	}
}

// template parses a template of a relation.
func (l *linker) template(t *Compiled, at, text string) template {
	out, err := parseTemplate(text, t.names())
	if err != nil {
		l.bad("", err.hint, "%s%s, in %q", at, err.message, shorten(text, 80))
		return template{}
	}
	for _, name := range out.references() {
		if a, ok := t.Attribute(name); ok && (a.Sensitive || a.DataType.Sensitive()) {
			l.bad(name, "", "%sthe attribute is sensitive, and an identity is shown everywhere", at)
		}
	}
	if l.mayRepeat(t, out) > 1 {
		l.bad("", "", "%stwo attributes in %q can be lists", at, shorten(text, 80))
	}
	if len(out) == 0 {
		l.bad("", "", "%san empty text names nothing", at)
	}
	return out
}

// mayRepeat counts the attributes of a template that can be lists.
func (l *linker) mayRepeat(t *Compiled, text template) int {
	n := 0
	for _, p := range text {
		if p.path == nil {
			continue
		}
		if a, ok := t.Attribute(p.path[0]); ok && a.DataType.mayBeList(len(p.path) > 1) {
			n++
		}
	}
	return n
}

// mayBeList reports whether the type accepts a list. If inside is set, it reports whether a value
// of the type can contain a list.
func (d *DataType) mayBeList(inside bool) bool {
	switch d.kind {
	case kindArray, kindTuple:
		return true
	case kindOptional, kindVariant, kindSensitive:
		return slices.ContainsFunc(d.of, func(o *DataType) bool { return o.mayBeList(inside) })
	case kindHash:
		return inside && len(d.of) == 2 && d.of[1].mayBeList(true)
	case kindStruct:
		return inside &&
			slices.ContainsFunc(d.members, func(m member) bool { return m.typ.mayBeList(true) })
	}
	return false
}

// constantTitle checks a title without attributes against the target type.
func (l *linker) constantTitle(rel *relation, at, text string) {
	last := rel.titles[len(rel.titles)-1]
	if rel.target == nil || len(last) == 0 || len(last.references()) > 0 {
		return
	}
	for _, title := range last.expand(nil) {
		if _, err := rel.target.ReadTitle(title); err != nil {
			l.bad("", hintOf(err), "%s%s can have no title %q: %s", at, rel.target.Name,
				shorten(text, 80), messageOf(err))
		}
	}
}

// relationKey checks that a key is a naming attribute of the target type.
func (l *linker) relationKey(rel *relation, at, name string) {
	if rel.target == nil {
		return
	}
	if !slices.Contains(rel.target.namevars, name) {
		l.bad("",
			orList(nearestHint(name, rel.target.namevars), "it is named by ",
				rel.target.namevars), "%s%s is not named by %q", at, rel.target.Name, name)
	}
}

// complete checks that the keys include all naming attributes of the target type.
func (l *linker) complete(rel *relation, at string, byKeys bool) {
	if rel.target == nil || !byKeys {
		return
	}
	for _, name := range rel.target.namevars {
		if a, _ := rel.target.Attribute(name); a.Default == nil &&
			!slices.ContainsFunc(rel.keys, func(k keyTemplate) bool { return k.name == name }) {
			l.bad("", "", "%sthe key %q of %s is missing, so nothing is named", at, name,
				rel.target.Name)
		}
	}
}

// Doubtful returns warnings about declarations that are valid but rarely intended: types and
// attributes without a description, and relations to types that are not registered.
func (r *Registry) Doubtful() []string {
	var out []string
	for _, name := range r.names {
		t := r.types[name]
		if t.Description == "" {
			out = append(out, name+": the type has no description")
		}
		for i := range t.compiled {
			if t.compiled[i].Description == "" {
				out = append(out, name+": "+t.compiled[i].Name+": the attribute has no description")
			}
		}
		for i := range t.Relations {
			if d := &t.Relations[i]; r.types[d.Type] == nil {
				text := sprintf(
					"%s: the relation %s leads to %s, which is not a type of this program",
					[]any{name, d.Kind, d.Type})
				if near := r.Nearest(d.Type); near != "" {
					text += "; did you mean " + near + "?"
				}
				out = append(out, text)
			}
		}
	}
	return out
}
