package model

import (
	"slices"
	"strings"
	"time"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Attributes of resources that come with their handlers. No other attribute has a name like these.
const (
	CodeAttribute = "_code" // the code: a resource.File
	// Python packages that the code runs with in a function: a resource.File
	PackagesAttribute = "_packages"
	FilesAttribute    = "_files" // files that handlers ask for by other names: a map
	// facts that references stand for: a list of resource, name and value
	FactsAttribute = "_facts"
	// of observations: the differences that a handler has found, with both values
	SeenAttribute = "_changes"
)

// CodeAttributes returns the names of attributes that carry a handler and its input.
func CodeAttributes() []string {
	return []string{CodeAttribute, FilesAttribute, FactsAttribute, PackagesAttribute}
}

// CodeTimeout bounds a call of a handler that comes with its resource. The runner of such handlers
// ends the call earlier.
const CodeTimeout = 10*time.Minute + 10*time.Second

// CodeOf returns the code that a resource comes with.
func CodeOf(r *resource.Resource) (resource.File, bool) {
	f, ok := r.Attributes[CodeAttribute].(resource.File)
	return f, ok
}

// PackagesOf returns the packages that the code of a resource runs with in a function; the zero
// value if it has none.
func PackagesOf(r *resource.Resource) resource.File {
	f, _ := r.Attributes[PackagesAttribute].(resource.File)
	return f
}

// OpenType returns the type of resources that come with their handlers, from their name attribute
// and their other attributes.
func OpenType(typ, key string, attributes []string) *schema.Compiled {
	own := func(name string) bool { return strings.HasPrefix(name, "_") }
	return schema.Open(typ, key, slices.DeleteFunc(slices.Clone(attributes), own),
		append(CodeAttributes(), SeenAttribute), CodeTimeout)
}

// Type returns the type of a resource. A resource that comes with its handler declares itself, and one
// of a declared type names its declaration.
func (c *Checker) Type(r *resource.Resource) (*schema.Compiled, bool) {
	if _, is := CodeOf(r); !is {
		f, is := DeclaredBy(r)
		if !is {
			return c.types.Type(r.Type)
		}
		d, err := c.declaration(f)
		if err != nil {
			return nil, false
		}
		return d.Stored(r.Type)
	}
	parts, err := resource.ParseID(string(r.ID))
	if err != nil || len(parts.Keys) != 1 {
		return nil, false
	}
	names := make([]string, 0, len(r.Attributes))
	for name := range r.Attributes {
		names = append(names, name)
	}
	return OpenType(r.Type, parts.Keys[0].Name, names), true
}
