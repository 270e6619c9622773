package fs

import (
	"context"
	"errors"
	"io"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

const (
	maxEdited = 32 << 20 // bytes of a file that is changed in part, as it is held in memory
	maxTries  = 5        // times a file is read again because something else changed it meanwhile
)

// Editor reads and changes text files in part, for handlers whose things are lines of a file that
// belongs to others, too. What it changes it replaces as a whole and durably, and keeps owner, mode
// and extended attributes; a file that something is mounted on, as /etc/hosts in a container, is
// written in place, as it cannot be replaced. A symbolic link is refused, never followed. Editors
// lock each other out, those of other processes included, so that none loses the change of another.
// The zero value is ready for use.
type Editor struct{ sys *system }

// NewEditor returns an editor that asks before each call that reaches the disk, and fails as it
// says: a means to test what a crash leaves.
func NewEditor(before func(call string) error) Editor { return Editor{&system{before: before}} }

// Text is what a file holds.
type Text struct {
	Exists bool
	Bytes  string
}

// Read returns what a file holds; one that is missing does not exist. What a crash left beside it
// is removed, except in a dry run.
func (e Editor) Read(ctx *provider.Context, path string) (Text, error) {
	dir, base, err := split2(path)
	if err != nil {
		return Text{}, err
	}
	d, err := openFolder(e.sys, dir)
	if gone(err) {
		return Text{}, nil
	}
	if err != nil {
		return Text{}, explain("read "+path, err)
	}
	defer d.close()
	if !ctx.DryRun() {
		e.tidy(d, base)
	}
	f, text, err := d.text(ctx, base)
	f.close()
	return text, explain("read "+path, err)
}

// tidy removes what a crash left, unless somebody is at work there; the next change removes it in
// any case.
func (e Editor) tidy(d *folder, base string) {
	var st unix.Stat_t
	if d.blind || d.stat(leftover(base), &st) != nil || unix.Flock(d.fd, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	_ = d.tidy(base)
	_ = unix.Flock(d.fd, unix.LOCK_UN)
}

// Edit changes a file to what change makes of it; what does not exist in the end is removed. change
// may be called more than once and changes nothing itself. When it leaves the text as it is,
// nothing is done.
func (e Editor) Edit(ctx *provider.Context, path string, m Manner, change func(Text) (Text, error)) error {
	dir, base, err := split2(path)
	if err != nil {
		return err
	}
	d, err := openFolder(e.sys, dir)
	if gone(err) {
		if after, err := change(Text{}); err != nil || !after.Exists {
			return err
		}
	}
	if err != nil {
		return explain("change "+path, err)
	}
	defer d.close()
	if err := d.writable(); err != nil {
		return explain("change "+path, err)
	}
	if err := waitForLock(ctx, d.fd); err != nil { // closing it unlocks it
		return explain("wait for another change of "+path, err)
	}
	for range maxTries {
		again, err := d.edit(ctx, path, base, m, change)
		if err != nil || !again {
			return explain("change "+path, err)
		}
	}
	return provider.Errorf(provider.Retryable, "change %s: something else changes it all the time", path)
}

// split2 returns the directory of a path and the name in it, and refuses what is not an absolute
// path in its shortest form.
func split2(path string) (dir, base string, err error) {
	return place(provider.Resource{Attributes: map[string]any{"path": path}})
}

// text opens a file and reads it; the caller closes it, if it is open.
func (d *folder) text(ctx context.Context, base string) (openFile, Text, error) {
	f := openFile{-1, d.sys}
	if err := ctx.Err(); err != nil {
		return f, Text{}, err
	}
	var st unix.Stat_t
	fd, err := d.open(base, &st)
	switch {
	case errors.Is(err, unix.ELOOP):
		return f, Text{}, provider.Errorf(provider.NeedsChange, "what is there is a symbolic link; name the file that it leads to")
	case gone(err):
		return f, Text{}, nil
	case err != nil:
		return f, Text{}, err
	}
	f.fd = fd
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return f, Text{}, provider.Errorf(provider.NeedsChange, "what is there is %s, no regular file", kindOf(&st))
	case st.Size > maxEdited:
		return f, Text{}, provider.Errorf(provider.NeedsChange,
			"the file has %d bytes; at most %d can be changed in part", st.Size, maxEdited)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxEdited+1))
	return f, Text{true, string(data)}, err
}

