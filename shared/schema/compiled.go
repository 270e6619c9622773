package schema

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Compiled is a type with parsed expressions and converted defaults. An attribute of it is
// sensitive if it was declared so, or if its data type is or contains Sensitive.
type Compiled struct {
	Type
	compiled []CompiledAttribute
	index    map[string]int
	namevars []string
	defaults int // number of attributes with a default
	titles   []titlePattern
	related  []relation
	// declaration declares the type; nil: the program does
	declaration *Declaration
}

// CompiledAttribute is an attribute with its parsed data type.
type CompiledAttribute struct {
	Attribute
	DataType *DataType
}

// Attribute returns an attribute by its name. The caller must not change it.
func (c *Compiled) Attribute(name string) (*CompiledAttribute, bool) {
	i, ok := c.index[name]
	if !ok {
		return nil, false
	}
	return &c.compiled[i], true
}

// Namevars returns the naming attributes in declared order. The caller must not change the slice.
func (c *Compiled) Namevars() []string { return c.namevars }

// Hint returns a hint for an invalid value of an attribute: the description of the attribute, or
// the place where the type is described.
func (c *Compiled) Hint(attribute string) string {
	where := fmt.Sprintf("`southbound type %s` describes it", c.Name)
	if a, ok := c.Attribute(attribute); ok && a.Description != "" {
		return fmt.Sprintf("%s is %s; %s", attribute, a.Description, where)
	}
	return where
}

// Nearest returns the attribute whose spelling is most similar to name, or "" if none is similar.
func (c *Compiled) Nearest(name string) string { return Nearest(name, c.names()) }

func (c *Compiled) names() []string {
	names := make([]string, 0, len(c.compiled))
	for i := range c.compiled {
		if name := c.compiled[i].Name; resource.ValidName(name) { // NewRegistry rejects other names
			names = append(names, name)
		}
	}
	return names
}

// Check checks the attributes of a resource of this type. It returns them with defaults, and
// without those that are null where a value may be missing. It does not change attributes, and the
// result shares its values. Problems are in the order in which the type declares the attributes,
// then those of unknown attributes, sorted. Each problem names its attribute; the caller has to add
// the position. Problems show no value of a sensitive attribute. The rules, and then the type's own
// Validate, are checked only if there are no other problems.
func (c *Compiled) Check(attributes map[string]any) (map[string]any, []diag.Problem) {
	return c.checkAll(attributes, false)
}

// CheckPurged is Check for a resource that must not exist: only its naming attributes are required.
// Other given attributes are still checked individually. The rules do not apply, since they concern
// objects that are to exist.
func (c *Compiled) CheckPurged(attributes map[string]any) (map[string]any, []diag.Problem) {
	return c.checkAll(attributes, true)
}

func (c *Compiled) checkAll(
	attributes map[string]any, purged bool,
) (map[string]any, []diag.Problem) {
	var problems []diag.Problem
	whole := true
	out := make(map[string]any, min(len(attributes)+c.defaults, len(c.compiled)))
	known := 0
	for i := range c.compiled {
		a := &c.compiled[i]
		v, given := attributes[a.Name]
		if given {
			known++
		}
		switch w, p := a.check(v, given); {
		case p != nil && purged && !given && a.Behaviour != Namevar:
			whole = false
		case p != nil:
			problems = append(problems, *p)
		case w != nil, given && a.keepsNull():
			out[a.Name] = w
		}
	}
	if known < len(attributes) {
		problems = append(problems, unknownAttributes(c, attributes)...)
	}
	switch {
	case len(problems) > 0:
	case purged:
		problems = validatePurged(c, out, whole)
	default:
		problems = checkTogether(c, out)
	}
	if len(problems) > 0 {
		for name, v := range attributes { // invalid attributes stay in the result
			if _, ok := out[name]; !ok {
				out[name] = v
			}
		}
	}
	return out, problems
}

// CheckObserved checks the attributes that a handler has read, and returns the deviations from the
// declaration of the type, sorted by attribute. A null value is not known, and valid. The problems
// show no value of an attribute that is sensitive, or for which hide returns true.
func (c *Compiled) CheckObserved(
	attributes map[string]any, hide func(attribute string) bool,
) []diag.Problem {
	var problems []diag.Problem
	for name, v := range attributes {
		i, declared := c.index[name]
		switch {
		case !declared:
			problems = append(problems,
				diag.Problem{Attribute: name,
					Message: fmt.Sprintf("%s does not declare the attribute %q", c.Name,
						shorten(name, 40)),
					Hint: orList(nearestHint(name, c.names()), "it has ", c.names())})
		case v != nil && !c.compiled[i].DataType.accepts(v, observed):
			a := &c.compiled[i]
			text, hint := a.DataType.explain(v, observed).render(!a.Sensitive &&
				!a.DataType.secret && !hide(name))
			problems = append(problems, *a.problem(hint, "%s", text))
		}
	}
	slices.SortFunc(problems,
		func(a, b diag.Problem) int { return strings.Compare(a.Attribute, b.Attribute) })
	return problems
}

