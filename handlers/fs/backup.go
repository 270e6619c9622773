package fs

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

const (
	defaultSuffix = ".bak" // what backup: true means
	maxBackups    = 10_000
	numberRoom    = 5 // bytes of the number that a name may get
)

// suffixOf returns the suffix of the name under which the old bytes are kept, "" for not at all.
func suffixOf(r provider.Resource) string {
	switch s := r.Attributes["backup"].(type) {
	case string:
		return s
	case bool:
		if s {
			return defaultSuffix
		}
	}
	return ""
}

func validBackup(attrs map[string]any) []diag.Problem {
	path, _ := attrs["path"].(string)
	_, base := split(path)
	suffix := suffixOf(provider.Resource{Attributes: attrs})
	if suffix != "" && len(base)+len(suffix)+numberRoom > maxName {
		return []diag.Problem{{Attribute: "backup",
			Message: fmt.Sprintf("the name with this suffix and a number has more than %d bytes",
				maxName),
			Hint: "choose a shorter suffix"}}
	}
	return nil
}

// backupAttribute is backup, of what a change may take away.
func backupAttribute(changes string) schema.Attribute {
	return schema.Attribute{Name: "backup", Type: `Optional[Variant[Boolean,Pattern[/\A[^\/]+\z/]]]`, Behaviour: schema.Parameter,
		Description: "keeps what a change " + changes + ` beside it, under its name with this suffix, and a number when there is such a file already: ` +
			`"motd.bak", "motd.bak.1"; true means "` + defaultSuffix + `"`}
}

// tidyBackup removes what a crash left of a backup that was being made.
func (d *folder) tidyBackup(base, suffix string) error {
	if suffix == "" {
		return nil
	}
	return d.tidy(base + suffix)
}

// keepOld gives what is about to be replaced or removed a second name, under which it stays: the
// first that is free of "motd.bak", "motd.bak.1", and so on, so what was kept is never lost.
// Nothing is copied where the system allows that. The file keeps its own name meanwhile, so a crash
// leaves it where it was. Bytes that are kept already, as by a run that was cut short, are not kept
// twice.
func keepOld(t *task) error {
	suffix := t.suffix
	if suffix == "" {
		return nil
	}
	var old unix.Stat_t
	if err := t.dir.stat(t.base, &old); err != nil {
		return unlessGone(err)
	}
	// A program that may run as another user must not stay usable under another name: it is copied
	// without that right.
	keep := t.dir.hardLink
	if old.Mode&unix.S_IFMT == unix.S_IFREG && old.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		keep = t.copyTo
	}
	name := t.base + suffix
	for n := 1; n <= maxBackups; n++ {
		err := keep(t.base, name)
		if linksRefused(err) {
			keep = t.copyTo
			err = keep(t.base, name)
		}
		switch {
		case err == nil:
			t.ctx.Info("kept what was there before", "path", t.path, "name", name)
			return nil
		case !errors.Is(err, unix.EEXIST):
			return fmt.Errorf("keep the old file as %s: %w", name, err)
		}
		if same, err := t.keptAs(name, &old); err != nil || same {
			return err
		}
		name = t.base + suffix + "." + strconv.Itoa(n)
	}
	return provider.Errorf(provider.Terminal, "there are %d backups of it; remove some", maxBackups)
}

// keptAs reports whether a thing is kept under a name already: as itself, or as a copy.
func (t *task) keptAs(name string, old *unix.Stat_t) (bool, error) {
	var kept, now unix.Stat_t
	err := t.dir.stat(name, &kept)
	if err != nil || kept.Ino == old.Ino && kept.Dev == old.Dev {
		return err == nil, unlessGone(err)
	}
	kind := old.Mode & unix.S_IFMT
	switch {
	case kept.Size != old.Size || kept.Mode&unix.S_IFMT != kind:
		return false, nil
	case kind == unix.S_IFLNK:
		a, err := t.dir.readLink(t.base, make([]byte, maxTarget))
		if err != nil {
			return false, err
		}
		b, err := t.dir.readLink(name, make([]byte, maxTarget))
		return a == b, err
	case kind != unix.S_IFREG:
		return false, nil
	}
	a, b := openFile{-1, nil}, openFile{-1, nil}
	defer a.close()
	defer b.close()
	if a.fd, err = t.dir.open(t.base, &now); err != nil {
		return false, err
	}
	if b.fd, err = t.dir.open(name, &kept); err != nil || kept.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, err
	}
	return sameBytes(t.ctx, a, b)
}

// linksRefused reports whether there can be no second name for a thing, so that it has to be
// copied.
func linksRefused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EMLINK) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.ENOSYS)
}

// copyTo makes a copy of a file or a link, which appears under its name as a whole.
func (t *task) copyTo(base, name string) error {
	var st unix.Stat_t
	switch err := t.dir.stat(name, &st); {
	case err == nil:
		return unix.EEXIST
	case !gone(err):
		return err
	}
	if err := t.dir.stat(base, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		target, err := t.dir.readLink(base, make([]byte, maxTarget))
		if err != nil {
			return err
		}
		return t.dir.symLink(target, name)
	}
	fd, err := t.dir.open(base, &st)
	if err != nil {
		return err
	}
	from := openFile{fd, nil}
	defer from.close()
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return provider.Errorf(provider.Retryable, "it has become %s", kindOf(&st))
	}
	// The hidden name of the first backup serves all of them, as that is where the next run looks.
	hidden := t.base + t.suffix
	to, err := t.dir.hidden(hidden)
	if err != nil {
		return err
	}
	defer to.close()
	if err = t.copyInto(to, from, &st, wanted{-1, -1, -1}); err == nil {
		err = to.sync()
	}
	if err == nil {
		err = t.dir.rename(leftover(hidden), name)
	}
	if err != nil {
		_ = t.dir.tidy(hidden)
	}
	return err
}

// copyInto copies bytes, and owner, group and mode where nothing else is asked for.
func (t *task) copyInto(to, from openFile, st *unix.Stat_t, asked wanted) error {
	buf := buffers.Get().(*[]byte) //nolint:forcetypeassert // its own
	defer buffers.Put(buf)
	if _, err := pump(t.ctx, to, nil, from, *buf); err != nil {
		return err
	}
	if err := copyAttributes(from, to); err != nil {
		return err
	}
	return t.keep(to, st, asked)
}

// copyAttributes gives the new file what the one that it replaces has beside owner, group and mode.
// One that may not be read keeps nothing of it.
func (t *task) copyAttributes() error {
	var st unix.Stat_t
	fd, err := t.dir.open(t.base, &st)
	if errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	old := openFile{fd, t.dir.sys}
	defer old.close()
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return provider.Errorf(provider.Retryable, "it has become %s", kindOf(&st))
	}
	return copyAttributes(old, t.file)
}

// keep gives what takes the place of another thing what is asked for, and for the rest what that
// one has.
func (t *task) keep(f openFile, st *unix.Stat_t, asked wanted) error {
	full, kept := asked.keep(st, t.dir.sys.uid())
	if !kept {
		t.ctx.Warning("only the superuser may keep the owner of a file that is replaced; it is now the one this runs as", "path", t.path)
	}
	return full.setKeeping(f, asked)
}
