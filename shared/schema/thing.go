package schema

import (
	"fmt"
	"path"
	"strings"
)

// Thing is what a resource manages, in the space of its type and of its agent's target.
type Thing struct {
	// Names are the names of the thing: two resources with a name in common manage the same thing.
	// None: the thing is not known, as when a reference has no value yet, or an attribute that is
	// needed was wrong and left out.
	Names []string
	// Shared says that any number of resources may have the thing, because none of them can undo
	// the work of another: nothing is behind it, or the handler only reads.
	Shared bool
}

// NewThing returns the thing of some names, without those that are empty.
func NewThing(names ...string) Thing {
	var out Thing
	for _, name := range names {
		if name != "" {
			out.Names = append(out.Names, name)
		}
	}
	return out
}

// Kept is a path that a resource keeps, with all that is below it.
type Kept struct {
	Path string
	// Tree says that the resource also answers for what a directory at the path has in it.
	Tree bool
	// Numbered says that the path is also kept with a dot and a number behind it.
	Numbered bool
}

// ByIdentity states that the naming attributes of a type are the whole name of its thing.
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

// SharedByIdentity is ByIdentity for things that any number of resources may have.
func SharedByIdentity(names ...string) func(map[string]any) Thing {
	by := ByIdentity(names...)
	return func(attributes map[string]any) Thing {
		out := by(attributes)
		out.Shared = true
		return out
	}
}

// CleanPath returns a path of a machine in its shortest form; "" if it is not a known absolute
// path.
func CleanPath(v any) string {
	s, _ := v.(string)
	if !strings.HasPrefix(s, "/") {
		return ""
	}
	return path.Clean(s)
}

// KeepsPaths returns the paths in some attributes.
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

// KeepsTrees returns the paths in some attributes, with what is below them.
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

// ThingOf returns the thing of a resource with some attributes.
func (c *Compiled) ThingOf(attributes map[string]any) Thing {
	if c.Thing != nil {
		return c.Thing(attributes)
	}
	return ByIdentity(c.namevars...)(attributes)
}
