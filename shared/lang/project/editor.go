package project

import (
	"os"
	"path/filepath"

	"southbound/shared/lang/syntax"
)

// Editor says how texts are read for an editor. The zero value reads files.
type Editor struct {
	// Text returns what a file would hold if it were saved, and whether that is known.
	Text func(path string) (string, bool)
	// Parse is syntax.Parse, or something that remembers what it returned.
	Parse func(path, text string) (*syntax.File, []syntax.Problem)
	// Main is the text that imports a module that is looked at by itself. The path is the folder
	// in which the module is then, and ModulePath says where others are.
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
