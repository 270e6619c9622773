package typefile

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"southbound/shared/schema"
)

func attributeKeys() []string {
	return []string{keyName, keyType, keyDescription, keyDefault, keyBehaviour, keySensitive,
		keyOneLine}
}

// readAttributes reads a list of attributes, or a map of attributes by name.
func (r *reader) readAttributes(n *yaml.Node) {
	switch {
	case n == nil:
	case n.Kind == yaml.SequenceNode:
		for _, e := range n.Content {
			r.readAttribute(e, nil)
		}
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			r.readAttribute(n.Content[i+1], n.Content[i])
		}
	default:
		r.bad(n, "write it such as [{name: path, type: String, behaviour: namevar}]",
			"attributes is a list, or a map by name")
	}
}

// readAttribute reads an attribute; name is nil if the attribute itself contains its name.
func (r *reader) readAttribute(n, name *yaml.Node) {
	var a schema.Attribute
	if name != nil {
		a.Name, _ = r.key(name)
	}
	r.attribute = a.Name
	defer func() { r.attribute = "" }()
	m := r.members(n, "an attribute", attributeKeys())
	if m == nil {
		return
	}
	switch {
	case name == nil && m[keyName] == nil:
		r.bad(n, "add `name:`", "the attribute has no name")
	case name != nil && m[keyName] != nil:
		r.bad(m[keyName], "leave it out", "the attribute has its name already")
	case name == nil:
		a.Name = r.named(m[keyName], "the name of an attribute")
	}
	r.attribute = a.Name
	if a.Name == "" { // the missing name is reported once, above
		a.Name = fmt.Sprintf("attribute_%d", len(r.t.Attributes)+1)
	}
	r.mark(schema.AttributePart, len(r.t.Attributes), n)
	if _, twice := r.parts[a.Name]; !twice {
		r.parts[a.Name] = r.place(n)
	}
	if m[keyType] == nil {
		r.bad(n, "add `type: String`, for example", "the attribute has no type")
		a.Type = "Any" // report the missing type once
	} else if a.Type = r.text(m[keyType], "the type of an attribute"); a.Type == "" {
		a.Type = "Any"
	}
	a.Description = r.text(m[keyDescription], "the description")
	a.Behaviour = schema.Behaviour(r.text(m[keyBehaviour], "the behaviour"))
	if a.Behaviour == "property" {
		a.Behaviour = schema.Property
	}
	a.Default = r.documentValue(m[keyDefault])
	a.Sensitive = r.flag(m[keySensitive], keySensitive)
	a.OneLine = r.flag(m[keyOneLine], keyOneLine)
	r.t.Attributes = append(r.t.Attributes, a)
}

// each calls f for each item of a list.
func (r *reader) each(n *yaml.Node, what, example string, f func(e *yaml.Node)) {
	switch {
	case n == nil:
	case n.Kind != yaml.SequenceNode:
		r.bad(n, "write it such as ["+example+"]", "%s is a list", what)
	default:
		for _, e := range n.Content {
			f(e)
		}
	}
}

func (r *reader) readTitles(n *yaml.Node) {
	r.each(n, "titles", `{pattern: '\A(?<name>.+)\z'}`, func(e *yaml.Node) {
		r.mark(schema.TitlePart, len(r.t.Titles), e)
		if e.Kind == yaml.ScalarNode {
			r.t.Titles = append(r.t.Titles,
				schema.TitlePattern{Pattern: r.text(e, "a title pattern")})
			return
		}
		m := r.members(e, "a title pattern", []string{keyPattern, keyDescription})
		if m == nil {
			return
		}
		if m[keyPattern] == nil {
			r.bad(e, `add pattern: '\A(?<name>.+)\z', for example`, "the title has no pattern")
			return
		}
		r.t.Titles = append(r.t.Titles,
			schema.TitlePattern{Pattern: r.text(m[keyPattern], "the pattern"),
				Description: r.text(m[keyDescription], "the description")})
	})
}

// readRelations reads a list of relations, or a map {kind: {type: title or titles}}.
func (r *reader) readRelations(n *yaml.Node) {
	if n == nil || n.Kind != yaml.MappingNode {
		r.each(n, "relations", "{kind: require, type: fs::File, title: $source}", r.readRelation)
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		kind, _ := r.key(n.Content[i])
		types := n.Content[i+1]
		if types.Kind != yaml.MappingNode {
			r.bad(types, "write it such as {fs::File: $source}", "%s is a map of types and titles",
				shorten(kind))
			continue
		}
		for j := 0; j+1 < len(types.Content); j += 2 {
			typ, _ := r.key(types.Content[j])
			r.mark(schema.RelationPart, len(r.t.Relations), types.Content[j])
			r.t.Relations = append(r.t.Relations, schema.Relation{Kind: schema.RelationKind(kind),
				Type: typ, Titles: r.titles(types.Content[j+1])})
		}
	}
}

// titles reads a title or a list of titles.
func (r *reader) titles(n *yaml.Node) []string {
	if n != nil && n.Kind == yaml.SequenceNode {
		return r.list(n, "titles", "")
	}
	if s := r.text(n, "the title"); s != "" {
		return []string{s}
	}
	return nil
}

func (r *reader) readRelation(e *yaml.Node) {
	m := r.members(e, "a relation", []string{keyKind, keyType, keyTitle, keyTitles, keyKeys,
		keyAgent})
	if m == nil {
		return
	}
	r.mark(schema.RelationPart, len(r.t.Relations), e)
	if m[keyTitle] != nil && m[keyTitles] != nil {
		r.bad(m[keyTitles], "", "title and titles are one too many")
	}
	out := schema.Relation{Kind: schema.RelationKind(r.text(m[keyKind], "the kind")),
		Type: r.text(m[keyType], "the type"),
		Keys: r.texts(m[keyKeys], keyKeys, ""), Agent: r.text(m[keyAgent], "the agent")}
	if out.Titles = r.titles(m[keyTitles]); m[keyTitle] != nil {
		out.Titles = r.titles(m[keyTitle])
	}
	r.t.Relations = append(r.t.Relations, out)
}

// readRules reads rules such as {exactly_one_of: [a, b], if: c, is: [x]}.
func (r *reader) readRules(n *yaml.Node) {
	kinds := make([]string, 0, len(schema.RuleKinds()))
	for _, k := range schema.RuleKinds() {
		kinds = append(kinds, string(k))
	}
	r.each(n, "rules", "{exactly_one_of: [user, key]}", func(e *yaml.Node) {
		m := r.members(e, "a rule", append(slices.Clone(kinds), keyIf, keyIs, keyMessage))
		if m == nil {
			return
		}
		r.mark(schema.RulePart, len(r.t.Rules), e)
		rule := schema.Rule{If: r.text(m[keyIf], "if"),
			Message: r.text(m[keyMessage], "the message")}
		if is := m[keyIs]; is != nil {
			v := r.value(is, 0)
			if list, ok := v.([]any); ok {
				rule.Is = list
			} else {
				rule.Is = []any{v}
			}
		}
		for _, k := range kinds {
			if m[k] == nil {
				continue
			}
			if rule.Kind != "" {
				r.bad(m[k], "write two rules", "a rule demands one thing, not %s and %s", rule.Kind,
					k)
			}
			rule.Kind, rule.Attributes = schema.RuleKind(k), r.list(m[k], k, "")
		}
		if rule.Kind == "" {
			r.bad(e, "there are "+strings.Join(kinds, ", "), "the rule demands nothing")
			return
		}
		r.t.Rules = append(r.t.Rules, rule)
	})
}
