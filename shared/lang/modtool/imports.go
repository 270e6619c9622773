package modtool

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/module"
	"southbound/shared/lang/syntax"
)

// imported is an imported module, and the place of the import.
type imported struct {
	name string
	at   diag.Pos
}

// importsOf returns the modules that a file imports, in order.
func importsOf(path string) ([]string, error) {
	all, err := importsIn(path)
	out := make([]string, 0, len(all))
	for _, i := range all {
		out = append(out, i.name)
	}
	return out, err
}

// importsIn returns the imports of a file, in order.
func importsIn(path string) ([]imported, error) {
	info, err := os.Stat(path)
	if err == nil && info.Size() > syntax.MaxText {
		err = fault.New(fault.Invalid, "read the model", "%s is too large for a model", path)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read the model", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read the model", err)
	}
	f, problems := syntax.Parse(string(text))
	var wrong diag.Problems
	for _, p := range problems {
		if !p.Warning {
			wrong.Add(diag.Problem{
				Pos:  diag.Pos{File: path, Line: int(p.Pos.Line), Column: int(p.Pos.Column)},
				Code: p.Code, Message: p.Message, Hint: p.Hint,
			})
		}
	}
	if len(wrong) > 0 {
		return nil, wrong.Err()
	}
	var out []imported
	for _, st := range f.Body {
		if i, ok := st.(*syntax.Import); ok {
			name, _, _ := strings.Cut(i.Module.Text, "::")
			at := f.Pos(i)
			out = append(out, imported{
				name, diag.Pos{File: path, Line: int(at.Line), Column: int(at.Column)},
			})
		}
	}
	return out, nil
}

// importedAt returns the place of the first import of a module, in main.cf or in a module.
func importedAt(main string, modules []*module.Module, name string) diag.Pos {
	texts := []string{main}
	for _, m := range modules {
		_ = filepath.WalkDir(filepath.Join(m.Dir, "model"),
			func(path string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() && filepath.Ext(path) == ".cf" {
					texts = append(texts, path)
				}
				return nil // files that cannot be read were reported before
			})
	}
	for _, path := range texts {
		all, _ := importsIn(path)
		for _, i := range all {
			if i.name == name {
				return i.at
			}
		}
	}
	return diag.Pos{}
}

// moduleImports returns the other modules that the files of a module import, sorted.
func moduleImports(m *module.Module) ([]string, error) {
	var out []string
	err := filepath.WalkDir(
		filepath.Join(m.Dir, "model"),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".cf" {
				return err
			}
			names, err := importsOf(path)
			out = append(out, names...)
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(name string) bool { return name == m.Name }), nil
}
