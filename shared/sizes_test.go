package shared

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What one type may have. One that has more says why in its doc comment, in a paragraph that begins
// with "Large: ".
const (
	maxMethods = 20
	maxFields  = 15
)

// size is what a type has. Fields are counted by name, an embedded one as one.
type size struct {
	methods, fields int
	reason          bool
}

func (s size) large() bool { return s.methods > maxMethods || s.fields > maxFields }

// TestSizes pins that no type becomes large without a reason beside it.
func TestSizes(t *testing.T) {
	t.Parallel()
	sizes := sizesOf(t, "..")
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		if s := sizes[name]; s.large() && !s.reason {
			t.Errorf("%s has %d methods and %d fields, and says no reason; split it by purpose, "+
				"or add a paragraph \"Large: ...\" to its comment",
				name, s.methods, s.fields)
		}
	}
}

// TestSizesSeesLarge shows that a large type is found, and that its reason is.
func TestSizesSeesLarge(t *testing.T) {
	t.Parallel()
	fields := strings.Repeat("a, ", maxFields) + "b int"
	got := map[string]size{}
	src := "package p\ntype A struct{ " + fields +
		" }\n\n// B is one.\n//\n// Large: it is a record.\ntype B struct{ " + fields +
		" }\n" + strings.Repeat("func (*A) M() {}\nfunc (g G[T]) M() {}\n", maxMethods+1)
	count(got, "p", parsed(t, "p.go", src))
	for name, want := range map[string]size{
		"p.A": {methods: maxMethods + 1, fields: maxFields + 1},
		"p.B": {fields: maxFields + 1, reason: true},
		"p.G": {methods: maxMethods + 1},
	} {
		if got[name] != want || !want.large() {
			t.Errorf("%s: counted %+v, expected %+v", name, got[name], want)
		}
	}
}

// sizesOf counts the types of all packages below a directory, without those of tests.
func sizesOf(t *testing.T, dir string) map[string]size {
	t.Helper()
	out := map[string]size{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		in, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		count(out, filepath.ToSlash(in), parsed(t, path, nil))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func parsed(t *testing.T, path string, src any) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, src,
		parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// count adds the types and methods of a file.
func count(into map[string]size, dir string, file *ast.File) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if name := receiver(d); name != "" {
				s := into[dir+"."+name]
				s.methods++
				into[dir+"."+name] = s
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if ts, ok := spec.(*ast.TypeSpec); ok {
					name := dir + "." + ts.Name.Name
					s := into[name]
					s.fields += members(ts.Type)
					s.reason = s.reason || says(d.Doc) || says(ts.Doc)
					into[name] = s
				}
			}
		}
	}
}

func says(doc *ast.CommentGroup) bool {
	return doc != nil && strings.Contains("\n"+doc.Text(), "\nLarge: ")
}

// members returns how many fields a type has that is a struct.
func members(e ast.Expr) int {
	s, ok := e.(*ast.StructType)
	if !ok {
		return 0
	}
	n := 0
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

// receiver returns the type that a method is of, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	e := d.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name
		default:
			panic(fmt.Sprintf("a receiver of %T", e))
		}
	}
}
