package inventory

import (
	"fmt"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/lifecycle"
)

// Migration is the content of an instance under another definition: its state and all its
// attributes. nil means that the instance does not have the set.
type Migration struct {
	State                       string
	Candidate, Active, Rollback map[string]any
}

// Migrate returns the change that gives an instance another definition, other attributes and
// another state, for an expert who has read a version. It checks the attributes against the
// definition. Modifiers do not apply, but the identity cannot change.
func Migrate(
	s *definition.Service, r Record, m Migration, version int64, now time.Time,
) (Change, error) {
	if err := moved(s, &r); err != nil {
		return Change{}, err
	}
	if m.Candidate == nil && m.Active == nil && m.Rollback == nil {
		return Change{}, fault.New(fault.Invalid, "", "the instance would have no attributes").
			WithHint("give candidate_attributes, active_attributes or both")
	}
	var problems diag.Problems
	set := func(name string, given map[string]any, digest *string) map[string]any {
		*digest = ""
		if given == nil {
			return nil
		}
		*digest = r.Definition
		out, err := checked(s, given, nil, Model, "")
		wrong, _ := diag.Of(err)
		if err == nil {
			wrong = identical(s, &r, out)
		}
		for i := range wrong {
			wrong[i].Message += " (in the " + name + " attributes)"
		}
		problems = append(problems, wrong...)
		return out
	}
	r.Candidate = set("candidate", m.Candidate, &r.Made.Candidate)
	r.Active = set("active", m.Active, &r.Made.Active)
	r.Rollback = set("rollback", m.Rollback, &r.Made.Rollback)
	if err := problems.Err(); err != nil {
		return Change{}, err
	}
	return Advance(s, r, lifecycle.Force{Target: m.State, Version: version}, now)
}

// identical rejects attributes with another identity than that of the instance. An instance without
// an identity gets the identity of the attributes.
func identical(s *definition.Service, r *Record, attributes map[string]any) diag.Problems {
	if s.Identity == nil {
		return nil
	}
	is := identity(attributes[*s.Identity])
	if r.Identity == "" {
		r.Identity = is
	}
	if r.Identity == is {
		return nil
	}
	return diag.Problems{{
		Attribute: *s.Identity, Code: CodeModifier,
		Message: fmt.Sprintf("the identity would change from %s to %s", r.Identity, is),
		Hint:    "leave it as it is: it never changes",
	}}
}
