package project

import (
	"os"
	"path/filepath"

	"southbound/shared/lang/syntax"
)

// Editor overrides how texts are read, for an editor. The zero value reads files.
type Editor struct {
	// Text returns the unsaved text of a file; false if there is none.
	Text func(path string) (string, bool)
	// Parse is syntax.Parse, or a cached version of it.
	Parse func(path, text string) (*syntax.File, []syntax.Problem)
	// Main is the text of the main file for a single module: it imports the module. The path for
	// Load is then the parent folder of the module, and ModulePath has the folders of other
	// modules.
	Main       string
	ModulePath []string
}

func (e *Editor) text(path string) (string, bool) {
	if e.Text == nil {
		return "", false
	}
	return e.Text(path)
}

func (e *Editor) parse(path, text string) (*syntax.File, []syntax.Problem) {
	if e.Parse == nil {
		return syntax.Parse(text)
	}
	return e.Parse(path, text)
}

// mainFile returns the path of the main file of a model.
func (e *Editor) mainFile(path string) (string, error) {
	if e.Main != "" {
		return filepath.Join(path, MainFile), nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", unreadable(path, err)
	}
	if info.IsDir() {
		return filepath.Join(path, MainFile), nil
	}
	return path, nil
}

// main reads the main file.
func (l *loader) main(path string) (*syntax.File, error) {
	if l.options.Main != "" {
		return l.parse(path, l.options.Main), nil
	}
	return l.read(path)
}
