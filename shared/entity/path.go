package entity

import (
	"fmt"
	"strings"

	"southbound/shared/schema"
)

// lookup follows a path of relations to an attribute. ok is false when a relation leads to nothing.
func lookup(e Entity, path string) (v any, ok bool, err error) {
	steps := strings.Split(path, ".")
	for i, step := range steps {
		to, isRelation := e.Relation(step)
		if i == len(steps)-1 {
			v, ok := e.Attribute(step)
			switch {
			case ok:
				return v, true, nil
			case isRelation:
				return nil, false, fmt.Errorf("%s of %s is a relation, and a resource refers to no entity; go on to one of its attributes", step, kindOf(e))
			}
			return nil, false, fmt.Errorf("%s has no attribute %q", kindOf(e), step)
		}
		switch {
		case !isRelation:
			return nil, false, fmt.Errorf("%s has no relation %q", kindOf(e), step)
		case len(to) == 0:
			return nil, false, nil
		case len(to) > 1:
			return nil, false, fmt.Errorf("%s of %s leads to %d entities, and a path needs one", step, kindOf(e), len(to))
		}
		e = to[0]
	}
	return nil, false, nil
}

func kindOf(e Entity) string {
	if kinds := e.Kinds(); len(kinds) > 0 {
		return kinds[0]
	}
	return "an entity"
}

// validPath reports whether a path can be followed: names joined by dots.
func validPath(path string) bool {
	for _, step := range strings.Split(path, ".") {
		if step == "" || strings.ContainsAny(step, " \t\n") {
			return false
		}
	}
	return true
}

// near is a hint with the nearest spelling.
func near(name string, names []string, prefix string) string {
	if n := schema.Nearest(name, names); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return prefix + strings.Join(names, ", ")
}
