package lsp

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/diag"
	"southbound/shared/internal/declared"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/resources"
	"southbound/shared/schema"
)

// library has the model texts of the types of a registry, and of services.
type library struct {
	types *schema.Registry
	texts map[string]string // cached texts by namespace

	// of a lock file
	read     map[string]fs.FileInfo // the files that were read, and a missing lock file
	problems diag.Problems          // of the lock file and its declarations
}

func newLibrary(types *schema.Registry) *library {
	return &library{types: types, texts: map[string]string{}}
}

// text returns the text of a namespace, and caches it.
func (l *library) text(namespace string) (string, bool) {
	if t, ok := l.texts[namespace]; ok {
		return t, true
	}
	if t, ok := lsm.Text(namespace); ok {
		l.texts[namespace] = t
		return t, true
	}
	if l.types == nil {
		return "", false
	}
	t, ok := resources.Text(l.types, namespace)
	if ok {
		l.texts[namespace] = t
	}
	return t, ok
}

// modules returns the names of the modules that are not files.
func (l *library) modules() []string {
	out := append([]string{"std", "std::testing"}, lsm.Namespaces()...)
	if l.types == nil {
		return out
	}
	out = append(out, resources.Namespace)
	for _, name := range l.types.Names() {
		if i := strings.LastIndex(name, "::"); i >= 0 {
			out = append(out, resources.Namespace+"::"+name[:i])
		}
	}
	return out
}

// libraryOf returns the types of the program, and those that the lock file in a directory declares. It
// reads the lock file again if that or a file of declarations has changed. If the lock file has
// problems, the library has them, and the types of the program only.
func (b *builtIns) libraryOf(dir string) *library {
	if b.own.types == nil {
		return b.own
	}
	if l := b.locked[dir]; l != nil && l.current() {
		return l
	}
	l := newLibrary(b.own.types)
	path := filepath.Join(dir, declared.LockFile)
	l.read = map[string]fs.FileInfo{path: statOf(path)} // before it is read
	if l.read[path] == nil {
		l.texts = b.own.texts
		b.locked[dir] = l
		return l
	}
	lock, err := declared.ReadLock(dir, b.own.types)
	if found, _ := diag.Of(err); err != nil {
		if l.problems = found; len(found) == 0 {
			l.problems.Add(diag.Problem{Pos: diag.Pos{File: path, Line: 1, Column: 1},
				Message: err.Error()})
		}
		l.read = nil // it is read again after each change
	} else if lock != nil {
		for i := range lock.Providers {
			file := filepath.Join(dir, filepath.FromSlash(lock.Providers[i].File))
			l.read[file] = statOf(file)
		}
		l.types = b.own.types.With(lock.Types()...)
	}
	b.locked[dir] = l
	return l
}

// statOf returns the time and size of a file; nil if there is none.
func statOf(path string) fs.FileInfo {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return info
}

// current reports whether the files of a library are as they were when it was read.
func (l *library) current() bool {
	for path, was := range l.read {
		now := statOf(path)
		switch {
		case (now == nil) != (was == nil):
			return false
		case now != nil && (now.Size() != was.Size() || !now.ModTime().Equal(was.ModTime())):
			return false
		}
	}
	return l.read != nil
}

// lockProblems returns the problems of the lock file of a view, by file.
func (v *view) lockProblems() map[string][]diagnostic {
	out := map[string][]diagnostic{}
	for _, p := range v.library.problems {
		if !filepath.IsAbs(p.Pos.File) {
			continue
		}
		var d diagnostic
		d.Range.Start.Line = uint32(max(p.Pos.Line-1, 0))
		d.Range.Start.Character = uint32(max(p.Pos.Column-1, 0))
		d.Range.End = d.Range.Start
		d.Severity, d.Code, d.Source = severityError, p.Code, "southbound"
		d.Message = said(p.Message, p.Hint)
		if found := out[p.Pos.File]; !slices.ContainsFunc(found, d.repeats) {
			out[p.Pos.File] = append(found, d)
		}
	}
	return out
}
