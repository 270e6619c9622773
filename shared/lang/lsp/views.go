package lsp

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsp/names"
	"southbound/shared/lang/project"
	"southbound/shared/lang/syntax"
)

// maxExtras is the maximum number of texts outside of the model that are read.
const maxExtras = 10_000

// view is a model: main.cf with its imports, a single module, or a single file.
type view struct {
	path   string // the path for project.Load
	lock   string // the directory of its lock file
	editor project.Editor
	loaded *project.Project
	names  *names.Project
	extra  []string      // texts of modules that the model does not import
	python []eval.Plugin // plugins that its modules declare in Python
	found  diag.Problems
	failed error

	library *library // the types that it can import

	stale   bool            // files may have been added or removed
	touched map[string]bool // changed texts

	evaluated []problem // problems of the last evaluation
}

// forget marks all views as stale, so that they read their files again.
func (s *workspace) forget() {
	for _, v := range s.views {
		v.stale = true
	}
}

// edited records that a text has changed.
func (v *view) edited(path string) { v.touched[path] = true }

// viewOf returns the view of a text, up to date; nil if there is none.
func (s *workspace) viewOf(path string) *view {
	if !filepath.IsAbs(path) { // a text of the program
		for _, v := range s.views {
			if v.names != nil && v.names.File(path) != nil {
				return s.refreshed(v)
			}
		}
		return nil
	}
	dir, module := s.rootOf(path)
	if dir != "" {
		if v := s.refreshed(s.view(dir, dir, project.Editor{})); v.names.File(path) != nil {
			return v
		}
	}
	if module != "" {
		in := filepath.Dir(module)
		own := project.Editor{
			Main:       "import " + filepath.Base(module) + "\n",
			ModulePath: []string{in},
		}
		lock := cmp.Or(dir, in)
		if v := s.refreshed(s.view(in+"\x00"+module, lock, own)); v.names.File(path) != nil {
			return v
		}
	}
	return s.refreshed(s.view(path, filepath.Dir(path), project.Editor{}))
}

// view returns a view, and creates it if it is missing. The key may have a suffix after \x00. lock is
// the directory of its lock file.
func (s *workspace) view(key, lock string, e project.Editor) *view {
	v := s.views[key]
	if v == nil {
		path, _, _ := strings.Cut(key, "\x00")
		e.Text, e.Parse = s.texts.text, s.texts.parse
		v = &view{path: path, lock: lock, editor: e, stale: true, touched: map[string]bool{}}
		s.views[key] = v
	}
	return v
}

// rootOf returns the nearest project folder above a text, and the folder of the text's module; ""
// for none. The search stops at the folders of the editor.
func (s *workspace) rootOf(path string) (dir, module string) {
	for at := filepath.Dir(path); ; at = filepath.Dir(at) {
		if filepath.Base(at) == "model" && module == "" {
			module = filepath.Dir(at)
		}
		if s.isProject(at) {
			return at, module
		}
		if at == filepath.Dir(at) || slices.Contains(s.folders, at) {
			return "", module
		}
	}
}

func (s *workspace) isProject(dir string) bool {
	main := filepath.Join(dir, project.MainFile)
	if s.texts.open[main] != nil {
		return true
	}
	_, err := os.Stat(main)
	return err == nil
}

// refreshed brings a view up to date.
func (s *workspace) refreshed(v *view) *view {
	if !v.stale && len(v.touched) == 0 {
		return v
	}
	if v.stale || !s.patched(v) {
		s.load(v)
	}
	v.stale, v.touched = false, map[string]bool{}
	v.names = s.namesOf(v)
	return v
}

// load reads the model.
func (s *workspace) load(v *view) {
	v.library = s.built.libraryOf(v.lock)
	o := project.Options{BuiltIn: v.library.text, Editor: v.editor}
	p, err := project.Load(v.path, o)
	v.found, _ = diag.Of(err)
	if v.failed = nil; len(v.found) == 0 {
		v.failed = err
	}
	if p == nil {
		p = &project.Project{Dir: v.path}
	}
	v.loaded = p
	s.readPython(v)
	v.extra = v.extras()
	for _, path := range v.extra {
		s.current(path)
	}
}

