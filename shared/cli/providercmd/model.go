package providercmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/syntax"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// modelOf returns the model of adopted resources.
func modelOf(plan *provider.Adoption) ([]byte, error) {
	m := &modeller{names: map[resource.ID]string{}, taken: map[string]bool{"southbound": true}}
	m.out.WriteString("# `southbound provider adopt` has written this model from a state file.\n" +
		"import southbound\n")
	imports := map[string]bool{}
	for i := range plan.Resources {
		r := &plan.Resources[i]
		imports[r.Type[:strings.LastIndex(r.Type, "::")]] = true
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&m.out, "import southbound::%s\n", name)
	}
	agents := map[string]string{}
	m.out.WriteString("\n")
	for _, a := range plan.Agents {
		agents[a.Name] = m.variable(a.Name)
		if a.Note != "" {
			m.out.WriteString("# " + comment(a.Note) + "\n")
		}
		fmt.Fprintf(&m.out, "%s = southbound::Agent(name=%s, transport=%s, options=%s)\n", agents[a.Name],
			literal(a.Name), literal(a.Transport), m.value(a.Options))
	}
	for i := range plan.Resources {
		m.names[plan.Resources[i].ID] = m.variable(nameIn(&plan.Resources[i]))
	}
	for i := range plan.Resources {
		r := &plan.Resources[i]
		m.resource(r, agents[r.Agent])
	}
	return m.out.Bytes(), m.err
}

type modeller struct {
	out   bytes.Buffer
	names map[resource.ID]string // variables of resources
	taken map[string]bool
	err   error
}

// nameIn returns the part of a resource's name of which its variable is made.
func nameIn(r *provider.Adopted) string {
	label, _ := r.Attributes["label"].(string)
	return r.Type[strings.LastIndex(r.Type, "::")+2:] + "_" + label
}

// variable returns a new name of a variable made of a text.
func (m *modeller) variable(text string) string {
	name := strings.ToLower(strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			return r
		}
		return '_'
	}, text))
	if name = strings.Trim(name, "_"); name == "" || name[0] >= '0' && name[0] <= '9' || syntax.IsKeyword(name) {
		name = "x_" + name
	}
	out := name
	for n := 2; m.taken[out]; n++ {
		out = name + "_" + strconv.Itoa(n)
	}
	m.taken[out] = true
	return out
}

func (m *modeller) resource(r *provider.Adopted, agent string) {
	m.out.WriteString("\n# " + comment(r.Source) + "\n")
	for _, n := range r.Notes {
		m.out.WriteString("# " + comment(n) + "\n")
	}
	fmt.Fprintf(&m.out, "%s = southbound::%s(\n    agent=%s,\n", m.names[r.ID], r.Type, agent)
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		argument := name
		if syntax.IsKeyword(name) {
			argument += "_"
		}
		fmt.Fprintf(&m.out, "    %s=%s,\n", argument, m.value(r.Attributes[name]))
	}
	var needed []string
	for _, id := range requirements(r) {
		needed = append(needed, m.names[resource.ID(id)])
	}
	if len(needed) > 0 {
		fmt.Fprintf(&m.out, "    requires=[%s],\n", strings.Join(needed, ", "))
	}
	m.out.WriteString(")\n")
}

// value returns a value as an expression.
func (m *modeller) value(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return literal(v)
	case resource.Secret:
		if out, is := v.Output(); is {
			return fmt.Sprintf("southbound::output(%s, %s)", m.names[out.Of], literal(out.Path))
		}
		return fmt.Sprintf("southbound::secret(%s)", literal(v.Source))
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			if _, nested := e.([]any); nested {
				m.fail("a list in a list cannot be written in a model")
			}
			parts[i] = m.value(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, m.key(key)+": "+m.value(v[key]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	text, err := resource.CanonicalValue(v)
	if err != nil {
		m.fail("%v", err)
	}
	return string(text)
}

// literal returns a text as an expression. Two braces would begin a value within the text.
func literal(s string) string { return strings.ReplaceAll(quoted(s), "{{", `{" + "{`) }

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return `""` // does not happen: texts have a form in JSON
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// key returns the key of a dict, which is one literal.
func (m *modeller) key(s string) string {
	text := quoted(s)
	if !strings.Contains(s, "{{") {
		return text
	}
	if text != `"`+s+`"` { // a raw literal has no escapes
		m.fail("the key %.100q has braces, and characters that need escapes", s)
	}
	return "r" + text
}

func (m *modeller) fail(format string, args ...any) {
	if m.err == nil {
		m.err = fault.New(fault.Unsupported, adopting, format, args...).
			WithHint("write a document, without --model")
	}
}
