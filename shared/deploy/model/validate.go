package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/internal/dag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Validate checks the types, attributes, identities, transports and cycles of a model, which needs
// no state. ValidateClosed also checks that all requirements exist. Validate returns all problems
// in one call. It completes the model: it fills in defaults, adds generated resources and
// requirements that follow from types, and sorts requirements. A problem with one resource hides no
// problem of others: generation and relations use the valid parts of resources.
func (c *Checker) Validate(m *Model) diag.Problems {
	c = c.offline()
	problems := append(complete(c, m, false), c.CheckReach(m, false)...)
	return append(problems, c.CheckCycles(m.Resources, m.At)...)
}

// ValidateClosed is Validate, and also refuses requirements of resources that are not in the model.
// It is the complete check of an export that is not partial: if it describes an agent, it describes
// all.
func (c *Checker) ValidateClosed(m *Model) diag.Problems {
	c = c.offline()
	problems := append(complete(c, m, true), CheckDescribed(m, Describing{})...)
	problems = append(problems, c.CheckReach(m, true)...)
	problems = append(problems, c.CheckThere(m.Resources, m.At)...)
	return append(problems, c.CheckCycles(m.Resources, m.At)...)
}

// Complete is Validate without the search for cycles.
func (c *Checker) Complete(m *Model) diag.Problems { return complete(c.offline(), m, false) }

// complete is Checker.Complete; with closed, an agent that is not described is this machine.
func complete(c *Checker, m *Model, closed bool) diag.Problems {
	v := &validator{c: c, m: m, byID: make(map[resource.ID]int, len(m.Resources))}
	c.Keep(m)
	v.attributes()
	v.oneDeclaration()
	v.options()
	v.clearOptions()
	v.identities()
	v.problems = append(v.problems, c.CheckThings(m.Resources, len(m.Resources),
		TargetsOf(m.Agents, closed), m.At)...)
	v.generate()
	c.Relate(m.Resources, v.byID)
	return v.problems
}

// validator is the working state of one call of Validate.
type validator struct {
	c    *Checker
	m    *Model
	byID map[resource.ID]int
	// resources that have a problem of their own, or a second description: nothing is generated
	// from them
	wrong    map[int]bool
	problems diag.Problems
}

// refuse records that resource i of the model has a problem.
func (v *validator) refuse(i int) {
	if v.wrong == nil {
		v.wrong = map[int]bool{}
	}
	v.wrong[i] = true
}

// At returns the place of a resource or of one of its attributes.
func (m *Model) At(i int, attribute string) diag.Pos {
	if m.Where == nil {
		return diag.Pos{}
	}
	return m.Where(i, attribute)
}

// AtAgent returns the place of the description of an agent, as far as it is known.
func (m *Model) AtAgent(name string) diag.Pos {
	if m.WhereAgent == nil {
		return diag.Pos{}
	}
	return m.WhereAgent(name)
}

// attributes checks types and attributes, and fills in defaults.
func (v *validator) attributes() {
	for i := range v.m.Resources {
		r := &v.m.Resources[i]
		t, ok := v.c.Type(r)
		if !ok {
			p := diag.Problem{
				Pos:      v.m.At(i, "type"),
				Resource: string(r.ID),
				Message:  fmt.Sprintf("unknown type %q", r.Type),
			}
			if similar := v.c.types.Nearest(r.Type); similar != "" {
				p.Hint = fmt.Sprintf("did you mean %q? `southbound types` lists them", similar)
			}
			if f, is := DeclaredBy(r); is {
				p = v.c.undeclared(r, f)
				p.Pos = v.m.At(i, "type")
			}
			v.problems.Add(p)
			v.refuse(i)
			continue
		}
		attrs, problems := CheckAttributes(t, r.Attributes, r.Purged)
		problems = append(problems, openSecrets(t, r.Attributes)...)
		problems = append(problems, destroyed(r)...)
		problems = append(problems, outputsOf(v.c, r)...)
		for _, p := range problems {
			p.Pos, p.Resource = v.m.At(i, p.Attribute), string(r.ID)
			p.Hint = cmp.Or(p.Hint, t.Hint(p.Attribute))
			v.problems.Add(p)
			v.refuse(i)
			delete(attrs, p.Attribute) // so that no relation is derived from it
		}
		r.Attributes = attrs
	}
}