// patched replaces the trees of changed texts; it returns false if their imports have changed.
func (s *workspace) patched(v *view) bool {
	if v.failed != nil {
		return false
	}
	sources := slices.Clone(v.loaded.Sources) // an evaluation may be reading the old slice
	for i := range sources {
		if !v.touched[sources[i].Path] {
			continue
		}
		content, ok := s.texts.text(sources[i].Path)
		if !ok {
			return false
		}
		tree, _ := s.texts.parse(sources[i].Path, content)
		if !slices.Equal(imports(tree), imports(sources[i].File)) {
			return false
		}
		sources[i].File = tree
	}
	v.loaded.Sources = sources
	return true
}

// imports returns the imports of a text, with their positions, since problems refer to positions.
func imports(f *syntax.File) []string {
	var out []string
	for _, st := range f.Body {
		if i, ok := st.(*syntax.Import); ok {
			out = append(out, f.Pos(i).String()+" "+i.Module.Text)
		}
	}
	return out
}

// namesOf resolves the names of a view in the current texts.
func (s *workspace) namesOf(v *view) *names.Project {
	var files []*names.File
	seen := map[string]bool{}
	for _, src := range v.loaded.Sources {
		f := &names.File{Path: src.Path, Namespace: src.Namespace, Tree: src.File}
		f.BuiltIn = !filepath.IsAbs(src.Path)
		// two projects may have different texts of the same built-in namespace
		if p := s.known(src.Path); p != nil && !f.BuiltIn {
			f.Tree = p.tree
		}
		files = append(files, f)
		seen[src.Namespace] = true
	}
	add := func(path, namespace string) {
		if p := s.known(path); p != nil && !seen[namespace] {
			seen[namespace] = true
			files = append(files, &names.File{Path: path, Namespace: namespace, Tree: p.tree})
		}
	}
	for _, path := range v.extra {
		add(path, namespaceOf(path))
	}
	if len(v.loaded.Sources) == 0 { // the model cannot be loaded, but this text can be read
		add(v.path, eval.Main)
	}
	return names.New(files, slices.Concat(s.built.plugins, v.python), special())
}

// current returns the current text; nil if it is part of the program or cannot be read.
func (s *workspace) current(path string) *parsed {
	if !filepath.IsAbs(path) {
		return nil
	}
	content, ok := s.texts.text(path)
	if !ok {
		return nil
	}
	return s.texts.parsed(path, content)
}

// known is current without a check of the disk, since loading a view has checked it.
func (s *workspace) known(path string) *parsed {
	if s.texts.open[path] == nil {
		if p := s.texts.trees[path]; p != nil {
			return p
		}
	}
	return s.current(path)
}

// extras returns the texts of modules below the project folder that the model does not import.
func (v *view) extras() []string {
	if info, err := os.Stat(v.path); err != nil || !info.IsDir() || v.editor.Main != "" {
		return nil
	}
	loaded := map[string]bool{}
	for _, src := range v.loaded.Sources {
		loaded[src.Path] = true
	}
	var out []string
	_ = filepath.WalkDir(v.path, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // skip paths that cannot be read
		case d.IsDir() && path != v.path && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case len(out) >= maxExtras:
			return fs.SkipAll
		case filepath.Ext(path) == ".cf" && !loaded[path] && namespaceOf(path) != "":
			out = append(out, path)
		}
		return nil
	})
	return out
}

// namespaceOf returns the namespace of a text from its path: mod/model/a/b.cf is mod::a::b. It
// returns "" for a text outside of modules.
func namespaceOf(path string) string {
	parts := strings.Split(filepath.ToSlash(strings.TrimSuffix(path, ".cf")), "/")
	for i := len(parts) - 2; i > 0; i-- {
		if parts[i] != "model" {
			continue
		}
		out := append([]string{parts[i-1]}, parts[i+1:]...)
		if out[len(out)-1] == "_init" {
			out = out[:len(out)-1]
		}
		return strings.Join(out, "::")
	}
	return ""
}
