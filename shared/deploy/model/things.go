package model

import (
	"cmp"
	"fmt"

	"southbound/shared/diag"
	"southbound/shared/resource"
)

// Thing is what a resource stands for.
type Thing struct{ Space, Agent, Name string }

// ThingOf returns what a resource stands for, as its type declares; false if that is not known.
func (c *Checker) ThingOf(r *resource.Resource) (Thing, bool) {
	t, ok := c.Type(r)
	if !ok || t.Thing == nil {
		return Thing{}, false
	}
	name := t.Thing(r.Attributes)
	return Thing{cmp.Or(t.Space, r.Type), r.Agent, name}, name != ""
}

// CheckThings refuses resources with different ids that stand for the same thing, such as a file
// and a directory of one path: each would undo what the other does. Whether one of them is purged
// makes no difference, as its handler meets the other one's thing, or removes it, at every check.
// At least one of two is among the first mine resources; the others come from a version.
func (c *Checker) CheckThings(
	resources []resource.Resource,
	mine int,
	at func(i int, attribute string) diag.Pos,
) diag.Problems {
	var problems diag.Problems
	first := map[Thing]int{}
	for i := range resources {
		r := &resources[i]
		of, ok := c.ThingOf(r)
		if !ok {
			continue
		}
		before, dup := first[of]
		if !dup {
			first[of] = i
			continue
		}
		if before >= mine || resources[before].ID == r.ID { // one id twice is another problem
			continue
		}
		if i < mine {
			problems.Add(sameThing(resources, i, before, of.Name, at))
		} else {
			problems.Add(sameThing(resources, before, i, of.Name, at))
		}
	}
	return append(problems, c.checkParts(resources, mine, first, at)...)
}

// checkParts refuses resources that change a part of what another describes as a whole: each would
// undo what the other does, at every check. What is to go is no part.
func (c *Checker) checkParts(
	resources []resource.Resource,
	mine int,
	things map[Thing]int,
	at func(i int, attribute string) diag.Pos,
) diag.Problems {
	var problems diag.Problems
	for i := range resources {
		of, ok := c.PartOf(&resources[i])
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

// PartOf returns the thing of which a resource changes a part.
func (c *Checker) PartOf(r *resource.Resource) (Thing, bool) {
	t, ok := c.Type(r)
	if !ok || t.Within == nil || r.Purged {
		return Thing{}, false
	}
	name := t.Within(r.Attributes)
	return Thing{t.Space, r.Agent, name}, name != ""
}

// DescribesAll reports whether a resource describes its thing as a whole, and what to do instead.
func (c *Checker) DescribesAll(r *resource.Resource) (is bool, instead string) {
	t, ok := c.Type(r)
	if !ok || t.Whole == nil || r.Purged {
		return false, ""
	}
	return t.Whole(r.Attributes)
}

// inPart says that resource i changes a part of what another describes as a whole.
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
		Message: fmt.Sprintf("it changes a part of what %s describes as a whole: %s",
			resources[other].ID, name),
	}
	if where := at(other, "").String(); where != "" {
		p.Message += ", at " + where
	}
	return p
}

// sameThing says that resource i stands for the same thing as another.
func sameThing(
	resources []resource.Resource,
	i, other int,
	name string,
	at func(i int, attribute string) diag.Pos,
) diag.Problem {
	a, b := &resources[i], &resources[other]
	p := diag.Problem{
		Pos:      at(i, ""),
		Resource: string(a.ID),
		Related:  diag.At(at(other, "")),
		Message:  fmt.Sprintf("it is the same thing as %s: %s", b.ID, name),
		Hint:     "describe a thing once",
	}
	if a.Type != b.Type {
		p.Hint = "describe what is to be there, and leave the other one out; " +
			"if it has purge_on_delete in the version in force, it makes room"
	}
	if where := at(other, "").String(); where != "" {
		p.Message += ", at " + where
	}
	return p
}
