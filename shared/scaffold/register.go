package scaffold

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"strconv"

	"southbound/shared/fault"
)

// register adds a handler to the list of definitions in a file. It fails for a file without such a
// list.
func (w *writer) register(file_, importPath string, n names) {
	if w.err != nil {
		return
	}
	text, err := os.ReadFile(file_)
	if err == nil {
		text, err = registered(text, importPath, n)
	}
	if err != nil {
		w.err = fault.Wrap(fault.Usage, "add the handler to "+file_, err)
		return
	}
	w.files = append(w.files, file{name: file_, text: text, changed: true})
}

// registered returns the text of the file with the handler added.
func registered(text []byte, importPath string, n names) ([]byte, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, "handlers.go", text, parser.ParseComments)
	if err != nil {
		return nil, fault.Wrap(fault.Usage, "read it", err)
	}
	list := definitions(parsed)
	if list == nil || len(parsed.Imports) == 0 {
		return nil, fault.New(fault.Usage, "", "it has no list []provider.Definition{...}").
			WithHint("add one, as in a new pack")
	}
	name, known := localName(parsed, importPath)
	call := name + "." + n.Func + "()"
	at := set.Position(list.Rbrace).Offset
	switch n := len(list.Elts); {
	case n == 0:
	case bytes.ContainsRune(text[set.Position(list.Elts[n-1].End()).Offset:at], ','): // one a line
		call += ",\n"
	default:
		call = ", " + call
	}
	text = bytes.Join([][]byte{text[:at], []byte(call), text[at:]}, nil)
	if known {
		return format.Source(text)
	}
	line := strconv.Quote(importPath)
	if name != path.Base(importPath) {
		line = name + " " + line
	}
	// Imports precede the list, so their offsets have not changed.
	first := set.Position(parsed.Imports[0].Pos()).Offset
	if decl, ok := parsed.Decls[0].(*ast.GenDecl); ok && !decl.Lparen.IsValid() {
		first, line = set.Position(decl.Pos()).Offset, "import "+line
	}
	text = bytes.Join([][]byte{text[:first], []byte(line + "\n"), text[first:]}, nil)
	return format.Source(text)
}

// definitions returns the last list of definitions in a file.
func definitions(f *ast.File) *ast.CompositeLit {
	var out *ast.CompositeLit
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			return true
		}
		if array, ok := lit.Type.(*ast.ArrayType); ok {
			if sel, ok := array.Elt.(*ast.SelectorExpr); ok && sel.Sel.Name == "Definition" {
				out = lit
			}
		}
		return true
	})
	return out
}

// localName returns the name of a package in a file, and whether the file imports it already.
func localName(f *ast.File, importPath string) (name string, known bool) {
	taken := declared(f)
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		local := path.Base(p)
		if i.Name != nil {
			local = i.Name.Name
		}
		if p == importPath {
			return local, true
		}
		taken[local] = true
	}
	for name = path.Base(importPath); taken[name]; {
		name += "types"
	}
	return name, false
}

// declared returns the names that a file declares.
func declared(f *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			out[d.Name.Name] = true
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					out[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range s.Names {
						out[name.Name] = true
					}
				}
			}
		}
	}
	return out
}
