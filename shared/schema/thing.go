package schema

import (
	"fmt"
	"path"
	"strings"
)

// Thing identifies the object that a resource manages, within the space of its type and the target
// of its agent.
type Thing struct {
	// Names are the names of the object: two resources with a common name manage the same object.
	// If there are none, the object is not known. This is the case if a reference has no value yet,
	// or if a needed attribute was invalid and left out.
	Names []string
	// Shared is true if any number of resources may manage the object, because none of them can
	// undo the work of another. This is the case if there is no real object, or if the handler only
	// reads.
	Shared bool
}

// NewThing returns the thing with these names, without the empty ones.
func NewThing(names ...string) Thing {
	var out Thing
	for _, name := range names {
		if name != "" {
			out.Names = append(out.Names, name)
		}
	}
	return out
}

// Kept is a path that a resource keeps, with everything below it.
type Kept struct {
	Path string
	// Tree is true if the resource is also responsible for the content of a directory at the path.
	Tree bool
	// Numbered is true if the resource also keeps the path with a dot and a number appended.
	Numbered bool
}

// ByIdentity declares that the naming attributes of a type are the complete name of its object.
func ByIdentity(names ...string) func(map[string]any) Thing {
	return func(attributes map[string]any) Thing {
		words := make([]string, 0, len(names))
		for _, name := range names {
			v := attributes[name]
			switch v.(type) {
			case string, bool, int64, float64:
			default:
				return Thing{}
			}
			words = append(words, fmt.Sprint(name, " ", v))
		}
		return NewThing(strings.Join(words, ", "))
	}
}

// SharedByIdentity is ByIdentity for objects that any number of resources may manage.
func SharedByIdentity(names ...string) func(map[string]any) Thing {
	by := ByIdentity(names...)
	return func(attributes map[string]any) Thing {
		out := by(attributes)
		out.Shared = true
		return out
	}
}

// CleanPath returns a path on a machine in its shortest form. It returns "" if v is not a known
// absolute path.
func CleanPath(v any) string {
	s, _ := v.(string)
	if !strings.HasPrefix(s, "/") {
		return ""
	}
	return path.Clean(s)
}

// KeepsPaths returns a function for Type.Keeps that returns the paths in some attributes.
func KeepsPaths(attributes ...string) func(map[string]any) []Kept {
	return func(of map[string]any) []Kept {
		var out []Kept
		for _, name := range attributes {
			if p := CleanPath(of[name]); p != "" {
				out = append(out, Kept{Path: p})
			}
		}
		return out
	}
}

// KeepsTrees returns a function for Type.Keeps that returns the paths in some attributes, with
// everything below them.
func KeepsTrees(attributes ...string) func(map[string]any) []Kept {
	paths := KeepsPaths(attributes...)
	return func(of map[string]any) []Kept {
		out := paths(of)
		for i := range out {
			out[i].Tree = true
		}
		return out
	}
}

// ThingOf returns the thing of a resource with these attributes.
func (c *Compiled) ThingOf(attributes map[string]any) Thing {
	if c.Thing != nil {
		return c.Thing(attributes)
	}
	return ByIdentity(c.namevars...)(attributes)
}