// edit makes one try; again says that the file has changed meanwhile.
func (d *folder) edit(ctx *provider.Context, path, base string, m Manner, change func(Text) (Text, error)) (again bool, err error) {
	if err := errors.Join(d.tidy(base), d.tidyBackup(base, m.backup)); err != nil {
		return false, err
	}
	old, before, err := d.text(ctx, base)
	defer old.close()
	if err != nil {
		return false, err
	}
	after, err := change(before)
	if err != nil || after == before || !after.Exists && !before.Exists {
		return false, err
	}
	var was unix.Stat_t
	if before.Exists {
		if err := unix.Fstat(old.fd, &was); err != nil {
			return false, err
		}
	}
	if !after.Exists {
		if same, err := d.unchanged(base, &was, true); err != nil || !same {
			return err == nil, err
		}
		if err := d.remove(base); err != nil {
			return false, err
		}
		return false, d.sync()
	}
	return d.replace(ctx, path, base, old, &was, m, after.Bytes)
}

// replace puts a file with other bytes in the place of old, which may be none.
func (d *folder) replace(ctx *provider.Context, path, base string, old openFile, was *unix.Stat_t, m Manner, bytes string) (again bool, err error) {
	f, named, err := d.temporary(base, len(m.checks) > 0)
	if err != nil {
		return false, err
	}
	defer f.close()
	published := false
	defer func() {
		if named && !published {
			_ = d.tidy(base)
		}
	}()
	if _, err := f.Write([]byte(bytes)); err != nil {
		return false, err
	}
	if old.fd < 0 {
		err = wanted{m.UID, m.GID, m.Mode}.set(f)
	} else {
		t := &task{ctx: ctx, path: path, dir: d}
		if err = t.keep(f, was, wanted{-1, -1, -1}); err == nil {
			err = copyAttributes(old, f)
		}
	}
	if err == nil {
		err = f.sync()
	}
	if err == nil {
		err = d.valid(ctx, m.checks, base)
	}
	if err == nil {
		err = ctx.Err() // a caller that gave up may have started the next run already
	}
	if err != nil {
		return false, err
	}
	if same, err := d.unchanged(base, was, old.fd >= 0); err != nil || !same {
		return err == nil, err
	}
	if err := keepOld(&task{ctx: ctx, path: path, dir: d, base: base, suffix: m.backup}); err != nil {
		return false, err
	}
	if named {
		err = d.take(base)
	} else {
		err = d.place(f, base, old.fd < 0)
	}
	if errors.Is(err, unix.EBUSY) && old.fd >= 0 {
		_ = d.tidy(base)
		ctx.Warning("something is mounted on the file, so it cannot be replaced; it is written in place", "path", path)
		return false, d.overwrite(base, func(f openFile) error { _, err := f.Write([]byte(bytes)); return err })
	}
	if err != nil {
		return false, err
	}
	published = true
	return false, d.sync()
}

// unchanged reports whether what is there is still what was read.
func (d *folder) unchanged(base string, was *unix.Stat_t, existed bool) (bool, error) {
	var now unix.Stat_t
	err := d.stat(base, &now)
	switch {
	case gone(err):
		return !existed, nil
	case err != nil:
		return false, err
	}
	return existed && now.Dev == was.Dev && now.Ino == was.Ino && now.Size == was.Size && now.Mtim == was.Mtim && now.Ctim == was.Ctim, nil
}

// overwrite writes into the file that is there, which ends where the writing ends.
func (d *folder) overwrite(base string, write func(openFile) error) error {
	fd, err := d.sys.openAt("overwrite", d.fd, base, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	f := openFile{fd, d.sys}
	defer f.close()
	if err := write(f); err != nil {
		return err
	}
	end, err := unix.Seek(fd, 0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if err := d.sys.do("truncate", func() error { return unix.Ftruncate(fd, end) }); err != nil {
		return err
	}
	return f.sync()
}
