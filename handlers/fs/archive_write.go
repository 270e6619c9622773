package fs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"southbound/handlers/internal/textfile"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// unpacked is the directory into which an archive is unpacked. No operation leads out of it.
type unpacked struct {
	sys    *disk.System
	ctx    context.Context
	folder *disk.Folder
	root   *os.Root
	want   disk.Perm
	quick  bool
	list   string // the name of the manifest
	// made are the directories that were unpacked before.
	made map[string]bool
}

// openTree opens the directory at a path. The caller closes it.
func (h archive) openTree(
	ctx *provider.Context, r provider.Resource, path string,
) (*unpacked, error) {
	d, err := disk.OpenFolder(h.sys, path)
	if err != nil {
		return nil, err
	}
	t := &unpacked{sys: h.sys, ctx: ctx, folder: d, quick: text(r, "verify") == "quick",
		list: manifestName(r)}
	if !r.Purged {
		var known owners
		if t.want, err = known.wantedOf(r); err != nil {
			d.Close()
			return nil, err
		}
	}
	if t.root, err = disk.OpenRoot(d); err != nil {
		d.Close()
		return nil, err
	}
	return t, nil
}

func (t *unpacked) close() {
	_ = t.root.Close()
	t.folder.Close()
}

// manifest reads the list, nil if there is none.
func (t *unpacked) manifest() (*manifest, error) {
	info, err := t.root.Lstat(t.list)
	if disk.Gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxManifest {
		return nil, provider.Errorf(provider.Terminal,
			"%s was changed by another program; remove it by hand", t.list)
	}
	data, err := t.root.ReadFile(t.list)
	if err != nil {
		return nil, err
	}
	m := &manifest{}
	if err := json.Unmarshal(data, m); err != nil || m.Format != manifestFormat {
		return nil, provider.Errorf(provider.Terminal,
			"%s was changed by another program; remove it by hand, and the unpacked files", t.list)
	}
	for _, e := range m.Entries {
		if name, err := entryName(e.Name, 0); err != nil || name != e.Name || name == "" {
			return nil, provider.Errorf(provider.Terminal,
				"%s names %q; remove it by hand, and the unpacked files", t.list, e.Name)
		}
	}
	return m, nil
}

// writeManifest replaces the list, durably.
func (t *unpacked) writeManifest(m *manifest) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return t.replace(t.list, func(f *os.File) error {
		if _, err := f.Write(append(data, '\n')); err != nil {
			return err
		}
		if err := f.Chmod(textfile.DefaultMode); err != nil {
			return err
		}
		return f.Sync()
	})
}

