package run

import (
	"bytes"
	"cmp"
	"context"
	"fmt"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/declared"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Declared reports whether a row is of a resource that names the declaration of its type, without
// decoding the row. No type of the program is one of a declaration, whatever names its values have.
func Declared(n *Runner, row *state.Row) bool {
	return n.Handlers[row.ID.Type()] == nil &&
		bytes.Contains(row.Body, []byte(`"`+model.TypeAttribute+`":{"file":"`))
}

// DeclarationOf returns the hash of the declaration that a resource names; "": it names none.
func DeclarationOf(r *resource.Resource) string {
	if r == nil {
		return ""
	}
	f, _ := model.DeclaredBy(r)
	return f.Hash
}

// loaded is a declaration that runs need, or the reason why it cannot be used.
type loaded struct {
	*schema.Declaration
	err error
}

// loadDeclarations returns the declarations of rows, by hash, and reads those that are not in the cache.
func loadDeclarations(ctx context.Context, n *Runner, rows []Wanted) map[string]loaded {
	var out map[string]loaded
	for _, w := range rows {
		if !Declared(n, w.Row) {
			continue
		}
		res := w.Known
		if res == nil {
			var err error
			if res, err = resource.Decode(w.Row.Body); err != nil {
				continue // newRun reports it
			}
		}
		f, is := model.DeclaredBy(res)
		if _, known := out[f.Hash]; !is || known {
			continue
		}
		if out == nil {
			out = map[string]loaded{}
		}
		d, err := n.Declarations.Read(ctx, n.Files, f)
		out[f.Hash] = loaded{d, err}
	}
	return out
}

// typeOf returns the type of a resource. If it is not known, why has the reason, as far as that is
// known. from has the declarations that were read.
func typeOf(
	n *Runner, r *resource.Resource, from map[string]loaded,
) (typ *schema.Compiled, why error) {
	f, is := model.DeclaredBy(r)
	if _, coded := model.CodeOf(r); !is || coded {
		typ, _ = n.types.Type(r)
		return typ, nil
	}
	l := from[f.Hash]
	if l.Declaration != nil {
		var known bool
		if typ, known = l.Stored(r.Type); known {
			return typ, nil
		}
		return nil, fmt.Errorf("the declaration that it names does not declare %s; export it again",
			r.Type)
	}
	return nil, fmt.Errorf("the declaration of %s cannot be used: %s", r.Type, hinted(l.err))
}

// declaredType returns the type of a resource that names its declaration, from the cache.
func declaredType(n *Runner, r *resource.Resource) (*schema.Compiled, bool) {
	f, is := model.DeclaredBy(r)
	if !is || n.Declarations == nil {
		return nil, false
	}
	d := n.Declarations.Kept(f.Hash)
	if d == nil {
		return nil, false
	}
	return d.Stored(r.Type)
}

// declaredOf is declaredType for a row, whose intent is res if it is known.
func declaredOf(n *Runner, row *state.Row, res *resource.Resource) (*schema.Compiled, bool) {
	if res == nil {
		var err error
		if res, err = resource.Decode(row.Body); err != nil {
			return nil, false
		}
	}
	return declaredType(n, res)
}

// bridged returns the handler for a declared type; the error is the reason why there is none.
func bridged(n *Runner, typ *schema.Compiled) (provider.Handler, error) {
	b := n.Bridges[declared.Prefix(typ.Name)]
	if b == nil {
		return nil, noBridge(typ)
	}
	h, err := b.Handler(typ.Type)
	if err != nil {
		return nil, fmt.Errorf("the bridge %s cannot serve %s: %w", b.Name, typ.Name, err)
	}
	if h == nil {
		return nil, fmt.Errorf("the bridge %s has no handler for %s", b.Name, typ.Name)
	}
	return h, nil
}

// noBridge returns the reason for a type whose bridge is not in this program, with what to install.
func noBridge(typ *schema.Compiled) error {
	text := func(name string) string {
		s, _ := typ.Metadata[name].(string)
		return s
	}
	prefix := declared.Prefix(typ.Name)
	handler := cmp.Or(text(declared.MetaHandler), "the bridge "+prefix)
	install := cmp.Or(text(declared.MetaInstall),
		"run the agent with a program whose definitions have a provider.Bridge named "+prefix)
	return fmt.Errorf("no handler for %s is installed here: its declaration names %s. To install it: %s",
		typ.Name, handler, install)
}
