package model

import (
	"slices"
	"strings"
	"time"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Attributes of resources whose handlers come with them. Names like these no other attribute has.
const (
	CodeAttribute  = "_code"  // the code: a resource.File
	FilesAttribute = "_files" // files that handlers ask for by other names: a map
	// facts that references stand for: a list of resource, name and value
	FactsAttribute = "_facts"
	// of observations: what a handler has found to differ, with both values
	SeenAttribute = "_changes"
)

// CodeAttributes returns the names of attributes that come with a handler, and of what it is given.
func CodeAttributes() []string { return []string{CodeAttribute, FilesAttribute, FactsAttribute} }

// CodeTimeout bounds a call of a handler that comes with its resource. Whoever runs it ends it
// before.
const CodeTimeout = 10*time.Minute + 10*time.Second

// CodeOf returns the code that a resource comes with.
func CodeOf(r *resource.Resource) (resource.File, bool) {
	f, ok := r.Attributes[CodeAttribute].(resource.File)
	return f, ok
}

// OpenType returns the type of resources that come with their handlers, from what names them and
// their attributes.
func OpenType(typ, key string, attributes []string) *schema.Compiled {
	own := func(name string) bool { return strings.HasPrefix(name, "_") }
	return schema.Open(typ, key, slices.DeleteFunc(slices.Clone(attributes), own),
		append(CodeAttributes(), SeenAttribute), CodeTimeout)
}

// Type returns the type of a resource: one that comes with its handler declares itself.
func (c *Checker) Type(r *resource.Resource) (*schema.Compiled, bool) {
	if _, is := CodeOf(r); !is {
		return c.types.Type(r.Type)
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
