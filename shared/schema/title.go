package schema

import (
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema/internal/puppet"
)

// TitlePattern parses titles: a Ruby regular expression whose named groups are naming attributes.
type TitlePattern struct {
	Pattern     string
	Description string // the purpose, such as "package and manager, joined by a hyphen"
}

// titlePattern is a compiled TitlePattern.
type titlePattern struct {
	TitlePattern
	re *puppet.Regexp
}

// ReadTitle returns the naming attributes in a title: those of the first pattern that matches or,
// if there are no patterns, the first naming attribute. The result may lack naming attributes,
// which the resource then sets separately. The values have the types of the attributes. ReadTitle
// returns fault.Invalid if no pattern matches, with the patterns as its hint, or if a value does
// not match its type.
func (c *Compiled) ReadTitle(title string) (map[string]any, error) {
	if len(c.titles) == 0 {
		if len(c.namevars) == 0 {
			return nil, fault.New(fault.Invalid, "read title", "%s has no naming attribute", c.Name)
		}
		return titleValues(c, []string{c.namevars[0]}, []string{title})
	}
	for _, p := range c.titles {
		at := p.re.FindStringSubmatchIndex(title)
		if at == nil {
			continue
		}
		var names, texts []string
		for i, name := range p.re.SubexpNames() {
			if name != "" && at[2*i] >= 0 {
				names, texts = append(names, name), append(texts, title[at[2*i]:at[2*i+1]])
			}
		}
		return titleValues(c, names, texts)
	}
	return nil,
		fault.New(fault.Invalid, "read title", "%q is not a title of %s", shorten(title, 80),
			c.Name).WithHint("%s", titleHint(c))
}

// titleHint lists the title patterns of a type.
func titleHint(c *Compiled) string {
	forms := make([]string, len(c.titles))
	for i, p := range c.titles {
		forms[i] = "/" + shorten(p.Pattern, 120) + "/"
		if p.Description != "" {
			forms[i] = p.Description + " (" + forms[i] + ")"
		}
	}
	return "titles are: " + strings.Join(forms, "; ")
}

// titleValues converts the texts in a title to values.
func titleValues(c *Compiled, names, texts []string) (map[string]any, error) {
	out := make(map[string]any, len(names))
	for i, name := range names {
		a, ok := c.Attribute(name)
		if !ok {
			continue // rejected by NewRegistry
		}
		v, err := a.DataType.Coerce(texts[i])
		if err != nil {
			return nil,
				fault.New(fault.Invalid, "read title", "%s in the title: %s", name,
					messageOf(err)).WithHint("%s", hintOf(err))
		}
		out[name] = v
	}
	return out, nil
}

// Keys returns the naming attributes of a resource with these attributes, in declared order,
// including defaults. If the resource cannot be named, keys is nil. unnamed is then the first
// attribute that is missing or cannot be part of an id.
func (c *Compiled) Keys(attributes map[string]any) (keys []resource.Key, unnamed string) {
	keys = make([]resource.Key, len(c.namevars))
	for i, name := range c.namevars {
		v, ok := attributes[name]
		if !ok {
			v = c.compiled[c.index[name]].Default
		}
		if keys[i].Value, ok = resource.KeyText(v); !ok {
			return nil, name
		}
		keys[i].Name = name
	}
	return keys, ""
}

// titlePatterns compiles the patterns of a type.
func (c *compiler) titlePatterns(t *Compiled) {
	seen := map[string]bool{}
	defer func() { c.part = "" }()
	for i, p := range t.Titles {
		at := sprintf("title pattern %d: ", []any{i + 1})
		c.part = Part(TitlePart, i)
		re, err := puppet.Compile(p.Pattern)
		switch {
		case p.Pattern == "":
			c.bad("", `write one such as \A(?<name>.+)\z`, "%sit is empty", at)
			continue
		case err != nil:
			c.bad("", "", "%sthe regular expression cannot be used: %v", at, err)
			continue
		case seen[p.Pattern]:
			c.bad("", "remove one of the two",
				"%sit stands there twice, so the second is never reached", at)
		}
		seen[p.Pattern] = true
		groups := 0
		for _, name := range re.SubexpNames() {
			if name == "" {
				continue
			}
			groups++
			if !slices.Contains(t.namevars, name) {
				what := "is not an attribute of the type"
				if _, known := t.index[name]; known {
					what = "is not a naming attribute"
				}
				c.bad("",
					orList(nearestHint(name, t.namevars), "naming attributes are ",
						t.namevars), "%sthe group %q %s", at, name, what)
			}
		}
		if groups == 0 {
			c.bad("", "name groups by naming attributes: (?<name>…)",
				"%sit has no named group, so it gives nothing", at)
		}
		t.titles = append(t.titles, titlePattern{p, re})
	}
}
