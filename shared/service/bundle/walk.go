package bundle

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

// walker collects the files to pack.
type walker struct {
	files map[string]string // file paths by their names in the bundle
	skip  []string
	in    []string // the folders on the current path, to detect cycles of links
	bytes int64
}

func (w *walker) names() []string { return slices.Sorted(maps.Keys(w.files)) }

// project adds the files of the project.
func (w *walker) project(m Model, dir string) error {
	for _, name := range m.Files {
		if err := w.add(filepath.Join(dir, filepath.FromSlash(name)), path.Join(projectDir, name)); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(m.Modules, (*module.Module).HasCode) {
		return w.walk(dir, projectDir)
	}
	for _, name := range []string{filepath.Base(m.Main), metadata.ProjectFile} {
		from, err := resolved(filepath.Join(dir, name))
		if err == nil {
			w.files[path.Join(projectDir, name)] = from
		}
	}
	for _, name := range []string{"files", "templates"} {
		from := filepath.Join(dir, name)
		if info, err := os.Stat(from); err != nil || !info.IsDir() {
			continue
		}
		if err := w.walk(from, path.Join(projectDir, name)); err != nil {
			return err
		}
	}
	return nil
}

// module adds a V1 module. A module inside the project folder keeps its place there.
func (w *walker) module(m *module.Module, project string) error {
	if m.Generation == 2 { // V2 modules are in the virtual environment
		return nil
	}
	dir, err := filepath.Abs(m.Dir)
	if err != nil {
		return fault.Wrap(fault.Invalid, opPack, err)
	}
	to := path.Join(modulesDir, m.Name)
	parent, err := resolved(filepath.Dir(dir)) // the module folder itself may be a link
	if err != nil {
		return fault.Wrap(fault.Invalid, opPack, err)
	}
	rel, err := filepath.Rel(project, filepath.Join(parent, filepath.Base(dir)))
	if err == nil && filepath.IsLocal(rel) {
		if to = path.Join(projectDir, filepath.ToSlash(rel)); w.has(to) {
			return nil
		}
	}
	return w.walk(dir, to)
}

// has reports whether the bundle has a file below a folder.
func (w *walker) has(folder string) bool {
	for name := range w.files {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// left reports whether a file or folder is not packed.
func (w *walker) left(name, at string) bool {
	return strings.HasPrefix(name, ".") || name == "__pycache__" ||
		strings.HasSuffix(name, ".pyc") ||
		slices.Contains(w.skip, at)
}

// walk adds the files of a folder under a name in the bundle.
func (w *walker) walk(dir, name string) error {
	at, err := resolved(dir)
	if err != nil {
		return fault.Wrap(fault.Invalid, opPack, err)
	}
	if slices.Contains(w.in, at) {
		return nil // a link to an enclosing folder
	}
	w.in = append(w.in, at)
	defer func() { w.in = w.in[:len(w.in)-1] }()
	entries, err := os.ReadDir(at)
	if err != nil {
		return fault.Wrap(fault.Invalid, opPack, err)
	}
	for _, e := range entries {
		from := filepath.Join(at, e.Name())
		if e.Type()&os.ModeSymlink != 0 { // resolving every path would be slow
			from, err = resolved(from)
		}
		if err != nil || w.left(e.Name(), from) {
			continue // a compile does not read broken links either
		}
		info, err := os.Stat(from)
		if err != nil {
			return fault.Wrap(fault.Invalid, opPack, err)
		}
		to := path.Join(name, e.Name())
		switch {
		case info.IsDir():
			if err := w.walk(from, to); err != nil {
				return err
			}
		case info.Mode().IsRegular():
			if err := w.take(to, from, info.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds one file.
func (w *walker) add(from, to string) error {
	at, err := resolved(from)
	if err != nil {
		return fault.Wrap(fault.Invalid, opPack, err)
	}
	info, err := os.Stat(at)
	if err != nil {
		return fault.Wrap(fault.Invalid, opPack, err)
	}
	return w.take(to, at, info.Size())
}

// take adds a regular file of so many bytes, once.
func (w *walker) take(to, from string, size int64) error {
	if w.files[to] == "" {
		w.bytes += size
	}
	w.files[to] = from
	if len(w.files) > MaxFiles {
		return tooLarge("more than %d files", MaxFiles)
	}
	if w.bytes > MaxBytes {
		return tooLarge("more than %d MiB", MaxBytes>>20)
	}
	return nil
}
