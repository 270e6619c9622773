package lsp

import (
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

// maxExtras is how many texts beside those of the model are looked at.
const maxExtras = 10_000

// view is a model: main.cf with what it imports, a module by itself, or a single file.
type view struct {
	path   string // what project.Load takes
	editor project.Editor
	loaded *project.Project
	names  *names.Project
	extra  []string      // texts of modules that the model does not import
	python []eval.Plugin // what its modules declare in Python
	found  diag.Problems
	failed error

	stale   bool            // files may have come or gone
	touched map[string]bool // texts that have changed

	evaluated []problem // by the last evaluation
}

// forget has all views look at files anew.
func (s *workspace) forget() {
	for _, v := range s.views {
		v.stale = true
	}
}

// edited notes that a text has changed.
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
		if v := s.refreshed(s.view(dir, project.Editor{})); v.names.File(path) != nil {
			return v
		}
	}
	if module != "" {
		in := filepath.Dir(module)
		own := project.Editor{
			Main:       "import " + filepath.Base(module) + "\n",
			ModulePath: []string{in},
		}
		if v := s.refreshed(s.view(in+"\x00"+module, own)); v.names.File(path) != nil {
			return v
		}
	}
	return s.refreshed(s.view(path, project.Editor{}))
}

// view returns a view, made if it is not there. The path may have a mark behind \x00.
func (s *workspace) view(key string, e project.Editor) *view {
	v := s.views[key]
	if v == nil {
		path, _, _ := strings.Cut(key, "\x00")
		e.Text, e.Parse = s.texts.text, s.texts.parse
		v = &view{path: path, editor: e, stale: true, touched: map[string]bool{}}
		s.views[key] = v
	}
	return v
}

// rootOf returns the nearest folder above a text that is a project, and the folder of the module
// that the text is part of; "" for none. Folders above those of the editor are not looked at.
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
	o := project.Options{BuiltIn: s.built.text, Editor: v.editor}
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

// patched puts the trees of the texts that have changed in their places; false if they import
// something else than they did.
func (s *workspace) patched(v *view) bool {
	if v.failed != nil {
		return false
	}
	sources := slices.Clone(v.loaded.Sources) // an evaluation may be at work on the old ones
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

// imports returns what a text imports, with the lines: problems are told by them.
func imports(f *syntax.File) []string {
	var out []string
	for _, st := range f.Body {
		if i, ok := st.(*syntax.Import); ok {
			out = append(out, f.Pos(i).String()+" "+i.Module.Text)
		}
	}
	return out
}

// namesOf finds what the names of a view mean, in the texts as they are.
func (s *workspace) namesOf(v *view) *names.Project {
	var files []*names.File
	seen := map[string]bool{}
	for _, src := range v.loaded.Sources {
		f := &names.File{Path: src.Path, Namespace: src.Namespace, Tree: src.File}
		f.BuiltIn = !filepath.IsAbs(src.Path)
		if p := s.known(src.Path); p != nil {
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
	if len(v.loaded.Sources) == 0 { // it cannot be read as a model; this one text can
		add(v.path, eval.Main)
	}
	return names.New(files, slices.Concat(s.built.plugins, v.python), special())
}

// current returns a text as it is now; nil for one that is part of the program or cannot be read.
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

// known is current without a look at the disk: loading a view has looked.
func (s *workspace) known(path string) *parsed {
	if s.texts.open[path] == nil {
		if p := s.texts.trees[path]; p != nil {
			return p
		}
	}
	return s.current(path)
}

// extras returns the texts of modules below the folder of a project that the model does not
// import.
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
			return nil // what cannot be read is not there
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

// namespaceOf returns the namespace of a text of a module, by where it is: mod/model/a/b.cf is
// mod::a::b. "" for what is in no module.
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