// destroyed refuses a resource with prevent_destroy that requests its own destruction.
func destroyed(r *resource.Resource) []diag.Problem {
	flag := "purged"
	if !r.Purged {
		flag = "purge_on_delete"
	}
	if !r.PreventDestroy || !r.Purged && !r.PurgeOnDelete {
		return nil
	}
	return []diag.Problem{
		{
			Attribute: "prevent_destroy",
			Message:   "prevent_destroy and " + flag + " contradict each other",
			Hint:      "remove one of them; `false` overrides one from `defaults`",
		},
	}
}

// CheckAttributes checks attributes by their type; a purged resource needs only its name
// attributes.
func CheckAttributes(
	t *schema.Compiled,
	attributes map[string]any,
	purged bool,
) (map[string]any, []diag.Problem) {
	if purged {
		return t.CheckPurged(attributes)
	}
	return t.Check(attributes)
}

// openSecrets refuses literal values of sensitive attributes, since versions store the values of
// documents.
func openSecrets(t *schema.Compiled, attributes map[string]any) []diag.Problem {
	var problems []diag.Problem
	for i := range t.Attributes {
		a := &t.Attributes[i]
		value := attributes[a.Name]
		if a.Sensitive && value != nil && !isSecret(value) && !holdsSecrets(t, a.Name, value) {
			problems = append(problems, diag.Problem{
				Attribute: a.Name,
				Message:   "the attribute is sensitive and " + whereOpen(value),
				Hint:      "write {secret: \"env:NAME\"} or {secret: \"file:PATH\"}",
			})
		}
	}
	return problems
}

// isSecret reports whether a value is a secret, or a text with one.
func isSecret(value any) bool {
	switch value.(type) {
	case resource.Secret, resource.Text:
		return resource.HasSecret(value)
	}
	return false
}

// whereOpen returns the text that names where people can read a value that should be a secret.
func whereOpen(value any) string {
	switch value.(type) {
	case resource.Text:
		return "no part of its text is a secret"
	case resource.Parameter:
		return "a parameter is stored and shown in the open"
	case resource.Fact:
		return "a fact is stored and shown in the open"
	case resource.File:
		return "an uploaded file is stored in the open"
	}
	return "its value stands in the document"
}

// holdsSecrets reports whether a value is a list or a map whose data type declares which of its
// parts are sensitive. The caller has checked that the value fits the type.
func holdsSecrets(t *schema.Compiled, attribute string, value any) bool {
	switch value.(type) {
	case []any, map[string]any:
		a, ok := t.Attribute(attribute)
		return ok && a.DataType.Sensitive()
	}
	return false
}

// identities refuses resources that are described twice.
func (v *validator) identities() {
	for i := range v.m.Resources {
		r := &v.m.Resources[i]
		if r.ID == "" {
			continue // the problem is reported where the id could not be built
		}
		first, dup := v.byID[r.ID]
		if !dup {
			v.byID[r.ID] = i
			continue
		}
		p := diag.Problem{
			Pos:      v.m.At(i, ""),
			Resource: string(r.ID),
			Related:  diag.At(v.m.At(first, "")),
		}
		where := ""
		if at := v.m.At(first, "").String(); at != "" {
			where = ", first at " + at
		}
		if a, b := v.m.Resources[first].Set, r.Set; a != b {
			p.Message = fmt.Sprintf(
				"the resource is in two sets, %s and %s%s",
				SetText(a),
				SetText(b),
				where,
			)
			p.Hint = "a resource belongs to one set; keep one of the two"
		} else {
			p.Message = "the resource is described twice" + where
			p.Hint = "remove one of the two; a resource is described once in an export"
		}
		v.problems.Add(p)
		v.refuse(i)
	}
}

