// Package fs manages files, directories and symbolic links of the machine it runs on.
//
// All three are changed crash-safely: a crash of the program or of the machine at any instant
// leaves either the old or the desired state. A change that a call has reported as done is on the
// disk: contents are synced before they become visible, and directories after. New things first get
// a hidden name, which is derived from the final name (see package disk). The next run therefore
// finds and removes the remains of a crash.
//
// The last part of a path is never followed if it is a symbolic link; the directories above it are,
// as usual. Extended attributes, including access lists, are preserved when a file is replaced, if
// the system permits; further hard links are not.
package fs

import (
	"fmt"
	"path/filepath"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Data types that several types share.
const (
	pathType = `Pattern[/\A\//]`
	modeType = `Optional[Pattern[/\A[0-7]{3,4}\z/]]`

	ownerType = "Optional[Variant[String[1],Integer[0,4294967294]]]"
)

func pathAttribute() schema.Attribute {
	return schema.Attribute{Name: "path", Type: pathType, Behaviour: schema.Namevar,
		Description: "its absolute path"}
}

func ownerAttributes() []schema.Attribute {
	return []schema.Attribute{
		{Name: "owner", Type: ownerType, Description: "the owner, by name or number"},
		{Name: "group", Type: ownerType, Description: "the group, by name or number"},
	}
}

func modeAttribute(fallback string) schema.Attribute {
	return schema.Attribute{Name: "mode", Type: modeType,
		Description: `permissions in octal, in quotes: "0644"; absent: they stay, and a new one gets ` +
			fallback}
}

// validPath rejects paths that are not in their shortest form, as one file under two names would be
// two resources. It also rejects the root where the type cannot manage it.
func validPath(root bool) func(map[string]any) []diag.Problem {
	return func(attrs map[string]any) []diag.Problem {
		path, ok := attrs["path"].(string)
		switch clean := filepath.Clean(path); {
		case !ok:
			return nil
		case clean != path:
			return []diag.Problem{{Attribute: "path",
				Message: fmt.Sprintf("the path %q is not in its shortest form", path),
				Hint:    "write " + clean}}
		case path == "/" && !root:
			return []diag.Problem{{Attribute: "path", Message: "the path / is a directory",
				Hint: "name the file in it"}}
		}
		return nil
	}
}

// atPath is the space of things that occupy a path as a whole. Parts of a file, or entries of a
// directory, are not part of it.
const atPath = "fs path"

// pathName names the path of a thing that must be the only one there.
func pathName(attrs map[string]any) string {
	path := schema.CleanPath(attrs["path"])
	if path == "" {
		return ""
	}
	return "the path " + path
}

// thingAt is the thing of types of which only one can be at a path.
func thingAt(attrs map[string]any) schema.Thing { return schema.NewThing(pathName(attrs)) }

// keepsFile returns the path of a file, and the names of its backups.
func keepsFile(attrs map[string]any) []schema.Kept {
	path := schema.CleanPath(attrs["path"])
	if path == "" {
		return nil
	}
	out := []schema.Kept{{Path: path}}
	if suffix := suffixOf(provider.Resource{Attributes: attrs}); suffix != "" {
		out = append(out, schema.Kept{Path: path + suffix, Numbered: true})
	}
	return out
}

// parentRelations makes a thing require its parent directory, or the link to it, if that is
// managed.
func parentRelations() []schema.Relation {
	parent := map[string]string{"path": "${path|dir}"}
	return []schema.Relation{
		{Kind: schema.Require, Type: "fs::Directory", Keys: parent},
		{Kind: schema.Require, Type: "fs::Symlink", Keys: parent},
	}
}

// ownedRelations makes a thing also require its owner and group, if these are managed.
func ownedRelations() []schema.Relation {
	return append(parentRelations(),
		schema.Relation{Kind: schema.Require, Type: "acct::User",
			Keys: map[string]string{"name": "$owner"}},
		schema.Relation{Kind: schema.Require, Type: "acct::Group",
			Keys: map[string]string{"name": "$group"}})
}

// text returns the value of a text attribute, "" for any other value.
func text(r provider.Resource, name string) string {
	s, _ := r.Attributes[name].(string)
	return s
}

// yes returns the value of a boolean attribute, false for any other value.
func yes(r provider.Resource, name string) bool {
	b, _ := r.Attributes[name].(bool)
	return b
}
