package tf

import "southbound/shared/tf/wire"

// secretOptions returns the paths of the sensitive attributes of a block, for schema.Type.SecretOptions.
// at is the path of the block.
func secretOptions(b *wire.Block, at string) []string {
	out := secretAttributes(b.Attributes, at)
	for i := range b.Blocks {
		n := &b.Blocks[i]
		out = append(out, secretOptions(&n.Block, inNested(at, n.Name, n.Nesting))...)
	}
	return out
}

func secretAttributes(list []wire.Attribute, at string) []string {
	var out []string
	for i := range list {
		a := &list[i]
		switch {
		case a.Sensitive || a.WriteOnly:
			out = append(out, at+"/"+a.Name)
		case a.Nested != nil:
			out = append(out, secretAttributes(a.Nested.Attributes, inNested(at, a.Name, a.Nested.Nesting))...)
		}
	}
	return out
}

// inNested returns the path of nested objects.
func inNested(at, name string, nesting wire.Nesting) string {
	if nesting == wire.NestingMap {
		return at + "/" + name + "/*"
	}
	return at + "/" + name
}