func SetText(s string) string {
	if s == "" {
		return "the shared set"
	}
	return fmt.Sprintf("%q", s)
}

// CheckThere checks that every requirement is among resources, and every resource to whose secret
// outputs another one refers.
func (c *Checker) CheckThere(
	resources []resource.Resource,
	at func(i int, attribute string) diag.Pos,
) diag.Problems {
	var problems diag.Problems
	byID := make(map[resource.ID]int, len(resources))
	for i := range resources {
		byID[resources[i].ID] = i
	}
	for i := range resources {
		r := &resources[i]
		for _, id := range r.Requires {
			if _, there := byID[id]; there {
				continue
			}
			p := diag.Problem{
				Pos:      at(i, "requires"),
				Resource: string(r.ID),
				Message:  fmt.Sprintf("requires %s, which does not exist", id),
			}
			if similar := nearestID(id, resources); similar != "" {
				p.Hint = fmt.Sprintf("did you mean %s?", similar)
			} else {
				p.Hint = "describe it, also if the thing is there already, or remove the requirement"
			}
			problems.Add(p)
		}
		for _, p := range absentOutputs(c, r, resources, byID) {
			p.Pos = at(i, p.Attribute)
			problems.Add(p)
		}
	}
	return problems
}

// CheckCycles refuses cycles. A resource that is described twice, which is reported elsewhere,
// counts once, with the requirements of all its descriptions.
func (c *Checker) CheckCycles(
	resources []resource.Resource,
	at func(i int, attribute string) diag.Pos,
) diag.Problems {
	var problems diag.Problems
	byID := make(map[resource.ID]int32, len(resources))
	requires := make([][]resource.ID, len(resources))
	for i := range resources {
		if first, twice := byID[resources[i].ID]; twice {
			requires[first] = append(slices.Clip(requires[first]), resources[i].Requires...)
			continue
		}
		byID[resources[i].ID] = int32(i) // far fewer than 2^31
		requires[i] = resources[i].Requires
	}
	g := dag.New(len(resources), func(i int) []int32 {
		var out []int32
		for _, id := range requires[i] {
			if j, ok := byID[id]; ok {
				out = append(out, j)
			}
		}
		return out
	})
	for _, cycle := range g.Cycles() {
		names := make([]string, 0, len(cycle)+1)
		p := diag.Problem{
			Pos:      at(int(cycle[0]), "requires"),
			Resource: string(resources[cycle[0]].ID),
		}
		for _, n := range cycle {
			names = append(names, string(resources[n].ID))
			p.Related = append(p.Related, diag.At(at(int(n), "requires"))...)
		}
		names = append(names, names[0])
		p.Message = "dependency cycle: " + strings.Join(names, " requires ")
		nature := byNature(c, resources, cycle)
		p.Hint = "remove one of these requirements" + nature
		for _, kind := range []string{"fact", "secret output"} {
			if strings.Contains(nature, " refers to "+kind+" ") {
				p.Hint = "remove one of these requirements or references to " + kind + "s" + nature
			}
		}
		problems.Add(p)
	}
	return problems
}

// nearestID returns an id that differs from id only in letter case or in its agent, or "".
func nearestID(id resource.ID, among []resource.Resource) resource.ID {
	want, err := resource.ParseID(string(id))
	if err != nil {
		return ""
	}
	for i := range among {
		have := among[i].ID
		if strings.EqualFold(string(have), string(id)) {
			return have
		}
		if among[i].Type == want.Type && among[i].Agent != want.Agent {
			other := want
			other.Agent = among[i].Agent
			if other.ID() == have {
				return have
			}
		}
	}
	return ""
}
