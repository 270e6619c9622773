package modtool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

// pip options in a requirements.txt that this package interprets.
const (
	optionEditable   = "--editable"
	optionConstraint = "--constraint"
	optionFindLinks  = "--find-links"
)

// sectionPip maps pip options to their replacements in the section pip of project.yml.
var sectionPip = map[string]string{
	"--index-url": "index-url", "--extra-index-url": "extra-index-url", "--pre": "pre: true",
}

// pipOptions returns the pip options in the requirements.txt of the project. Their paths are made
// absolute.
func (i *installer) pipOptions() ([]metadata.PipOption, error) {
	options, err := module.ProjectOptions(i.meta)
	if err != nil {
		return nil, err
	}
	var wrong diag.Problems
	for n := range options {
		o := &options[n]
		if instead := sectionPip[o.Name]; instead != "" {
			wrong.Add(diag.Problem{
				Pos: o.At, Code: metadata.CodeModule,
				Message: o.Name + " is not read in requirements.txt",
				Hint:    "write " + instead + " into the section pip of project.yml",
			})
			continue
		}
		path, rest := i.localPath(*o)
		if path == "" {
			continue
		}
		if !fileThere(path) && o.Name != optionFindLinks { // its value may also be an address
			wrong.Add(diag.Problem{
				Pos: o.At, Code: metadata.CodeModule, Message: "there is no " + path,
				Hint: "paths in requirements.txt begin at its folder",
			})
			continue
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return nil, fault.Wrap(fault.Usage, "read "+o.At.File, err)
		}
		o.Value = full + rest
	}
	return options, wrong.Err()
}

// localPath returns the path in an option, and the extras after it; "" if it holds no path.
func (i *installer) localPath(o metadata.PipOption) (path, extras string) {
	switch o.Name {
	case "", optionEditable, optionConstraint, optionFindLinks:
	default:
		return "", ""
	}
	if o.Value == "" || strings.Contains(o.Value, ":") { // an address
		return "", ""
	}
	path = o.Value
	if at := strings.Index(path, "["); at >= 0 && (o.Name == "" || o.Name == optionEditable) {
		path, extras = path[:at], path[at:]
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(i.meta.File), path)
	}
	return path, extras
}

// editables returns the modules that options install in editable form, if no other option exists
// and none of the modules needs Python. It returns false if pip is needed. With NoPython it ignores
// other options and Python code.
func (i *installer) editables(options []metadata.PipOption) ([]*module.Module, bool, error) {
	var out []*module.Module
	for _, o := range options {
		path, _ := i.localPath(o)
		if o.Name != optionEditable || path == "" {
			if i.o.NoPython {
				continue
			}
			return nil, false, nil
		}
		m, warnings, err := module.Open(path)
		if err != nil {
			return nil, false, err
		}
		i.warn(warnings)
		if m.Generation == 1 || m.HasCode() && !i.o.NoPython {
			return nil, false, nil
		}
		out = append(out, m)
	}
	return out, true, nil
}

// linked reports whether all modules are installed in editable form.
func linked(s *state, modules []*module.Module) bool {
	return !slices.ContainsFunc(modules, func(m *module.Module) bool {
		found, err := s.finder.Find(m.Name)
		if err != nil || found.Module == nil || !found.Module.Editable {
			return true
		}
		a, wrong := os.Stat(found.Module.Dir)
		b, err := os.Stat(m.Dir)
		return wrong != nil || err != nil || !os.SameFile(a, b)
	})
}
