package typefile

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Generated is the first line of generated pages, by which `make docs` recognizes them.
const Generated = "<!-- made from the declarations by `make docs`; change these -->"

// Page returns the file name of a type's page.
func Page(name string) string { return strings.ReplaceAll(name, "::", "-") + ".md" }

// Pages returns the pages of all types in a registry by file name, and README.md, which lists them.
func Pages(r *schema.Registry) map[string]string {
	out := map[string]string{}
	var index strings.Builder
	index.WriteString(
		Generated + "\n# Types\n\nTypes that this program can manage. `southbound type NAME` prints the " +
			"same page, and `southbound type NAME --format json-schema` a schema for editors.\n\n| type | |\n" +
			"|---|---|\n")
	for _, name := range r.Names() {
		t, _ := r.Type(name)
		out[Page(name)] = Markdown(t)
		index.WriteString("| [" + name + "](" + Page(name) + ") | " + cell(First(t.Description)) +
			" |\n")
	}
	out["README.md"] = index.String()
	return out
}

// First returns the first sentence of a text, without its full stop.
func First(text string) string {
	first, _, _ := strings.Cut(text, ". ")
	return strings.TrimSuffix(first, ".")
}

// cell escapes a text for a cell of a table.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

func code(text string) string {
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// Markdown returns the page of a type.
func Markdown(t *schema.Compiled) string {
	var b strings.Builder
	b.WriteString(Generated + "\n# " + t.Name + "\n")
	if t.Description != "" {
		b.WriteString("\n" + t.Description + "\n")
	}
	b.WriteString("\n| attribute | data type | | |\n|---|---|---|---|\n")
	for i := range t.Attributes {
		a := &t.Attributes[i]
		b.WriteString("| " + code(a.Name) + " | " + cell(code(expression(t, a))) + " | " +
			cell(notes(t, a)) + " | " + cell(a.Description) + " |\n")
	}
	for _, s := range Sections(t) {
		b.WriteString("\n## " + s.Title + "\n\n")
		for _, line := range s.Lines {
			b.WriteString("- " + line + "\n")
		}
	}
	return b.String()
}

// expression returns the normal form of an attribute's data type.
func expression(t *schema.Compiled, a *schema.Attribute) string {
	if c, ok := t.Attribute(a.Name); ok {
		return c.DataType.String()
	}
	return a.Type
}

// notes returns the special properties of an attribute: its behaviour, whether it is required, its
// default; "" if there are none.
func notes(t *schema.Compiled, a *schema.Attribute) string {
	var out []string
	switch a.Behaviour {
	case schema.Namevar:
		out = append(out, "names the resource")
	case schema.ReadOnly:
		out = append(out, "only reported")
	case schema.InitOnly:
		out = append(out, "cannot be changed later")
	case schema.Replace:
		out = append(out, "a change replaces the thing")
	case schema.WriteOnly:
		out = append(out, "written and never read")
	case schema.Parameter:
		out = append(out, "not compared")
	}
	c, ok := t.Attribute(a.Name)
	optional := ok && c.DataType.Optional() || a.Default != nil || a.Behaviour == schema.ReadOnly
	if !optional && a.Behaviour != schema.Namevar {
		out = append(out, "required")
	}
	if a.Sensitive {
		out = append(out, "sensitive")
	}
	if a.OneLine {
		out = append(out, "a secret's last line end is left out")
	}
	if a.Default != nil {
		if text, err := resource.CanonicalValue(a.Default); err == nil {
			out = append(out, "default "+code(string(text)))
		}
	}
	return strings.Join(out, ", ")
}

// Section is a part of a type's description.
type Section struct {
	Title string
	Lines []string // Markdown
}

// Sections returns the description of a type apart from its attributes.
func Sections(t *schema.Compiled) []Section {
	var out []Section
	add := func(title string, lines []string) {
		if len(lines) > 0 {
			out = append(out, Section{title, lines})
		}
	}
	var titles, rules, aliases []string
	for _, p := range t.Titles {
		text := code(p.Pattern)
		if p.Description != "" {
			text = p.Description + ": " + text
		}
		titles = append(titles, text)
	}
	for i := range t.Rules {
		rules = append(rules, cmp.Or(t.Rules[i].Message, t.Rules[i].Describe()))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Aliases)) {
		aliases = append(aliases, code(name)+" is "+code(t.Aliases[name]))
	}
	add("Titles", titles)
	add("Relations", relations(t))
	add("Rules", rules)
	add("Aliases", aliases)
	add("More", more(t))
	return out
}

// relations describes the relations of a type.
func relations(t *schema.Compiled) []string {
	verbs := map[schema.RelationKind]string{
		schema.Require: "requires", schema.Before: "comes before",
		schema.Subscribe: "requires, and is notified of changes of,",
		schema.Notify:    "comes before, and notifies of its changes,",
	}
	var out []string
	for i := range t.Relations {
		d := &t.Relations[i]
		if d.Names != nil {
			continue // a declaration from a file lacks Names: the line below covers both cases
		}
		text := verbs[d.Kind] + " " + d.Type
		var named []string
		for _, title := range d.Titles {
			named = append(named, code(title))
		}
		for _, key := range slices.Sorted(maps.Keys(d.Keys)) {
			named = append(named, key+"="+code(d.Keys[key]))
		}
		text += " " + strings.Join(named, ", ")
		if d.Agent != "" {
			text += " of the agent " + code(d.Agent)
		}
		out = append(out, text+", where it exists")
	}
	if slices.ContainsFunc(t.Relations, namedInCode) || slices.Contains(t.Code, "relations") {
		out = append(out, "is tied to more by its nature, where that exists; see the description")
	}
	return out
}

// more describes how a type is handled.
func more(t *schema.Compiled) []string {
	var out []string
	if len(t.Features) > 0 {
		out = append(out, "features: "+strings.Join(t.Features, ", "))
	}
	if len(t.Providers) > 0 {
		out = append(out,
			"providers, the first that suits is taken: "+strings.Join(t.Providers, ", "))
	}
	if t.Machine {
		out = append(out, "acts on the machine of the agent")
	}
	switch {
	case t.CreateFirst:
		out = append(out, "replaced by making the new one before the old is deleted")
	case t.MayCreateFirst():
		out = append(out, "replaced by making the new one before the old is deleted, if "+
			schema.CreateBeforeDestroy+" is true")
	}
	if over := t.Over(); over[0] != schema.AnyTransport {
		out = append(out, "agents: those with the transport "+strings.Join(over, " or "))
	}
	if t.Assigned {
		out = append(out,
			"its identity is chosen by the target: after a crash, the object is looked up before "+
				"it is created again")
	}
	if t.Timeout > 0 {
		out = append(out, "one call takes at most "+t.Timeout.String())
	}
	return out
}
