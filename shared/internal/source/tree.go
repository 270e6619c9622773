package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"southbound/shared/fault"
)

const (
	maxDocument = 100 << 20 // bytes of one document file, and of standard input
	// bytes of a referenced file: the limit of an object store for one request
	maxFile = 5 << 30
)

// tree is the exported directory and its documents. It reads no file outside of the directory.
type tree struct {
	dir  string // as given
	root *os.Root
	docs []document
	// projects holds the project file at the root, if there is one. Its defaults apply to the
	// documents.
	projects []document
	// beside is not nil if the directory holds a model.
	beside  *Beside
	foreign func(path string)
	// elsewhere is set if secrets are read on another machine.
	elsewhere bool
	resolved  func() (string, error) // see absolute
}

// document is one file of documents.
type document struct {
	name   string // as shown
	path   string // in the tree, with slashes
	format format
	stdin  io.Reader
	given  bool // named by the user, so it need not be a regular file
}

type format byte

const (
	formatYAML format = iota
	formatJSON
	formatLines // JSON lines; each line is a document
)

// openTree finds the documents that opts.Path names.
func openTree(opts Options) (*tree, error) {
	t := &tree{dir: opts.Path, beside: opts.Beside, foreign: opts.Foreign,
		elsewhere: opts.Elsewhere}
	if opts.Path == "-" {
		t.dir = "."
		t.docs = []document{{name: "-", path: "-", format: formatLines, stdin: opts.Stdin,
			given: true}}
		return t, t.open()
	}
	info, err := os.Stat(opts.Path)
	if err != nil {
		return nil, pathError(opts.Path, err)
	}
	if !info.IsDir() {
		t.dir = filepath.Dir(opts.Path)
		base := filepath.Base(opts.Path)
		t.docs = []document{{name: opts.Path, path: base, format: formatOf(base), given: true}}
		return t, t.open()
	}
	if err := t.open(); err != nil {
		return nil, err
	}
	if err := t.list(); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// open opens the directory and finds its project file.
func (t *tree) open() error {
	var err error
	if t.root, err = os.OpenRoot(t.dir); err != nil {
		return pathError(t.dir, err)
	}
	t.resolved = sync.OnceValues(func() (string, error) {
		dir, err := filepath.Abs(t.dir)
		if err != nil {
			return "", err
		}
		return filepath.EvalSymlinks(dir)
	})
	if info, err := t.root.Stat(ProjectFile); err == nil && info.Mode().IsRegular() {
		t.projects = []document{{name: filepath.Join(t.dir, ProjectFile), path: ProjectFile}}
	}
	return nil
}

// absolute returns the path of the directory, which is the same in any working directory.
func (t *tree) absolute() (string, error) { return t.resolved() }

// close closes the directory. Contents that have been read stay valid.
func (t *tree) close() { _ = t.root.Close() }

func formatOf(name string) format {
	if filepath.Ext(name) == ".json" {
		return formatJSON
	}
	return formatYAML
}

// list finds the documents, in order of their paths. Links to files count as documents; links to
// directories are not followed.
func (t *tree) list() error {
	err := fs.WalkDir(t.root.FS(), ".", func(p string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return pathError(filepath.Join(t.dir, p), err)
		case p != "." && (name[0] == '.' || name[0] == '_'):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
			if p != "." && t.beside.leaves(t.root, filepath.Join(t.dir, p), p) {
				return fs.SkipDir
			}
		case path.Ext(name) == modelExt && t.foreign != nil:
			t.foreign(filepath.Join(t.dir, p))
		case isDocument(name) && t.beside.isDocument(t, p):
			t.docs = append(t.docs, document{name: filepath.Join(t.dir, p), path: p,
				format: formatOf(name)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	if len(t.docs) == 0 && t.beside == nil {
		return fault.New(fault.Invalid, "read documents",
			"there is no *.yaml, *.yml or *.json under %s", t.dir).
			WithHint("name a file or a directory with resource documents")
	}
	slices.SortFunc(t.docs, func(a, b document) int { return strings.Compare(a.path, b.path) })
	return nil
}

func isDocument(name string) bool {
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return name != ProjectFile
	}
	return false
}

func pathError(path string, err error) error {
	hint := "name a file, a directory or - for standard input"
	if errors.Is(err, fs.ErrPermission) {
		hint = "it must be readable"
	}
	return (&fault.Error{Kind: fault.Invalid, Op: "read " + path, Err: cause(err)}).
		WithHint("%s", hint)
}

// cause returns the cause of a path error without the path, which the message already contains.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// errOutside: a path, or a link on it, leaves the tree.
var errOutside = errors.New("it leads out of the directory that is exported")

// openFile opens a regular file of the tree.
func (t *tree) openFile(p string) (*os.File, fs.FileInfo, error) {
	// Nonblocking, so that opening a pipe without a writer does not block before the pipe is
	// rejected.
	f, err := t.root.OpenFile(filepath.FromSlash(p), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if !errors.As(err, new(syscall.Errno)) {
			// the only error of a Root that does not come from the system
			return nil, nil, errOutside
		}
		return nil, nil, cause(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, cause(err)
	}
	return f, info, nil
}

// readUntil is read, but returns when ctx ends, since a named pipe may never end. It then abandons
// the reading goroutine.
func (t *tree) readUntil(ctx context.Context, d document) ([]byte, error) {
	if !d.given {
		return t.read(d)
	}
	done := make(chan struct{})
	var got []byte
	var failed error
	go func() {
		defer close(done)
		got, failed = t.read(d)
	}()
	select {
	case <-done:
		return got, failed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// read returns the text of a document.
func (t *tree) read(d document) ([]byte, error) {
	var r io.Reader
	size := int64(0)
	switch {
	case d.stdin != nil:
		r = d.stdin
	case d.given:
		f, err := os.Open(d.name)
		if err != nil {
			return nil, cause(err)
		}
		defer func() { _ = f.Close() }()
		r = f
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			size = info.Size()
		}
	default:
		f, info, err := t.openFile(d.path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		r, size = f, info.Size()
	}
	return readAll(r, size)
}

// errTooLarge: a document is larger than maxDocument.
var errTooLarge = fmt.Errorf("it is larger than %d MiB", maxDocument>>20)

// readAll reads up to maxDocument bytes; size is the expected number.
func readAll(r io.Reader, size int64) ([]byte, error) {
	if size > maxDocument {
		return nil, errTooLarge
	}
	text := make([]byte, 0, size+512)
	for {
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		switch {
		case len(text) > maxDocument:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return nil, cause(err)
		}
		if len(text) == cap(text) {
			text = slices.Grow(text, len(text))
		}
	}
}
