package fs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"southbound/shared/diag"
	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

func idOf(typ, agent, path string) resource.ID {
	return resource.NewID(typ, agent, resource.Key{Name: "path", Value: path})
}

// File declares fs::File: a regular file. It is replaced as a whole and durably: a crash at any instant leaves the old bytes
// or the new ones. A symbolic link at its path is replaced, never followed.
func File() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name:        "fs::File",
			Description: "A regular file: its bytes, owner, group and mode. It is replaced as a whole and durably.",
			Attributes: append([]schema.Attribute{
				pathAttribute(),
				{Name: "content", Type: "Optional[String]", Description: "the bytes: text, {file: path} or a secret; left out, any content is right"},
				modeAttribute(),
				{Name: "backup", Type: `Optional[Pattern[/\A\.[^\/]+\z/]]`, Behaviour: schema.Parameter, Description: `keeps the bytes before the last change beside it, under this suffix: ".bak"`},
			}, ownerAttributes()...),
			Features:  []string{"batch"},
			Validate:  func(a map[string]any) []diag.Problem { return cleanPath(a) },
			Relations: parentRelation,
		},
		Handler: file{},
	}
}

type file struct{}

// mostShown bounds how much of a differing file is kept to be shown.
const mostShown = 4 << 10

// Read implements provider.Handler.
func (file) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	r := req.Resource
	path := textOf(r, "path")
	if !ctx.DryRun() {
		_ = unix.Unlink(leftover(path))
	}
	w, err := wantedOf(r)
	if err != nil {
		return provider.Observation{}, err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR):
		return provider.Observation{}, nil
	case errors.Is(err, unix.ELOOP):
		return provider.Observation{Exists: true, Attributes: map[string]any{"content": "a symbolic link"}}, nil
	case err != nil:
		return provider.Observation{}, explain("read "+path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return provider.Observation{}, explain("read "+path, err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		if r.Purged {
			return provider.Observation{}, provider.Errorf(provider.NeedsChange, "%s is not a regular file and is left alone", path)
		}
		return provider.Observation{}, provider.Errorf(provider.NeedsChange, "there is something at %s that is not a regular file; remove it, or describe it as what it is", path)
	}
	obs := provider.Observation{Exists: true, Attributes: make(map[string]any, 4)}
	observe(obs.Attributes, r, w, st.Uid, st.Gid, st.Mode)
	if r.Purged || r.Attributes["content"] == nil {
		return obs, nil
	}
	obs.Attributes["content"], err = contentOf(fd, st.Size, r.Attributes["content"])
	return obs, explain("read "+path, err)
}

var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// contentOf reports the content in the form it is wanted in: the wanted value itself when it is the same.
func contentOf(fd int, size int64, want any) (any, error) {
	buf := buffers.Get().(*[]byte) //nolint:forcetypeassert // its own
	defer buffers.Put(buf)
	if text, ok := want.(string); ok {
		same, shown, err := sameText(fd, size, text, *buf)
		if same {
			return want, err
		}
		return shown, err
	}
	f, _ := want.(resource.File)
	h := sha256.New()
	n, err := io.CopyBuffer(h, onlyReader{fdReader(fd)}, *buf)
	have := resource.File{Hash: hex.EncodeToString(h.Sum(nil)), Size: n}
	if have.Hash == f.Hash {
		return want, err
	}
	return have, err
}

type onlyReader struct{ io.Reader }

type fdReader int

// Read implements io.Reader.
func (r fdReader) Read(p []byte) (int, error) {
	n, err := unix.Read(int(r), p)
	for errors.Is(err, unix.EINTR) {
		n, err = unix.Read(int(r), p)
	}
	if n <= 0 && err == nil {
		return 0, io.EOF
	}
	return max(n, 0), err //nolint:wrapcheck // classified by the caller
}

