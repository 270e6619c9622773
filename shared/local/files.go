package local

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/pattern"
)

// Files stores files in a folder, by hash: files/ab/<hash>. A file being written is in files/new,
// under a name that begins with the name of the writing process. Files implements state.Files.
type Files struct {
	dir, holder string
	verified    *verified
}

// Files returns the file store of this home.
func (h *Home) Files() *Files { return &Files{h.files, h.holder, &h.verified} }

// newFiles is the subfolder in which files are written.
const newFiles = "new"

var hashPattern = pattern.Lazy(`^[0-9a-f]{64}$`)

func (f *Files) path(hash string) string { return filepath.Join(f.dir, hash[:2], hash) }

// Missing implements state.Files.
func (f *Files) Missing(_ context.Context, hashes []string) ([]string, error) {
	var out []string
	for _, h := range hashes {
		if !hashPattern().MatchString(h) {
			return nil, fault.New(fault.Invalid, "find file", "%q is not a SHA-256", h)
		}
		_, err := os.Lstat(f.path(h))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			out = append(out, h)
		case err != nil:
			return nil, fileError("find file", err)
		}
	}
	return out, nil
}

// Put implements state.Files. It writes and syncs each file and then renames it to its place, so
// that a file at its place is always complete. Then it syncs each folder once, so that stored files
// survive a crash. If a crash leaves a partly written file, the next process removes it
// (sweepFiles).
func (f *Files) Put(ctx context.Context, blobs []state.Blob) error {
	if err := os.MkdirAll(filepath.Join(f.dir, newFiles), 0o700); err != nil {
		return fileError("store file", err)
	}
	if err := sideBySide(ctx, blobs, f.put); err != nil {
		return err
	}
	dirs := []string{f.dir}
	for i := range blobs {
		dirs = append(dirs, filepath.Dir(f.path(blobs[i].Hash)))
	}
	slices.Sort(dirs)
	return sideBySide(ctx, slices.Compact(dirs), func(dir string) error {
		return fileError("store file", syncDir(dir))
	})
}

// sideBySide calls f for all elements, several at a time, since a disk syncs many files in little
// more time than one. It returns one of the errors.
func sideBySide[T any](ctx context.Context, all []T, f func(T) error) error {
	const workers = 8
	var g errgroup.Group
	g.SetLimit(workers)
	for _, one := range all {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error { return f(one) })
	}
	return cmp.Or(g.Wait(), ctx.Err())
}

