package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// files hashes the files that documents refer to, each one once.
type files struct {
	tree   *tree
	mu     sync.Mutex
	byPath map[string]*file
	room   int // remaining bytes that may be kept
}

// file is a file that documents refer to.
type file struct {
	once sync.Once
	hash string
	size int64
	mod  time.Time
	data []byte // the content of a small file, if it was kept
	err  error
}

const (
	// maximum size of a kept file; an export need not read kept files again
	keepFile  = 64 << 10
	keepFiles = 64 << 20 // maximum size of all kept files together
)

func newFiles(t *tree) *files {
	return &files{tree: t, byPath: map[string]*file{}, room: keepFiles}
}

// get returns the file at a path in the tree.
func (f *files) get(path string) *file {
	f.mu.Lock()
	e := f.byPath[path]
	if e == nil {
		e = &file{}
		f.byPath[path] = e
	}
	f.mu.Unlock()
	e.once.Do(func() { f.read(e, path) })
	return e
}

// put sets the content of a path, which takes precedence over a file in the tree.
func (f *files) put(path string, data []byte) {
	sum := sha256.Sum256(data)
	e := &file{hash: hex.EncodeToString(sum[:]), size: int64(len(data)), data: data}
	if data == nil {
		e.data = []byte{} // nil means that the file has to be read again
	}
	e.once.Do(func() {})
	f.byPath[path] = e
}

var buffers = sync.Pool{
	New: func() any { return bytes.NewBuffer(make([]byte, 0, keepFile+bytes.MinRead)) }}

func (f *files) read(e *file, path string) {
	src, info, err := f.tree.openFile(path)
	if err != nil {
		e.err = err
		return
	}
	defer func() { _ = src.Close() }()
	e.mod = info.ModTime()
	if info.Size() > maxFile {
		e.err = errors.New("it is larger than 5 GiB")
		return
	}
	if info.Size() > keepFile {
		h := sha256.New()
		e.size, e.err = io.Copy(h, src)
		e.hash = hex.EncodeToString(h.Sum(nil))
		return
	}
	b := buffers.Get().(*bytes.Buffer) // the pool holds only buffers
	defer buffers.Put(b)
	b.Reset()
	e.size, e.err = b.ReadFrom(src)
	sum := sha256.Sum256(b.Bytes())
	e.hash = hex.EncodeToString(sum[:])
	if f.keep(b.Len()) {
		e.data = bytes.Clone(b.Bytes())
	}
}

func (f *files) keep(n int) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > keepFile || n > f.room {
		return false
	}
	f.room -= n
	return true
}

// blobs returns the files that were read, by hash.
func (f *files) blobs() map[string]state.Blob {
	out := make(map[string]state.Blob, len(f.byPath))
	dir := f.tree.dir
	for path, e := range f.byPath {
		if e.err != nil {
			continue
		}
		b := state.Blob{Hash: e.hash, Size: e.size}
		if b.Data = e.data; e.data == nil {
			b.Open = func() (io.ReadCloser, error) { return e.again(dir, path) }
		}
		out[e.hash] = b
	}
	return out
}

// again opens a file again for the store. If the file has changed since it was hashed, Read returns
// an error that names the file. The store would detect the wrong hash, but does not know the name.
func (e *file) again(dir, path string) (io.ReadCloser, error) {
	name := filepath.Join(dir, filepath.FromSlash(path))
	src, err := os.OpenInRoot(dir, filepath.FromSlash(path))
	if err != nil {
		return nil, changed("the file %s can no longer be read: %v", name, cause(err))
	}
	return &reread{src, e, name}, nil
}

type reread struct {
	src  *os.File
	was  *file
	name string
}

// Read implements io.Reader.
func (r *reread) Read(b []byte) (int, error) {
	n, err := r.src.Read(b)
	if err == nil {
		return n, nil
	}
	info, e := r.src.Stat()
	if errors.Is(err, io.EOF) && (e != nil || info.Size() != r.was.size ||
		!info.ModTime().Equal(r.was.mod)) {
		err = changed("the file %s has changed since its hash was taken", r.name)
	}
	return n, err
}

// Close implements io.Closer.
func (r *reread) Close() error { return r.src.Close() }

func changed(format string, args ...any) error {
	return fault.New(fault.Invalid, "", format, args...).
		WithHint("run the command again to read the current files")
}