func sameText(fd int, size int64, text string, buf []byte) (bool, string, error) {
	rest, same := text, size == int64(len(text))
	var shown []byte
	r := fdReader(fd)
	for {
		n, err := r.Read(buf)
		if same && n <= len(rest) && string(buf[:n]) == rest[:n] {
			rest = rest[n:]
		} else if n > 0 {
			if same {
				shown = append(shown, text[:len(text)-len(rest)]...)
			}
			same = false
		}
		if !same {
			if shown = append(shown, buf[:n]...); len(shown) > mostShown {
				return false, strings.ToValidUTF8(string(shown[:mostShown]), "?") + "…", nil
			}
		}
		if errors.Is(err, io.EOF) {
			return same && rest == "", strings.ToValidUTF8(string(shown), "?"), nil
		}
		if err != nil {
			return false, "", err
		}
	}
}

// Create implements provider.Handler.
func (f file) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, alone(ctx, req.Resource, plan.Created, nil)
}

// Update implements provider.Handler.
func (f file) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, alone(ctx, req.Resource, plan.Updated, req.Changes)
}

// Delete implements provider.Handler.
func (f file) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, alone(ctx, req.Resource, plan.Purged, nil)
}

func alone(ctx *provider.Context, r provider.Resource, change plan.Change, changes map[string]plan.Diff) error {
	path := textOf(r, "path")
	if err := apply(ctx, r, change, changes); err != nil {
		return err
	}
	return explain("sync "+filepath.Dir(path), syncDir(filepath.Dir(path)))
}

// apply makes one change; its entry in the directory is not durable yet.
func apply(ctx *provider.Context, r provider.Resource, change plan.Change, changes map[string]plan.Diff) error {
	path := textOf(r, "path")
	_, content := changes["content"]
	switch {
	case change == plan.Purged:
		_ = unix.Unlink(leftover(path))
		if err := unix.Unlink(path); err != nil && !errors.Is(err, unix.ENOENT) {
			return explain("remove "+path, err)
		}
		return nil
	case change == plan.Updated && !content:
		return setMeta(path, r)
	case change == plan.Updated:
		if err := backup(ctx, r); err != nil {
			return err
		}
	}
	return replace(ctx, r)
}

// setMeta changes owner, group and mode in place.
func setMeta(path string, r provider.Resource) error {
	w, err := wantedOf(r)
	if err != nil {
		return err
	}
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return explain("open "+path, err)
	}
	defer unix.Close(fd)
	if err := w.set(fd); err != nil {
		return explain("change "+path, err)
	}
	return explain("sync "+path, unix.Fsync(fd))
}

// set gives what fd stands for its owner, then its mode, which a change of owner may have changed.
func (w wanted) set(fd int) error {
	if w.uid >= 0 || w.gid >= 0 {
		if err := unix.Fchown(fd, w.uid, w.gid); err != nil {
			return err
		}
	}
	if w.mode >= 0 {
		return unix.Fchmod(fd, uint32(w.mode)) //nolint:gosec // checked
	}
	return nil
}

// backup keeps the old bytes.
func backup(ctx *provider.Context, r provider.Resource) error {
	suffix, path := textOf(r, "backup"), textOf(r, "path")
	if suffix == "" {
		return nil
	}
	old, err := os.Open(path) //nolint:gosec // it was found to be a regular file
	if err != nil {
		return explain("back up "+path, err)
	}
	defer old.Close()
	info, err := old.Stat()
	if err != nil {
		return explain("back up "+path, err)
	}
	st, _ := info.Sys().(*syscall.Stat_t)
	w := wanted{uid: int(st.Uid), gid: int(st.Gid), mode: int(info.Mode().Perm())}
	ctx.Info("keeping the old content", "path", path+suffix)
	return put(path+suffix, w, old)
}

// replace puts the wanted file in place.
func replace(ctx *provider.Context, r provider.Resource) error {
	w, err := wantedOf(r)
	if err != nil {
		return err
	}
	if w.mode < 0 {
		w.mode = 0o644
		if info, err := os.Lstat(textOf(r, "path")); err == nil && info.Mode().IsRegular() {
			w.mode = int(info.Mode().Perm())
		}
	}
	var src io.Reader = bytes.NewReader(nil)
	switch c := r.Attributes["content"].(type) {
	case string:
		src = strings.NewReader(c)
	case resource.File:
		f, err := ctx.Files().Open(ctx, c.Hash)
		if err != nil {
			return fmt.Errorf("read the uploaded file: %w", err)
		}
		defer f.Close()
		src = f
	}
	return put(textOf(r, "path"), w, src)
}

