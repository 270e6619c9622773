package packages

import (
	"archive/zip"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"southbound/shared/fault"
)

// Store unpacks bundles into a folder, and keeps the last two. One process uses the folder; any
// number of its goroutines may.
type Store struct {
	// Dir is the folder. It is created on first use.
	Dir string
	// Room is the number of bytes that unpacked bundles may take together; 0: no limit.
	Room int64

	mu   sync.Mutex
	used map[string]time.Time // last use of each unpacked bundle; nil before the first use
}

// keptUnpacked is the number of bundles that stay unpacked. With two, a version and the next one
// alternate without unpacking.
const keptUnpacked = 2

const unpacking = "unpack Python packages"

// newSuffix ends the names of folders that are not complete.
const newSuffix = ".new"

// Open returns the folder with the packages of a bundle. open returns the bytes of the zip; Open
// calls it only if the bundle is not unpacked, and closes what it returns. A zip with another digest
// is an Invalid fault, and a full disk is Unavailable. Neither leaves files.
func (s *Store) Open(
	ctx context.Context, hash string, open func(ctx context.Context) (io.ReadCloser, error),
) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return "", err
	}
	dir := filepath.Join(s.Dir, hash)
	if _, there := s.used[hash]; there {
		s.used[hash] = time.Now()
		return dir, nil
	}
	if err := s.keep(keptUnpacked - 1); err != nil {
		return "", err
	}
	err := s.unpack(ctx, hash, dir, open)
	if err != nil && full(err) { // without the others there may be room
		if failed := s.keep(0); failed != nil {
			return "", failed
		}
		err = s.unpack(ctx, hash, dir, open)
	}
	if full(err) {
		return "", fault.New(fault.Unavailable, unpacking, "the function's /tmp is full: %v", err).
			WithHint("deploy the stack with a larger PythonStorage, or serve the agent with " +
				"`southbound agent run`")
	}
	if err != nil {
		return "", err
	}
	s.used[hash] = time.Now()
	return dir, nil
}

// begin finds the bundles that an earlier process has unpacked, and removes incomplete ones.
func (s *Store) begin() error {
	if s.used != nil {
		return nil
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fault.Wrap(fault.Unavailable, unpacking, err)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return fault.Wrap(fault.Unavailable, unpacking, err)
	}
	used := map[string]time.Time{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), newSuffix) || !e.IsDir() {
			if err := os.RemoveAll(filepath.Join(s.Dir, e.Name())); err != nil {
				return fault.Wrap(fault.Unavailable, unpacking, err)
			}
			continue
		}
		info, err := e.Info()
		if err == nil {
			used[e.Name()] = info.ModTime()
		}
	}
	s.used = used
	return nil
}

// keep removes all but the n bundles that were used last.
func (s *Store) keep(n int) error {
	names := make([]string, 0, len(s.used))
	for name := range s.used {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return s.used[b].Compare(s.used[a]) })
	for _, name := range names[min(n, len(names)):] {
		// renamed first: a process that dies in between leaves no bundle that lacks files
		old := filepath.Join(s.Dir, name)
		err := os.Rename(old, old+newSuffix)
		if err == nil {
			err = os.RemoveAll(old + newSuffix)
		}
		if err != nil {
			return fault.Wrap(fault.Unavailable, unpacking, err)
		}
		delete(s.used, name)
	}
	return nil
}

// full reports whether an error means that the disk has no room.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, errRoom)
}

var errRoom = errors.New("the packages take more than the room for them")

// unpack reads a zip, checks its digest and unpacks it. The folder appears whole or not at all.
func (s *Store) unpack(
	ctx context.Context, hash, dir string, open func(ctx context.Context) (io.ReadCloser, error),
) (err error) {
	work := dir + newSuffix
	defer func() {
		if err != nil {
			_ = os.RemoveAll(work)
			_ = os.Remove(dir + ".zip" + newSuffix)
		}
	}()
	zipped := dir + ".zip" + newSuffix
	if err := fetch(ctx, hash, zipped, open); err != nil {
		return err
	}
	r, err := openZip(zipped)
	if err != nil {
		return fault.New(fault.Invalid, unpacking, "%s is no zip: %v", hash, err)
	}
	defer func() { _ = r.Close() }()
	_ = os.Remove(zipped) // the open file stays readable, and its room is free after that
	if err := s.fits(&r.Reader); err != nil {
		return err
	}
	made := map[string]bool{}
	for _, f := range r.File {
		if err := ctx.Err(); err != nil {
			return fault.Wrap(fault.Canceled, unpacking, err)
		}
		if err := extract(f, work, made); err != nil {
			return err
		}
	}
	return os.Rename(work, dir)
}

// fits refuses a zip whose contents exceed the room.
func (s *Store) fits(r *zip.Reader) error {
	var total uint64
	for _, f := range r.File {
		total += f.UncompressedSize64
	}
	if s.Room > 0 && total > uint64(s.Room) {
		return errRoom
	}
	return nil
}

// fetch writes the bytes of a zip to a file, and compares their digest.
func fetch(
	ctx context.Context, hash, path string, open func(ctx context.Context) (io.ReadCloser, error),
) error {
	in, err := open(ctx)
	if err != nil {
		return fault.Wrap(cmp.Or(fault.KindOf(err), fault.Unavailable), unpacking, err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), in)
	err = errors.Join(err, out.Close())
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != hash {
		return fault.New(fault.Invalid, unpacking, "the bundle %s is damaged: its digest is %s",
			hash, got).WithHint("run `southbound python bundle` and export again")
	}
	return nil
}

// extract writes a file of a zip below a folder.
func extract(f *zip.File, dir string, made map[string]bool) error {
	if !filepath.IsLocal(f.Name) || !f.Mode().IsRegular() {
		return fault.New(fault.Invalid, unpacking, "%q is not a file of a package", f.Name)
	}
	path := filepath.Join(dir, filepath.FromSlash(f.Name))
	if parent := filepath.Dir(path); !made[parent] {
		if err := os.MkdirAll(parent, 0o700); err != nil {
			return err
		}
		made[parent] = true
	}
	in, err := f.Open()
	if err != nil {
		return fault.Wrap(fault.Invalid, unpacking, err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	// One byte more than it declares: the reader compares the checksum at the end.
	_, err = io.CopyN(out, in, int64(f.UncompressedSize64)+1)
	switch {
	case errors.Is(err, io.EOF):
		err = nil
	case err == nil:
		err = fault.New(fault.Invalid, unpacking, "%q is larger than the bundle declares", f.Name)
	}
	return errors.Join(err, out.Close())
}
