package model

import (
	"cmp"
	"fmt"

	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Thing is one name of a thing that a resource manages; see docs/design/things.md.
type Thing struct{ Space, Target, Name string }

// Targets returns the target of an agent by its name.
type Targets func(agent string) string

// TargetsOf returns the targets of agents. With closed, an agent that is not among them is this
// machine. Without it, the agent may belong to a previous version, so it shares its things with no
// other agent.
func TargetsOf(agents []resource.Agent, closed bool) Targets {
	of := make(map[string]string, len(agents))
	for i := range agents {
		of[agents[i].Name] = agents[i].Target()
	}
	return func(agent string) string {
		target, described := of[agent]
		switch {
		case described:
			return target
		case closed:
			return LocalAgent(agent).Target()
		}
		return ownTarget(agent)
	}
}

// ownTarget returns the target of an agent about which it is unknown what it shares.
func ownTarget(agent string) string { return "the agent " + agent }

// ThingsOf returns the names of the thing that a resource manages, none if they are unknown, and
// whether any number of resources may manage the thing.
func (c *Checker) ThingsOf(r *resource.Resource, targets Targets) (things []Thing, shared bool) {
	t, ok := c.Type(r)
	if !ok {
		return nil, false
	}
	of := t.ThingOf(r.Attributes)
	things = make([]Thing, len(of.Names))
	for i, name := range of.Names {
		things[i] = Thing{cmp.Or(t.Space, r.Type), targetOf(r, targets), name}
	}
	return things, of.Shared
}

// targetOf returns the target of a resource. A handler that comes with its resource reaches things
// in its own way, so an agent is only a name to it.
func targetOf(r *resource.Resource, targets Targets) string {
	if _, is := CodeOf(r); is {
		return ownTarget(r.Agent)
	}
	return targets(r.Agent)
}

// keepsOf returns the paths that a resource keeps.
func keepsOf(c *Checker, r *resource.Resource) []schema.Kept {
	t, ok := c.Type(r)
	if !ok || t.Keeps == nil {
		return nil
	}
	return t.Keeps(r.Attributes)
}

// CheckThings refuses resources with different ids that manage the same thing, such as a file and a
// directory of one path: each would undo the changes of the other. This holds even if one of them
// is purged, since its handler finds the thing of the other, or removes it, at every check. At
// least one of two is among the first mine resources; the others come from a version.
func (c *Checker) CheckThings(
	resources []resource.Resource,
	mine int,
	targets Targets,
	at func(i int, attribute string) diag.Pos,
) diag.Problems {
	var problems diag.Problems
	first := map[Thing]int{}
	for i := range resources {
		r := &resources[i]
		names, shared := c.ThingsOf(r, targets)
		if shared {
			continue
		}
		told := false
		for _, of := range names {
			before, dup := first[of]
			if !dup {
				first[of] = i
				continue
			}
			if told || before >= mine && i >= mine || resources[before].ID == r.ID {
				continue // one id twice is another problem
			}
			told = true
			if i < mine {
				problems.Add(sameThing(resources, i, before, of, at))
			} else {
				problems.Add(sameThing(resources, before, i, of, at))
			}
		}
	}
	return append(problems, c.checkParts(resources, mine, first, targets, at)...)
}

// checkParts refuses resources that change a part of a thing that another resource describes as a
// whole: each would undo the changes of the other, at every check. A purged resource is no part.
func (c *Checker) checkParts(
	resources []resource.Resource,
	mine int,
	things map[Thing]int,
	targets Targets,
	at func(i int, attribute string) diag.Pos,
) diag.Problems {
	var problems diag.Problems
	for i := range resources {
		of, ok := c.PartOf(&resources[i], targets)
		if !ok {
			continue
		}
		other, there := things[of]
		if !there || i >= mine && other >= mine {
			continue
		}
		if is, instead := c.DescribesAll(&resources[other]); is {
			p := inPart(resources, i, other, of.Name, at)
			p.Hint = instead
			problems.Add(p)
		}
	}
	return problems
}

// PartOf returns the thing that a resource changes a part of.
func (c *Checker) PartOf(r *resource.Resource, targets Targets) (Thing, bool) {
	t, ok := c.Type(r)
	if !ok || t.Within == nil || r.Purged {
		return Thing{}, false
	}
	name := t.Within(r.Attributes)
	return Thing{t.Space, targetOf(r, targets), name}, name != ""
}

// DescribesAll reports whether a resource describes its thing as a whole, and returns a hint for an
// alternative.
func (c *Checker) DescribesAll(r *resource.Resource) (is bool, instead string) {
	t, ok := c.Type(r)
	if !ok || t.Whole == nil || r.Purged {
		return false, ""
	}
	return t.Whole(r.Attributes)
}

// inPart returns the problem that resource i changes a part of a thing that another one describes
// as a whole.
func inPart(
	resources []resource.Resource,
	i, other int,
	name string,
	at func(i int, attribute string) diag.Pos,
) diag.Problem {
	p := diag.Problem{
		Pos:      at(i, ""),
		Resource: string(resources[i].ID),
		Related:  diag.At(at(other, "")),
		Message: fmt.Sprintf("it changes a part of an object that %s describes whole: %s",
			resources[other].ID, name),
	}
	if where := at(other, "").String(); where != "" {
		p.Message += ", at " + where
	}
	return p
}

// sameThing returns the problem that resource i manages the same thing as another.
func sameThing(
	resources []resource.Resource,
	i, other int,
	of Thing,
	at func(i int, attribute string) diag.Pos,
) diag.Problem {
	a, b := &resources[i], &resources[other]
	p := diag.Problem{
		Pos:      at(i, ""),
		Resource: string(a.ID),
		Related:  diag.At(at(other, "")),
		Message:  fmt.Sprintf("it manages the same object as %s: %s", b.ID, of.Name),
		Hint:     "describe an object once",
	}
	switch {
	case a.Type != b.Type:
		p.Hint = "describe the wanted resource and remove the other one; " +
			"if the released version has it with purge_on_delete, it is purged first"
	case a.Agent != b.Agent:
		p.Hint = fmt.Sprintf("describe it for one of the agents %q and %q: both reach %s", b.Agent,
			a.Agent, of.Target)
	}
	if where := at(other, "").String(); where != "" {
		p.Message += ", at " + where
	}
	return p
}