// put writes a file without a name, syncs it, and gives it its name: at once when nothing is there, else by renaming it over what is.
// Nothing is left behind by a crash but, for an instant, the leftover name.
func put(path string, w wanted, src io.Reader) error {
	dir := filepath.Dir(path)
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EINVAL) {
		return putNamed(path, w, src)
	}
	if err != nil {
		return explain("write "+path, err)
	}
	defer unix.Close(fd)
	if err := fill(fd, w, src); err != nil {
		return explain("write "+path, err)
	}
	from := fmt.Sprintf("/proc/self/fd/%d", fd)
	err = unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	if !errors.Is(err, unix.EEXIST) {
		return explain("write "+path, err)
	}
	tmp := leftover(path)
	_ = unix.Unlink(tmp)
	if err := unix.Linkat(unix.AT_FDCWD, from, unix.AT_FDCWD, tmp, unix.AT_SYMLINK_FOLLOW); err != nil {
		return explain("write "+path, err)
	}
	return rename(tmp, path)
}

func rename(tmp, path string) error {
	if err := unix.Rename(tmp, path); err != nil {
		_ = unix.Unlink(tmp)
		return explain("replace "+path, err)
	}
	return nil
}

// putNamed is put for file systems that cannot make files without a name.
func putNamed(path string, w wanted, src io.Reader) error {
	tmp := leftover(path)
	_ = unix.Unlink(tmp)
	fd, err := unix.Open(tmp, unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return explain("write "+path, err)
	}
	defer unix.Close(fd)
	if err := fill(fd, w, src); err != nil {
		_ = unix.Unlink(tmp)
		return explain("write "+path, err)
	}
	return rename(tmp, path)
}

func fill(fd int, w wanted, src io.Reader) error {
	buf := buffers.Get().(*[]byte) //nolint:forcetypeassert // its own
	defer buffers.Put(buf)
	if _, err := io.CopyBuffer(fdWriter(fd), onlyReader{src}, *buf); err != nil {
		return err
	}
	if err := w.set(fd); err != nil {
		return err
	}
	return unix.Fsync(fd)
}

type fdWriter int

// Write implements io.Writer.
func (w fdWriter) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := unix.Write(int(w), p[done:])
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return done, err //nolint:wrapcheck // classified by the caller
		}
		done += n
	}
	return done, nil
}

func syncDir(dir string) error {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Fsync(fd)
}

// syncers is how many files of a batch are written at the same time: their syncs share commits of the file system's journal.
const syncers = 16

// ReadBatch implements provider.BatchReader.
func (f file) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	spread(len(items), runtime.GOMAXPROCS(0), func(i int) {
		out[i].Observation, out[i].Err = f.Read(items[i].Context, items[i].ReadRequest)
	})
	return out
}

// ApplyBatch implements provider.BatchApplier: files are synced side by side, and each directory once for all of them.
func (f file) ApplyBatch(_ context.Context, items []provider.BatchChange) []provider.Applied {
	out := make([]provider.Applied, len(items))
	spread(len(items), syncers, func(i int) {
		out[i].Err = apply(items[i].Context, items[i].Resource, items[i].Change, items[i].Changes)
	})
	failed := map[string]error{}
	for i := range items {
		if out[i].Err != nil {
			continue
		}
		dir := filepath.Dir(textOf(items[i].Resource, "path"))
		err, done := failed[dir]
		if !done {
			err = explain("sync "+dir, syncDir(dir))
			failed[dir] = err
		}
		out[i].Err = err
	}
	return out
}

// spread calls f for 0..n-1 from some goroutines. A panic in one of them is passed on to the caller.
func spread(n, workers int, f func(i int)) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var panicked any
	next := 0
	for range min(workers, n) {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					mu.Lock()
					panicked = p
					mu.Unlock()
				}
			}()
			for {
				mu.Lock()
				from := next
				next += 8
				mu.Unlock()
				if from >= n {
					return
				}
				for i := from; i < min(from+8, n); i++ {
					f(i)
				}
			}
		})
	}
	wg.Wait()
	if panicked != nil {
		panic(panicked)
	}
}