// checkTogether performs the checks that concern several attributes.
func checkTogether(c *Compiled, attributes map[string]any) []diag.Problem {
	var problems []diag.Problem
	for i := range c.Rules {
		if p := c.Rules[i].check(attributes); p != nil {
			problems = append(problems, *p)
		}
	}
	if len(problems) == 0 && c.Validate != nil {
		problems = c.Validate(attributes)
	}
	return problems
}

// validatePurged calls the type's own Validate for a resource that must not exist. It ignores
// problems of missing attributes, since such a resource does not need them. If required attributes
// are missing, it also recovers from a panic of Validate, which need not handle this case.
func validatePurged(c *Compiled, attributes map[string]any, whole bool) (problems []diag.Problem) {
	if c.Validate == nil {
		return nil
	}
	if whole {
		return slices.DeleteFunc(c.Validate(attributes),
			func(p diag.Problem) bool {
				return p.Attribute != "" &&
					attributes[p.Attribute] == nil
			})
	}
	defer func() {
		if recover() != nil {
			problems = nil
		}
	}()
	return slices.DeleteFunc(c.Validate(attributes),
		func(p diag.Problem) bool { return attributes[p.Attribute] == nil })
}

// keepsNull reports whether an explicit null is a value of the attribute, rather than a missing
// value.
func (a *CompiledAttribute) keepsNull() bool {
	return a.Default == nil && !a.DataType.Optional() && a.DataType.undef
}

// check returns the value of an attribute, which is nil if it has none, or the problem.
func (a *CompiledAttribute) check(v any, given bool) (any, *diag.Problem) {
	if v == nil && a.Default != nil {
		return a.Default, nil
	}
	switch {
	case a.Behaviour == ReadOnly:
		if given {
			return nil,
				a.problem("leave it out", "the attribute is only reported, it cannot be set")
		}
		return nil, nil
	case a.Behaviour == Namevar:
		return v, a.checkName(v, given)
	case v == nil && a.DataType.Optional(), given && v == nil && a.DataType.undef:
		return nil, nil
	case !given:
		return nil, a.missing()
	case !a.DataType.accepts(v, authored):
		return nil, a.mismatch(v)
	}
	return v, nil
}

func (a *CompiledAttribute) problem(hint, format string, args ...any) *diag.Problem {
	return &diag.Problem{Attribute: a.Name, Message: sprintf(format, args), Hint: hint}
}

func (a *CompiledAttribute) missing() *diag.Problem {
	return a.problem("add "+a.Name, "the attribute is missing: expected %s", a.DataType.Describe())
}

func (a *CompiledAttribute) mismatch(v any) *diag.Problem {
	text, hint := a.DataType.explain(v, authored).render(!a.Sensitive)
	return a.problem(hint, "%s", text)
}

// checkName checks a naming attribute: it must have a value that can be part of an id.
func (a *CompiledAttribute) checkName(v any, given bool) *diag.Problem {
	if !given || v == nil {
		return a.problem("add "+a.Name,
			"the attribute is missing and names the resource: expected %s", a.DataType.Describe())
	}
	switch v.(type) {
	case resource.Secret, resource.Parameter, resource.Fact, resource.File, resource.Text:
		if resource.HasSecret(v) {
			return a.problem("write the value itself", "the attribute names the resource, and names "+
				"are stored and shown: expected %s, got a secret", a.DataType.Describe())
		}
		return a.problem("write the value itself",
			"the attribute names the resource: expected %s, got a reference", a.DataType.Describe())
	}
	if !a.DataType.accepts(v, authored) {
		return a.mismatch(v)
	}
	if _, ok := resource.KeyText(v); !ok {
		return a.problem("",
			"the attribute names the resource: expected text that is not empty, or a number, got %s", describeValue(v, true))
	}
	return nil
}

// unknownAttributes reports the attributes that the type does not have.
func unknownAttributes(c *Compiled, attributes map[string]any) []diag.Problem {
	var names []string
	for name := range attributes {
		if _, ok := c.index[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := make([]diag.Problem, len(names))
	for i, name := range names {
		out[i] = diag.Problem{
			Attribute: name, Message: fmt.Sprintf("%s has no attribute %q", c.Name,
				shorten(name, 40)),
			Hint: orList(nearestHint(name, c.names()), "it has ", c.names()),
		}
		switch {
		case name == CreateBeforeDestroy && c.CreateFirst:
			out[i].Hint = "leave it out: " + c.Name + " always creates the new one first"
		case name == CreateBeforeDestroy:
			out[i].Hint = "leave it out: the old and the new one of " + c.Name +
				" cannot exist at the same time"
		}
	}
	return out
}

func hintOf(err error) string { return strings.TrimSpace(fault.HintOf(err)) }
