package disk

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

const (
	MaxBackups = 10_000
	// NumberRoom is how many bytes the number in the name of a backup may have.
	NumberRoom = 5
)

// Slot is a name in a directory whose entry is changed.
type Slot struct {
	Ctx  *provider.Context
	Path string
	Dir  *Folder
	Base string
	// Suffix is the suffix of the name for backups of removed things, "" for no backups.
	Suffix string
}

// TidyBackup removes the remains of a backup that crashed.
func (d *Folder) TidyBackup(base, suffix string) error {
	if suffix == "" {
		return nil
	}
	return d.Tidy(base + suffix)
}

// KeepOld gives the thing that will be replaced or removed a second name, as a backup. This is the
// first free one of "motd.bak", "motd.bak.1", and so on, so that no backup is lost. It copies
// nothing if the system permits hard links. The file keeps its own name until then, so a crash
// leaves it in place. Bytes that already have a backup, for example from an interrupted run, get no
// second one.
func (s *Slot) KeepOld() error {
	suffix := s.Suffix
	if suffix == "" {
		return nil
	}
	var old unix.Stat_t
	if err := s.Dir.Stat(s.Base, &old); err != nil {
		return UnlessGone(err)
	}
	// A set-user-ID or set-group-ID program must not remain usable under another name: the backup
	// is a copy without these bits.
	keep := s.Dir.hardLink
	if old.Mode&unix.S_IFMT == unix.S_IFREG && old.Mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		keep = s.copyTo
	}
	name := s.Base + suffix
	for n := 1; n <= MaxBackups; n++ {
		err := keep(s.Base, name)
		if linksRefused(err) {
			keep = s.copyTo
			err = keep(s.Base, name)
		}
		switch {
		case err == nil:
			s.Ctx.Info("kept a backup of the previous file", "path", s.Path, "name", name)
			return nil
		case !errors.Is(err, unix.EEXIST):
			return fmt.Errorf("keep the old file as %s: %w", name, err)
		}
		if same, err := s.keptAs(name, &old); err != nil || same {
			return err
		}
		name = s.Base + suffix + "." + strconv.Itoa(n)
	}
	return provider.Errorf(provider.Terminal, "there are %d backups of it; remove some", MaxBackups)
}

// keptAs reports whether a name already has a backup of a thing: the thing itself, or a copy.
func (s *Slot) keptAs(name string, old *unix.Stat_t) (bool, error) {
	var kept, now unix.Stat_t
	err := s.Dir.Stat(name, &kept)
	if err != nil || kept.Ino == old.Ino && kept.Dev == old.Dev {
		return err == nil, UnlessGone(err)
	}
	kind := old.Mode & unix.S_IFMT
	switch {
	case kept.Size != old.Size || kept.Mode&unix.S_IFMT != kind:
		return false, nil
	case kind == unix.S_IFLNK:
		a, err := s.Dir.ReadLink(s.Base, make([]byte, MaxTarget))
		if err != nil {
			return false, err
		}
		b, err := s.Dir.ReadLink(name, make([]byte, MaxTarget))
		return a == b, err
	case kind != unix.S_IFREG:
		return false, nil
	}
	a, b := File{-1, nil}, File{-1, nil}
	defer a.Close()
	defer b.Close()
	if a.FD, err = s.Dir.Open(s.Base, &now); err != nil {
		return false, err
	}
	if b.FD, err = s.Dir.Open(name, &kept); err != nil || kept.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, err
	}
	return sameBytes(s.Ctx, a, b)
}

// linksRefused reports whether a thing cannot have a second name, so that it has to be copied.
func linksRefused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.EOPNOTSUPP) ||
		errors.Is(err, unix.EMLINK) || errors.Is(err, unix.EXDEV) || errors.Is(err, unix.ENOSYS)
}

// copyTo copies a file or a link, which appears under its name atomically.
func (s *Slot) copyTo(base, name string) error {
	var st unix.Stat_t
	switch err := s.Dir.Stat(name, &st); {
	case err == nil:
		return unix.EEXIST
	case !Gone(err):
		return err
	}
	if err := s.Dir.Stat(base, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		target, err := s.Dir.ReadLink(base, make([]byte, MaxTarget))
		if err != nil {
			return err
		}
		return s.Dir.SymLink(target, name)
	}
	fd, err := s.Dir.Open(base, &st)
	if err != nil {
		return err
	}
	from := File{fd, nil}
	defer from.Close()
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return provider.Errorf(provider.Retryable, "it has become %s", KindOf(&st))
	}
	// All backups use the hidden name of the first one, as the next run looks there.
	hidden := s.Base + s.Suffix
	to, err := s.Dir.hidden(hidden)
	if err != nil {
		return err
	}
	defer to.Close()
	if err = s.copyInto(to, from, &st, Perm{-1, -1, -1}); err == nil {
		err = to.Sync()
	}
	if err == nil {
		err = s.Dir.Rename(Leftover(hidden), name)
	}
	if err != nil {
		_ = s.Dir.Tidy(hidden)
	}
	return err
}

// copyInto copies bytes, and owner, group and mode where asked sets none.
func (s *Slot) copyInto(to, from File, st *unix.Stat_t, asked Perm) error {
	buf := Buffers.Get().(*[]byte)
	defer Buffers.Put(buf)
	if _, err := Pump(s.Ctx, to, nil, from, *buf); err != nil {
		return err
	}
	if err := CopyAttributes(from, to, true); err != nil {
		return err
	}
	return s.Keep(to, st, asked)
}

// CopyAttributes copies the attributes of the replaced file to a new one, except owner, group and
// mode. If the old file cannot be read, it copies none. If the owner changes, it copies no access
// list: the previous owner may have given themselves rights in it.
func (s *Slot) CopyAttributes(to File, asked Perm) error {
	var st unix.Stat_t
	fd, err := s.Dir.Open(s.Base, &st)
	if errors.Is(err, unix.EACCES) {
		return nil
	}
	if err != nil {
		return err
	}
	old := File{fd, s.Dir.Sys}
	defer old.Close()
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return provider.Errorf(provider.Retryable, "it has become %s", KindOf(&st))
	}
	return CopyAttributes(old, to, !asked.Takes(&st))
}

// Keep gives a replacement the desired permissions, and the previous thing's permissions for unset
// ones.
func (s *Slot) Keep(f File, st *unix.Stat_t, asked Perm) error {
	full, kept := asked.Keep(st, s.Dir.Sys.UID())
	if !kept {
		s.Ctx.Warning("only the superuser may keep the owner of a file that is replaced; it is "+
			"now the one this runs as", "path", s.Path)
	}
	return full.setKeeping(f, asked)
}
