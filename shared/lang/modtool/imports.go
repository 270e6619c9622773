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

// importsOf returns the modules that a text imports, in order.
func importsOf(path string) ([]string, error) {
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
	var out []string
	for _, st := range f.Body {
		if i, ok := st.(*syntax.Import); ok {
			name, _, _ := strings.Cut(i.Module.Text, "::")
			out = append(out, name)
		}
	}
	return out, nil
}

// moduleImports returns the other modules that all texts of a module import, sorted.
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
