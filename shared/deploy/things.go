package deploy

import (
	"cmp"
	"fmt"

	"southbound/shared/diag"
	"southbound/shared/resource"
)

// thing is what a resource stands for.
type thing struct{ space, agent, name string }

// thingOf returns what a resource stands for, as its type declares; false if that is not known.
func (e *Engine) thingOf(r *resource.Resource) (thing, bool) {
	t, ok := e.typeOf(r)
	if !ok || t.Thing == nil {
		return thing{}, false
	}
	name := t.Thing(r.Attributes)
	return thing{cmp.Or(t.Space, r.Type), r.Agent, name}, name != ""
}

// things refuses resources with different ids that stand for the same thing, such as a file and a directory of one path: each would undo
// what the other does. Whether one of them is purged makes no difference, as its handler meets the other one's thing, or removes it, at
// every check. At least one of two is among the first mine resources; the others come from a version.
func (e *Engine) things(resources []resource.Resource, mine int, at func(i int, attribute string) diag.Pos) diag.Problems {
	var problems diag.Problems
	first := map[thing]int{}
	for i := range resources {
		r := &resources[i]
		of, ok := e.thingOf(r)
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
			problems.Add(sameThing(resources, i, before, of.name, at))
		} else {
			problems.Add(sameThing(resources, before, i, of.name, at))
		}
	}
	return problems
}

// sameThing says that resource i stands for the same thing as another.
func sameThing(resources []resource.Resource, i, other int, name string, at func(i int, attribute string) diag.Pos) diag.Problem {
	a, b := &resources[i], &resources[other]
	p := diag.Problem{Pos: at(i, ""), Resource: string(a.ID), Related: diag.At(at(other, "")),
		Message: fmt.Sprintf("it is the same thing as %s: %s", b.ID, name), Hint: "describe a thing once"}
	if a.Type != b.Type {
		p.Hint = "describe what is to be there, and leave the other one out; " +
			"if it has purge_on_delete in the version in force, it makes room"
	}
	if where := at(other, "").String(); where != "" {
		p.Message += ", at " + where
	}
	return p
}
