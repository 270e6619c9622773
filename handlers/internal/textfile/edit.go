// Package textfile is for handlers of things that are parts of text files. Texts implements the
// handler, Editor changes the files durably, Lines and Block find places in a text.
package textfile

import (
	"context"
	"errors"
	"io"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

const (
	maxEdited = 32 << 20 // largest file that is changed in part, as it is held in memory
	maxTries  = 5        // how often a file is read again because it was changed concurrently
)

// Editor reads and changes parts of text files, for handlers whose things are lines of a shared
// file. It replaces a changed file as a whole and durably, and preserves owner, mode and extended
// attributes. A file that is a mount point, such as /etc/hosts in a container, cannot be replaced,
// and is written in place. A symbolic link is rejected, never followed. Editors lock each other
// out, also those of other processes, so that none loses the change of another. The zero value is
// ready to use.
type Editor struct{ Sys *disk.System }

// Text is the content of a file.
type Text struct {
	Exists bool
	Bytes  string
}

// Read returns the content of a file; Exists is false for a missing one. Read removes the remains
// of a crash, except in a dry run.
func (e Editor) Read(ctx *provider.Context, path string) (Text, error) {
	dir, base, err := disk.Place(path)
	if err != nil {
		return Text{}, err
	}
	d, err := disk.OpenFolder(e.Sys, dir)
	if disk.Gone(err) {
		return Text{}, nil
	}
	if err != nil {
		return Text{}, disk.Explain("read "+path, err)
	}
	defer d.Close()
	if !ctx.DryRun() {
		e.tidy(d, base)
	}
	f, text, err := textOf(ctx, d, base)
	f.Close()
	return text, disk.Explain("read "+path, err)
}

// tidy removes the remains of a crash, unless another process is working there; the next change
// removes them in any case.
func (e Editor) tidy(d *disk.Folder, base string) {
	var st unix.Stat_t
	if d.Blind || d.Stat(disk.Leftover(base), &st) != nil ||
		unix.Flock(d.FD, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	_ = d.Tidy(base)
	_ = unix.Flock(d.FD, unix.LOCK_UN)
}

// Edit replaces the content of a file by the result of change. If the result does not exist, the
// file is removed. change may be called more than once and must have no side effects. If the result
// equals the content, Edit does nothing.
func (e Editor) Edit(
	ctx *provider.Context, path string, m Manner, change func(Text) (Text, error),
) error {
	dir, base, err := disk.Place(path)
	if err != nil {
		return err
	}
	d, err := disk.OpenFolder(e.Sys, dir)
	if disk.Gone(err) {
		if after, err := change(Text{}); err != nil || !after.Exists {
			return err
		}
	}
	if err != nil {
		return disk.Explain("change "+path, err)
	}
	defer d.Close()
	if err := d.Writable(); err != nil {
		return disk.Explain("change "+path, err)
	}
	if err := disk.WaitForLock(ctx, d.FD); err != nil { // closing it unlocks it
		return disk.Explain("wait for another change of "+path, err)
	}
	for range maxTries {
		again, err := edit(ctx, d, path, base, m, change)
		if err != nil || !again {
			return disk.Explain("change "+path, err)
		}
	}
	return provider.Errorf(provider.Retryable, "change %s: something else changes it all the time",
		path)
}

// textOf opens a file and reads it; the caller closes it, if it is open.
func textOf(ctx context.Context, d *disk.Folder, base string) (disk.File, Text, error) {
	f := disk.File{FD: -1, Sys: d.Sys}
	if err := ctx.Err(); err != nil {
		return f, Text{}, err
	}
	var st unix.Stat_t
	fd, err := d.Open(base, &st)
	switch {
	case errors.Is(err, unix.ELOOP):
		return f, Text{}, provider.Errorf(provider.NeedsChange,
			"the path is a symbolic link; name the file that it leads to")
	case disk.Gone(err):
		return f, Text{}, nil
	case err != nil:
		return f, Text{}, err
	}
	f.FD = fd
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return f, Text{}, provider.Errorf(provider.NeedsChange,
			"the path holds %s, not a regular file", disk.KindOf(&st))
	case st.Size > maxEdited:
		return f, Text{}, provider.Errorf(provider.NeedsChange,
			"the file has %d bytes; at most %d can be changed in part", st.Size, maxEdited)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	return f, Text{true, string(data)}, err
}

// edit makes one attempt; again reports that the file has changed concurrently.
func edit(
	ctx *provider.Context, d *disk.Folder, path, base string, m Manner,
	change func(Text) (Text, error),
) (again bool, err error) {
	if err := errors.Join(d.Tidy(base), d.TidyBackup(base, m.Backup)); err != nil {
		return false, err
	}
	old, before, err := textOf(ctx, d, base)
	defer old.Close() //nolint:staticcheck // it may be open with an error, too
	if err != nil {
		return false, err
	}
	after, err := change(before)
	if err != nil || after == before || !after.Exists && !before.Exists {
		return false, err
	}
	var was unix.Stat_t
	if before.Exists {
		if err := unix.Fstat(old.FD, &was); err != nil {
			return false, err
		}
	}
	if !after.Exists {
		if same, err := d.Unchanged(base, &was, true); err != nil || !same {
			return err == nil, err
		}
		if err := d.Remove(base); err != nil {
			return false, err
		}
		return false, d.Sync()
	}
	return replace(ctx, d, path, base, old, &was, m, after.Bytes)
}

// replace replaces old, which may be no file, by a file with other bytes.
func replace(
	ctx *provider.Context, d *disk.Folder, path, base string, old disk.File, was *unix.Stat_t,
	m Manner, bytes string,
) (again bool, err error) {
	f, named, err := d.Temporary(base, len(m.Checks) > 0)
	if err != nil {
		return false, err
	}
	defer f.Close()
	published := false
	defer func() {
		if named && !published {
			_ = d.Tidy(base)
		}
	}()
	owner := m.UID
	if old.FD >= 0 {
		owner = int(was.Uid)
	}
	if err := d.Disinherit(f, owner); err != nil {
		return false, err
	}
	if _, err := f.Write([]byte(bytes)); err != nil {
		return false, err
	}
	if old.FD < 0 {
		err = disk.Perm{UID: m.UID, GID: m.GID, Mode: m.Mode}.Set(f)
	} else {
		e := &disk.Slot{Ctx: ctx, Path: path, Dir: d}
		if err = e.Keep(f, was, disk.Perm{UID: -1, GID: -1, Mode: -1}); err == nil {
			err = disk.CopyAttributes(old, f, true)
		}
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = Valid(ctx, d, m.Checks, base)
	}
	if err == nil {
		err = ctx.Err() // a canceled caller may already have started the next run
	}
	if err != nil {
		return false, err
	}
	if same, err := d.Unchanged(base, was, old.FD >= 0); err != nil || !same {
		return err == nil, err
	}
	if err := (&disk.Slot{Ctx: ctx, Path: path, Dir: d, Base: base,
		Suffix: m.Backup}).KeepOld(); err != nil {
		return false, err
	}
	if named {
		err = d.Take(base)
	} else {
		err = d.Place(f, base, old.FD < 0)
	}
	if errors.Is(err, unix.EBUSY) && old.FD >= 0 {
		_ = d.Tidy(base)
		ctx.Warning("something is mounted on the file, so it cannot be replaced; it is written "+
			"in place", "path", path)
		return false,
			d.Overwrite(base, func(f disk.File) error {
				_, err := f.Write([]byte(bytes))
				return err
			})
	}
	if err != nil {
		return false, err
	}
	published = true
	return false, d.Sync()
}

// Real returns a name of a file that does not depend on the path to its directory.
func (e Editor) Real(path string) string {
	dir, base, err := disk.Place(path)
	if err != nil {
		return path
	}
	d, err := disk.OpenFolder(e.Sys, dir)
	if err != nil {
		return path
	}
	defer d.Close()
	return d.Real(base)
}

// Lacks returns the directory of a file if the directory is missing.
func (e Editor) Lacks(path string) string {
	dir, _, err := disk.Place(path)
	if err != nil || !disk.Missing(e.Sys, dir) {
		return ""
	}
	return dir
}

// Writable returns why a file could not be changed, as far as that is known in advance. A path that
// is not absolute is not checked, and a missing directory may be made first.
func (e Editor) Writable(path string) error {
	if path == "" || path[0] != '/' {
		return nil
	}
	dir, _, err := disk.Place(path)
	if err != nil {
		return err
	}
	return disk.Explain("change "+path, disk.MayWrite(e.Sys, dir))
}
