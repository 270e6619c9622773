package schema

import (
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/resource"
)

// RuleKind states how many of the attributes of a rule a resource gives.
type RuleKind string

// The kinds.
const (
	ExactlyOneOf RuleKind = "exactly_one_of"
	AtLeastOneOf RuleKind = "at_least_one_of"
	AtMostOneOf  RuleKind = "at_most_one_of"
	AllOrNoneOf  RuleKind = "all_or_none_of"
	AllOf        RuleKind = "all_of"
	NoneOf       RuleKind = "none_of"
)

// RuleKinds returns all kinds.
func RuleKinds() []RuleKind {
	return []RuleKind{ExactlyOneOf, AtLeastOneOf, AtMostOneOf, AllOrNoneOf, AllOf, NoneOf}
}

// Rule is a condition on several attributes that a declaration states as data. Conditions that it
// cannot express belong in Validate. An attribute is given if it has a value, including a default;
// a reference is a value.
type Rule struct {
	Kind       RuleKind
	Attributes []string
	// If names an attribute that must be given for the rule to apply; "" means always.
	If string
	// Is, when not empty, lists the values of If for which the rule applies.
	Is []any
	// Message describes the problem to the author of a document. If it is "", a message is
	// generated from the rule.
	Message string
}

// check returns the problem of the attributes, or nil if there is none.
func (r *Rule) check(attributes map[string]any) *diag.Problem {
	if r.If != "" {
		v := attributes[r.If]
		if v == nil || len(r.Is) > 0 &&
			!slices.ContainsFunc(r.Is, func(w any) bool { return sameValue(v, w) }) {
			return nil
		}
	}
	var given, missing []string
	for _, name := range r.Attributes {
		if attributes[name] != nil {
			given = append(given, name)
		} else {
			missing = append(missing, name)
		}
	}
	wrong, blame := false, ""
	switch r.Kind {
	case ExactlyOneOf:
		wrong = len(given) != 1
	case AtLeastOneOf:
		wrong = len(given) == 0
	case AtMostOneOf:
		wrong = len(given) > 1
	case AllOrNoneOf:
		wrong = len(given) > 0 && len(missing) > 0
	case AllOf:
		wrong = len(missing) > 0
	case NoneOf:
		wrong = len(given) > 0
	}
	if !wrong {
		return nil
	}
	if len(given) > 0 {
		blame = given[len(given)-1]
	}
	p := &diag.Problem{Attribute: blame, Message: r.Message}
	if p.Message == "" {
		p.Message = r.demand() + ", got " + orNone(given)
	}
	return p
}

func sameValue(v, w any) bool { return v != nil && w != nil && resource.Equal(v, w) }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none of them"
	}
	return strings.Join(names, ", ")
}

// demand returns the message for a broken rule, as in "expected exactly one of user, key".
func (r *Rule) demand() string {
	list := strings.Join(r.Attributes, ", ")
	text := "expected " + strings.ReplaceAll(string(r.Kind), "_", " ") + " " + list
	if r.Kind == AllOrNoneOf {
		text = "expected all or none of " + list
	}
	if r.If == "" {
		return text
	}
	text += " where " + r.If
	if len(r.Is) == 0 {
		return text + " is given"
	}
	values := make([]string, len(r.Is))
	for i, v := range r.Is {
		values[i] = describeValue(v, true)
	}
	return text + " is " + strings.Join(values, " or ")
}

// Describe describes the rule for people.
func (r *Rule) Describe() string {
	text, _ := strings.CutPrefix(r.demand(), "expected ")
	return text
}

// rules checks the rules of a type.
func (c *compiler) rules(t *Compiled) {
	t.Rules = slices.Clone(t.Rules)
	defer func() { c.part = "" }()
	for i := range t.Rules {
		r := &t.Rules[i]
		at := sprintf("rule %d: ", []any{i + 1})
		c.part = Part(RulePart, i)
		kinds := make([]string, 0, len(RuleKinds()))
		for _, k := range RuleKinds() {
			kinds = append(kinds, string(k))
		}
		if !slices.Contains(kinds, string(r.Kind)) {
			c.bad("", orList(nearestHint(string(r.Kind), kinds), "there are ", kinds),
				"%sunknown kind %q", at, r.Kind)
		}
		several := r.Kind != AllOf && r.Kind != NoneOf
		switch {
		case len(r.Attributes) == 0, several && len(r.Attributes) < 2:
			c.bad("", "", "%sit needs %s", at,
				map[bool]string{true: "two or more attributes", false: "attributes"}[several])
		case !several && r.If == "":
			c.bad("", "add `if`, or change the declaration of the attributes",
				"%swithout a condition it always holds", at)
		}
		for j, name := range r.Attributes {
			c.ruleAttribute(t, at, name)
			if slices.Contains(r.Attributes[:j], name) {
				c.bad(name, "", "%sthe attribute is named twice", at)
			}
		}
		c.condition(t, r, at)
	}
}

func (c *compiler) ruleAttribute(t *Compiled, at, name string) {
	a, ok := t.Attribute(name)
	switch {
	case !ok:
		c.bad(name, orList(nearestHint(name, t.names()), "the type has ", t.names()),
			"%sthe type has no such attribute", at)
	case a.Behaviour == ReadOnly:
		c.bad(name, "", "%sa read_only attribute is never given", at)
	}
}

// condition checks If and Is, and converts their values.
func (c *compiler) condition(t *Compiled, r *Rule, at string) {
	if r.If == "" {
		if len(r.Is) > 0 {
			c.bad("", "add `if` with the attribute that has these values",
				"%sthere are values without an attribute", at)
		}
		return
	}
	c.ruleAttribute(t, at, r.If)
	a, ok := t.Attribute(r.If)
	if !ok {
		return
	}
	is := make([]any, 0, len(r.Is))
	for _, given := range r.Is {
		v, err := resource.FromGo(given)
		switch {
		case a.Sensitive:
			c.bad(r.If, "", "%sthe attribute is sensitive, so its value decides nothing", at)
		case err != nil:
			c.bad(r.If, "", "%sno value: %v", at, err)
		case !a.DataType.accepts(v, authored):
			text, hint := a.DataType.explain(v, authored).render(true)
			c.bad(r.If, hint, "%sthe attribute never has this value: %s", at, text)
		}
		is = append(is, v)
	}
	r.Is = is
}
