package entity

import (
	"fmt"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/schema"
)

// found is the value at a path, and the place where it is set.
type found struct {
	value any
	at    diag.Pos
	ok    bool // false if a relation has no entity
}

// lookup follows a path of relations to an attribute. The result has a place even on an error.
func lookup(e Entity, path string) (found, error) {
	steps := strings.Split(path, ".")
	last := len(steps) - 1
	for _, step := range steps[:last] {
		at := e.At(step)
		to, err := e.Relation(step)
		switch {
		case err != nil:
			return found{at: at}, err
		case len(to) == 0:
			return found{at: at}, nil
		case len(to) > 1:
			return found{at: at}, fmt.Errorf("%s of %s leads to %d entities, and a path needs one",
				step, kindOf(e), len(to))
		}
		e = to[0]
	}
	v, err := e.Attribute(steps[last])
	return found{value: v, at: e.At(steps[last]), ok: err == nil}, err
}

func kindOf(e Entity) string {
	if kinds := e.Kinds(); len(kinds) > 0 {
		return kinds[0]
	}
	return "an entity"
}

// validPath reports whether a path is valid: names joined by dots.
func validPath(path string) bool {
	for _, step := range strings.Split(path, ".") {
		if step == "" || strings.ContainsAny(step, " \t\n") {
			return false
		}
	}
	return true
}

// near returns a hint with the most similar name, else with all names.
func near(name string, names []string, prefix string) string {
	if n := schema.Nearest(name, names); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return prefix + strings.Join(names, ", ")
}