// replace makes a file beside its final path and renames it.
func (t *unpacked) replace(name string, fill func(f *os.File) error) error {
	aside := asideOf(name)
	if err := t.remove(aside); err != nil {
		return err
	}
	var f *os.File
	err := t.sys.Do("create", func() (err error) {
		f, err = t.root.OpenFile(aside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = t.sys.Do("write", func() error { return fill(f) })
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = t.sys.Do("rename", func() error { return t.root.Rename(aside, name) })
	}
	if err != nil {
		_ = t.remove(aside)
	}
	return err
}

func asideOf(name string) string {
	dir, base := path.Split(name)
	return dir + disk.Leftover(base)
}

// remove removes one thing, a directory only if it is empty; a missing thing is no error.
func (t *unpacked) remove(name string) error {
	if _, err := t.root.Lstat(name); err != nil {
		return disk.UnlessGone(err)
	}
	return disk.UnlessGone(t.sys.Do("unlink", func() error { return t.root.Remove(name) }))
}

// below reports whether all directories above a name are still directories: files behind a link
// that replaced one of them were not unpacked.
func (t *unpacked) below(name string) (bool, error) {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		info, err := t.root.Lstat(dir)
		if err == nil && !info.IsDir() || disk.Gone(err) {
			return false, nil
		}
		if err == nil {
			continue
		}
		if above, e := t.below(dir); e != nil || !above { // it may itself be behind such a link
			return false, e
		}
		return false, err
	}
	return true, nil
}

// take removes the thing of an entry, and the remains of a crash beside it. A directory that is not
// empty is kept.
func (t *unpacked) take(e entry) error {
	if there, err := t.below(e.Name); err != nil || !there {
		return err
	}
	if err := t.remove(asideOf(e.Name)); err != nil {
		return err
	}
	info, err := t.root.Lstat(e.Name)
	if err != nil || info.IsDir() != (e.Kind == kindDir) {
		return disk.UnlessGone(err)
	}
	err = t.remove(e.Name)
	if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// differs reports whether the existing thing differs from an entry.
func (t *unpacked) differs(e entry, buf []byte) (bool, error) {
	if err := t.ctx.Err(); err != nil {
		return false, err
	}
	info, err := t.root.Lstat(e.Name)
	if disk.Gone(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if e.Kind == kindDir {
		return !info.IsDir(), nil
	}
	if uid, gid := idsOf(info); t.want.UID >= 0 && t.want.UID != uid ||
		t.want.GID >= 0 && t.want.GID != gid {
		return true, nil
	}
	if e.Kind == kindLink {
		if info.Mode()&fs.ModeSymlink == 0 {
			return true, nil
		}
		target, err := t.root.Readlink(e.Name)
		return target != e.Target, disk.UnlessGone(err)
	}
	if !info.Mode().IsRegular() || info.Size() != e.Size || uint32(info.Mode())&0o7777 != e.Mode ||
		info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		return true, nil
	}
	if t.quick {
		return info.ModTime().Unix() != e.Time, nil
	}
	f, err := t.root.Open(e.Name)
	if err != nil {
		return true, disk.UnlessGone(err)
	}
	defer f.Close()
	h := sha256.New()
	_, err = disk.Pump(t.ctx, nil, h, f, buf)
	return hex.EncodeToString(h.Sum(nil)) != e.Hash, err
}

// drifted returns the names of things that differ from the manifest.
func (t *unpacked) drifted(entries []entry) (map[string]bool, error) {
	buf := disk.Buffers.Get().(*[]byte)
	defer disk.Buffers.Put(buf)
	out := map[string]bool{}
	for _, e := range entries {
		if out[path.Dir(e.Name)] {
			// with its directory, as directories precede their entries
			out[e.Name] = true
			continue
		}
		differs, err := t.differs(e, *buf)
		if err != nil {
			return nil, err
		}
		if differs {
			out[e.Name] = true
		}
	}
	return out, nil
}

// bring makes the tree match the archive; old is the list of things unpacked before.
func (t *unpacked) bring(
	ctx *provider.Context, r provider.Resource, s *spooled, c *contents, old *manifest,
) error {
	strip, _ := r.Attributes["strip"].(int64)
	m := &manifest{Format: manifestFormat, Source: s.hash, SHA512: s.sha512, Strip: strip,
		Entries: c.entries}
	var obsolete []entry
	if old != nil {
		m.Made = old.Made
		t.made = map[string]bool{}
		for _, e := range old.Entries {
			t.made[e.Name] = e.Kind == kindDir
			if i, known := c.at[e.Name]; !known || c.entries[i].Kind != e.Kind {
				obsolete = append(obsolete, e)
			}
		}
	}
	todo, err := t.drifted(c.entries)
	if err != nil {
		return err
	}
	unfinished := *m
	unfinished.Entries = append(slices.Clone(m.Entries), obsolete...)
	if err := t.writeManifest(&unfinished); err != nil {
		return err
	}
	for _, e := range slices.Backward(obsolete) {
		if err := t.take(e); err != nil {
			return err
		}
	}
	if old != nil && !old.Complete {
		for _, e := range c.entries {
			there, err := t.below(e.Name)
			if there && err == nil {
				err = t.remove(asideOf(e.Name))
			}
			if err != nil {
				return err
			}
		}
	}
	if err := t.unpack(ctx, r, s, c, todo); err != nil {
		return err
	}
	if err := t.sys.Do("fsync", func() error { return disk.SyncAll(t.folder.FD) }); err != nil {
		return err
	}
	m.Complete = true
	if err := t.writeManifest(m); err != nil {
		return err
	}
	return t.folder.Sync()
}

// unpack writes the differing things: directories, then files in the order of the archive, then
// links.
func (t *unpacked) unpack(
	ctx *provider.Context, r provider.Resource, s *spooled, c *contents, todo map[string]bool,
) error {
	for _, e := range c.entries {
		if e.Kind == kindDir && todo[e.Name] {
			if err := t.makeDir(e); err != nil {
				return err
			}
		}
	}
	strip, _ := r.Attributes["strip"].(int64)
	err := s.each(ctx, func(u unit) error {
		name, err := entryName(u.name, strip)
		if err != nil || u.kind != kindFile || !todo[name] {
			return err
		}
		e := c.entries[c.at[name]]
		if u.hard != "" {
			hard, err := entryName(u.hard, strip)
			if err != nil {
				return err
			}
			from, err := t.root.Open(hard)
			if err != nil {
				return err
			}
			defer from.Close()
			u.body = from
		}
		switch err := t.makeFile(e, u.body); {
		case err == nil:
			delete(todo, name)
		case !errors.Is(err, errOther):
			return provider.Errorf(provider.ClassOf(disk.Explain("", err)), "%w: %s: %w", errOwn,
				name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range c.entries {
		switch {
		case !todo[e.Name] || e.Kind == kindDir:
		case e.Kind == kindFile:
			return provider.Errorf(provider.Retryable, "the archive was changed while it was read")
		default:
			if err := t.makeLink(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// makeDir makes a directory. A link that replaced an unpacked directory is removed. If no directory
// was unpacked there, the existing thing belongs to another program, and is an error.
func (t *unpacked) makeDir(e entry) error {
	if info, err := t.root.Lstat(e.Name); err == nil && info.Mode()&fs.ModeSymlink != 0 &&
		t.made[e.Name] {
		if err := t.remove(e.Name); err != nil {
			return err
		}
	} else if err == nil {
		return provider.Errorf(provider.NeedsChange,
			"%s is there, as %s, and a directory in the archive; remove it", e.Name, info.Mode())
	}
	aside := asideOf(e.Name)
	if err := t.remove(aside); err != nil {
		return err
	}
	if err := t.sys.Do("mkdir", func() error { return t.root.Mkdir(aside, 0o700) }); err != nil {
		return err
	}
	if err := t.own(aside, e); err != nil {
		return err
	}
	return t.sys.Do("rename", func() error { return t.root.Rename(aside, e.Name) })
}

// own sets the owner and mode of a new directory through one descriptor: the owner of its parent
// may have replaced it.
func (t *unpacked) own(name string, e entry) error {
	dir, err := t.root.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	made := disk.File{FD: int(dir.Fd()), Sys: t.sys}
	if err := made.Empty(); err != nil {
		return err
	}
	return disk.Perm{UID: t.want.UID, GID: t.want.GID, Mode: int(e.Mode | 0o700)}.Set(made)
}

// ownLink sets the owner of a new link, and of no other thing.
func (t *unpacked) ownLink(name string) error {
	dir, err := t.root.Open(path.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	in := &disk.Folder{Sys: t.sys, FD: int(dir.Fd())}
	return in.Own(path.Base(name), t.want, t.want)
}

// errOther means that the bytes are not those of the entry, for example because a name occurs
// twice.
var errOther = errors.New("other bytes")

// blocked returns an error if a directory is at the path of a file or a link of the archive, or the
// reverse. A person may have made it.
func (t *unpacked) blocked(e entry) error {
	info, err := t.root.Lstat(e.Name)
	switch {
	case err != nil: // the write reports other errors of the name
		return nil
	case info.IsDir() && e.Kind == kindFile:
		return provider.Errorf(provider.NeedsChange,
			"there is a directory, and the archive has a file; remove it")
	case info.IsDir() && e.Kind != kindDir:
		return provider.Errorf(provider.NeedsChange,
			"there is a directory, and the archive has a link; remove it")
	case e.Kind == kindDir && !info.IsDir() && info.Mode()&fs.ModeSymlink == 0:
		return provider.Errorf(provider.NeedsChange,
			"there is a file, and the archive has a directory; remove it")
	}
	return nil
}

func (t *unpacked) makeFile(e entry, body io.Reader) error {
	if err := t.blocked(e); err != nil {
		return err
	}
	return t.replace(e.Name, func(f *os.File) error {
		h := sha256.New()
		n, err := copyAll(t.ctx, io.MultiWriter(f, h), io.LimitReader(body, e.Size+1))
		if err != nil {
			return err
		}
		if n != e.Size || hex.EncodeToString(h.Sum(nil)) != e.Hash {
			return errOther
		}
		if t.want.UID >= 0 || t.want.GID >= 0 {
			if err := f.Chown(t.want.UID, t.want.GID); err != nil {
				return err
			}
		}
		if err := f.Chmod(fs.FileMode(e.Mode)); err != nil {
			return err
		}
		when := time.Unix(e.Time, 0)
		return t.root.Chtimes(asideOf(e.Name), when, when)
	})
}

func (t *unpacked) makeLink(e entry) error {
	if info, err := t.root.Lstat(e.Name); err == nil && info.IsDir() {
		return provider.Errorf(provider.NeedsChange,
			"%s is a directory, and a link in the archive; remove it", e.Name)
	}
	aside := asideOf(e.Name)
	if err := t.remove(aside); err != nil {
		return err
	}
	if err := t.sys.Do("symlink",
		func() error { return t.root.Symlink(e.Target, aside) }); err != nil {
		return err
	}
	if err := t.ownLink(aside); err != nil {
		return err
	}
	return t.sys.Do("rename", func() error { return t.root.Rename(aside, e.Name) })
}
