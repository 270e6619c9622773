package source

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/pattern"
)

// Beside defines which files in the directory of a model are documents.
type Beside struct {
	// Leave lists directories without documents, such as those of modules, as absolute paths.
	Leave []string
	// Data, if not nil, is called for each file with resources and without the format: it may be
	// data for the model, or its author has forgotten the format.
	Data func(path string)
}

// modelExt is the extension of model files.
const modelExt = ".cf"

// leaves reports whether a directory in the directory of a model has no documents: a directory in
// Leave, a module or a virtual environment.
func (b *Beside) leaves(root *os.Root, name, p string) bool {
	if b == nil {
		return false
	}
	if abs, err := filepath.Abs(name); err == nil && slices.Contains(b.Leave, abs) {
		return true
	}
	roots := []string{"module.yml", "setup.cfg", "pyvenv.cfg"}
	return slices.ContainsFunc(roots, func(file string) bool {
		_, err := root.Stat(path.Join(p, file))
		return err == nil
	})
}

// formatPattern matches the member that every document has, and resourcesPattern one that most
// documents have.
var (
	formatPattern    = pattern.Lazy(`(?m)(^|[{,])[ \t]*["']?southbound["']?[ \t]*:`)
	resourcesPattern = pattern.Lazy(`(?m)(^|[{,])[ \t]*["']?resources["']?[ \t]*:`)
)

// isDocument reports whether a file is a document. In the directory of a model, a document must
// state the format; elsewhere the reader reports a missing format.
func (b *Beside) isDocument(t *tree, p string) bool {
	if b == nil {
		return true
	}
	f, _, err := t.openFile(p)
	if err != nil {
		return true // the reader reports it
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument))
	if err != nil || formatPattern().Match(text) {
		return true
	}
	if b.Data != nil && resourcesPattern().Match(text) && !strings.Contains(p, "/") {
		b.Data(filepath.Join(t.dir, p))
	}
	return false
}
