package value

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/fault"
	"southbound/shared/tf/wire"
)

// The limits of a schema, far above those of real providers.
const (
	maxDepth  = 48
	maxFields = 50000 // of one type, with all nested ones
)

// Type is a compiled schema. It is immutable.
type Type struct {
	Version int64 // of the stored state
	root    *object
}

// object is a compiled block, or the object of nested attributes.
type object struct {
	ty     cty.Type
	names  []string // sorted
	fields map[string]*field
}

// field is an attribute or a nested block of an object.
type field struct {
	name      string
	ty        cty.Type     // of the whole field
	of        *object      // nil for an attribute with a plain type
	nesting   wire.Nesting // 0 if of is nil
	block     bool
	required  bool
	optional  bool
	computed  bool
	sensitive bool
	writeOnly bool
	min, max  int // number of nested blocks; max 0: no limit
}

// one reports whether a block or nested attributes are one object, and no collection of objects.
func (f *field) one() bool {
	return f.nesting == wire.NestingSingle || f.nesting == wire.NestingGroup
}

// Compile compiles a schema. It returns Unsupported if a resource of the schema cannot be
// represented, with the path of the attribute or block.
func Compile(s *wire.Schema) (*Type, error) {
	c := &compiler{}
	root, err := c.block(&s.Block, "", 0)
	if err != nil {
		return nil, err
	}
	return &Type{Version: s.Version, root: root}, nil
}

// Cty returns the type of values under the schema.
func (t *Type) Cty() cty.Type { return t.root.ty }

// Null returns the value of an object that does not exist.
func (t *Type) Null() cty.Value { return cty.NullVal(t.root.ty) }

type compiler struct{ fields int }

func (c *compiler) bad(path, format string, args ...any) error {
	return fault.New(fault.Unsupported, "read schema: "+path, format, args...).
		WithHint("use another version of the provider")
}

func (c *compiler) block(b *wire.Block, path string, depth int) (*object, error) {
	o, err := c.attributes(b.Attributes, path, depth)
	if err != nil {
		return nil, err
	}
	for i := range b.Blocks {
		n := &b.Blocks[i]
		at := path + "/" + n.Name
		of, err := c.block(&n.Block, at, depth+1)
		if err != nil {
			return nil, err
		}
		f := &field{name: n.Name, of: of, nesting: n.Nesting, block: true, min: clamp(n.MinItems),
			max: clamp(n.MaxItems)}
		if n.Nesting == wire.NestingGroup {
			f.ty = of.ty
		} else if f.ty, err = c.nest(of, n.Nesting, at); err != nil {
			return nil, err
		}
		if err := c.add(o, f, at); err != nil {
			return nil, err
		}
	}
	return o.finish(), nil
}

func clamp(n int64) int { return int(max(0, min(n, 1<<31-1))) }

func (c *compiler) attributes(list []wire.Attribute, path string, depth int) (*object, error) {
	if depth > maxDepth {
		return nil, c.bad(path, "it has more than %d levels", maxDepth)
	}
	o := &object{fields: make(map[string]*field, len(list))}
	for i := range list {
		a := &list[i]
		at := path + "/" + a.Name
		f := &field{name: a.Name, required: a.Required, optional: a.Optional, computed: a.Computed,
			sensitive: a.Sensitive, writeOnly: a.WriteOnly}
		var err error
		switch {
		case a.Nested != nil:
			f.nesting = a.Nested.Nesting
			if f.of, err = c.attributes(a.Nested.Attributes, at, depth+1); err == nil {
				f.ty, err = c.nest(f.of.finish(), f.nesting, at)
			}
		default:
			if f.ty, err = ParseType(a.Type); err != nil {
				err = fault.Wrap(fault.Unsupported, "read schema: "+at, err)
			}
		}
		if err == nil {
			err = c.add(o, f, at)
		}
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

// nest returns the type of a collection of objects.
func (c *compiler) nest(of *object, nesting wire.Nesting, path string) (cty.Type, error) {
	if nesting != wire.NestingSingle && of.ty.HasDynamicTypes() {
		return cty.NilType, c.bad(path, "it is a collection of objects with values of any type")
	}
	switch nesting {
	case wire.NestingSingle:
		return of.ty, nil
	case wire.NestingList:
		return cty.List(of.ty), nil
	case wire.NestingSet:
		return cty.Set(of.ty), nil
	case wire.NestingMap:
		return cty.Map(of.ty), nil
	}
	return cty.NilType, c.bad(path, "the nesting %d is not known", nesting)
}

func (c *compiler) add(o *object, f *field, path string) error {
	if c.fields++; c.fields > maxFields {
		return c.bad(path, "the type has more than %d attributes", maxFields)
	}
	if f.name == "" || len(f.name) > 255 || !utf8.ValidString(f.name) ||
		cty.NormalizeString(f.name) != f.name {
		return c.bad(path, "the name is not valid")
	}
	if o.fields[f.name] != nil {
		return c.bad(path, "the name occurs twice")
	}
	o.fields[f.name] = f
	return nil
}

func (o *object) finish() *object {
	types := make(map[string]cty.Type, len(o.fields))
	for name, f := range o.fields {
		types[name] = f.ty
	}
	o.ty = cty.Object(types)
	o.names = slices.Sorted(maps.Keys(o.fields))
	return o
}
