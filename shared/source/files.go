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

	"southbound/shared/deploy"
)

// files hashes the files that documents refer to, each of them once.
type files struct {
	tree   *tree
	mu     sync.Mutex
	byPath map[string]*file
	room   int // bytes that may still be kept
}

// file is a file that documents refer to.
type file struct {
	once sync.Once
	hash string
	size int64
	data []byte // the content of a small file, if there was room
	err  error
}

const (
	keepFile  = 64 << 10 // how long a file may be to be kept, so that an export need not read it again
	keepFiles = 64 << 20 // how long all files that are kept may be together
)

func newFiles(t *tree) *files { return &files{tree: t, byPath: map[string]*file{}, room: keepFiles} }

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

var buffers = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, keepFile+bytes.MinRead)) }}

func (f *files) read(e *file, path string) {
	src, info, err := f.tree.openFile(path)
	if err != nil {
		e.err = err
		return
	}
	defer func() { _ = src.Close() }()
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
	b := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // nothing else is in the pool
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
func (f *files) blobs() map[string]deploy.Blob {
	out := make(map[string]deploy.Blob, len(f.byPath))
	dir := f.tree.dir
	for path, e := range f.byPath {
		if e.err != nil {
			continue
		}
		b := deploy.Blob{Hash: e.hash, Size: e.size}
		if b.Data = e.data; e.data == nil {
			b.Open = func() (io.ReadCloser, error) { return os.OpenInRoot(dir, filepath.FromSlash(path)) }
		}
		out[e.hash] = b
	}
	return out
}