func (f *Files) put(b state.Blob) error {
	if !hashPattern().MatchString(b.Hash) {
		return fault.New(fault.Invalid, "store file", "%q is not a SHA-256", b.Hash)
	}
	path := f.path(b.Hash)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return f.missing("store file", err)
	}
	src := io.NopCloser(bytes.NewReader(b.Data))
	if b.Open != nil {
		var err error
		if src, err = b.Open(); err != nil {
			return fileError("read file to store", err)
		}
	}
	defer src.Close()
	tmp, err := os.CreateTemp(filepath.Join(f.dir, newFiles), f.holder+"-*")
	if err != nil {
		return f.missing("store file", err)
	}
	defer func() { _ = os.Remove(tmp.Name()) }()
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(tmp, sum), src)
	if err == nil {
		err = tmp.Sync()
	}
	if e := tmp.Close(); err == nil {
		err = e
	}
	if err != nil {
		return f.missing("store file", err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != b.Hash {
		return fault.New(fault.Invalid, "store file", "the bytes have the hash %s, not %s", got,
			b.Hash).
			WithHint("the file changed while it was read; export again")
	}
	if err = os.Rename(tmp.Name(), path); err != nil {
		return f.missing("store file", err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Get implements state.Files.
func (f *Files) Get(ctx context.Context, hashes []string) ([][]byte, error) {
	out := make([][]byte, len(hashes))
	for i, h := range hashes {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !hashPattern().MatchString(h) {
			return nil, fault.New(fault.Invalid, "read file", "%q is not a SHA-256", h)
		}
		b, err := os.ReadFile(f.path(h))
		if err != nil {
			return nil, f.missing("read file", err)
		}
		if sum := sha256.Sum256(b); hex.EncodeToString(sum[:]) != h {
			return nil, damagedFile(h)
		}
		out[i] = b
	}
	return out, nil
}

func damagedFile(hash string) error {
	return fault.New(fault.Damaged, "read file", "the stored file %s has other bytes", hash).
		WithHint(restoreHint)
}

// restoreHint describes the remedy for lost data: data derived from the documents can be stored
// again.
const restoreHint = "apply again, which stores the files of the documents again; for anything " +
	"else, restore the data directory from a copy"

// missing is fileError with a hint for the case that a file, or the whole data directory, no longer
// exists.
func (f *Files) missing(op string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return fileError(op, err)
	}
	hint := restoreHint
	if _, e := os.Lstat(filepath.Dir(f.dir)); errors.Is(e, fs.ErrNotExist) {
		hint = "the data directory was removed or moved while it was in use; run the command " +
			"again: it looks at everything and goes on"
	}
	return &fault.Error{Kind: fault.NotFound, Op: op, Err: err, Hint: hint}
}

// Open implements state.Files. A read to the end returns Damaged if the bytes do not match the
// hash.
func (f *Files) Open(_ context.Context, hash string) (io.ReadCloser, error) {
	file, err := f.open(hash)
	if err != nil {
		return nil, err // a nil interface, not a nil *checked
	}
	return file, nil
}

func (f *Files) open(hash string) (*checked, error) {
	if !hashPattern().MatchString(hash) {
		return nil, fault.New(fault.Invalid, "read file", "%q is not a SHA-256", hash)
	}
	file, err := os.Open(f.path(hash))
	if err != nil {
		return nil, f.missing("read file", err)
	}
	return &checked{File: file, hash: hash, sum: sha256.New()}, nil
}

// checked is a reader that compares the content with the hash in the file's name.
type checked struct {
	*os.File
	hash string
	sum  interface {
		io.Writer
		Sum(b []byte) []byte
	}
}

// Read implements io.Reader.
func (c *checked) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	_, _ = c.sum.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(c.sum.Sum(nil)) != c.hash {
		return n, damagedFile(c.hash)
	}
	return n, err // io.EOF must not be wrapped
}

// WriteTo implements io.WriterTo by Read, since the WriteTo of the file would bypass the check.
func (c *checked) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{c})
}

// Mend stores again those blobs whose stored file is lost or has other bytes, and returns their
// number.
func (f *Files) Mend(ctx context.Context, blobs iter.Seq[state.Blob]) (int, error) {
	var lost []state.Blob
	for b := range blobs {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		src, err := f.Open(ctx, b.Hash)
		if err == nil {
			_, err = io.Copy(io.Discard, src)
			_ = src.Close()
		}
		if err != nil {
			lost = append(lost, b)
		}
	}
	return len(lost), f.Put(ctx, lost)
}

// List implements state.Files.
func (f *Files) List(ctx context.Context, visit func(hash string, stored time.Time) error) error {
	dirs, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fileError("list files", err)
	}
	for _, d := range dirs {
		entries, err := os.ReadDir(filepath.Join(f.dir, d.Name()))
		if err != nil {
			return fileError("list files", err)
		}
		for _, e := range entries {
			if err := ctx.Err(); err != nil {
				return err
			}
			info, err := e.Info()
			if err != nil || !hashPattern().MatchString(e.Name()) {
				continue
			}
			if err := visit(e.Name(), info.ModTime()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Delete implements state.Files.
func (f *Files) Delete(_ context.Context, hashes []string) error {
	for _, h := range hashes {
		if !hashPattern().MatchString(h) {
			return fault.New(fault.Invalid, "remove file", "%q is not a SHA-256", h)
		}
		if err := os.Remove(f.path(h)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fileError("remove file", err)
		}
	}
	return nil
}

func fileError(op string, err error) error {
	var have *fault.Error
	switch {
	case err == nil || errors.As(err, &have):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return fault.Wrap(fault.NotFound, op, err)
	case errors.Is(err, fs.ErrPermission), readOnly(err):
		return fault.Wrap(fault.Denied, op, err)
	case noSpace(err):
		return &fault.Error{Kind: fault.Full, Op: op, Err: err,
			Hint: "make room on the disk and run the command again: nothing is lost"}
	}
	return fault.Wrap(fault.Unavailable, op, err)
}
