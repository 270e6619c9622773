package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Perm is the desired owner, group and mode; -1 is not set.
type Perm struct{ UID, GID, Mode int }

// Takes reports whether Set would change the owner of a file.
func (w Perm) Takes(st *unix.Stat_t) bool { return w.UID >= 0 && w.UID != int(st.Uid) }

// Set sets the owner of a file, then its mode, as a change of owner clears some bits of the mode.
func (w Perm) Set(f File) error {
	if w.UID >= 0 || w.GID >= 0 {
		if err := f.chown(w.UID, w.GID); err != nil {
			return err
		}
	}
	if w.Mode >= 0 {
		return f.Chmod(w.Mode)
	}
	return nil
}

// Keep fills unset values from the existing thing, as a replacement keeps all properties that the
// resource does not set. It drops the set-user-ID and set-group-ID bits, which new bytes must not
// inherit. kept is false if only the superuser could preserve the owner; self is the user that
// makes the change.
func (w Perm) Keep(st *unix.Stat_t, self int) (full Perm, kept bool) {
	kept = true
	if w.Mode < 0 {
		w.Mode = int(st.Mode & 0o1777)
	}
	if w.UID < 0 {
		if w.UID = int(st.Uid); self != 0 && w.UID != self {
			w.UID, kept = -1, false
		}
	}
	if w.GID < 0 {
		w.GID = int(st.Gid)
	}
	return w, kept
}

// setKeeping is Set for permissions with a group that was only kept. Only the superuser may give a
// file to a group of which the user is no member.
func (w Perm) setKeeping(f File, asked Perm) error {
	err := w.Set(f)
	if errors.Is(err, unix.EPERM) && asked.GID < 0 && w.GID >= 0 {
		w.GID = -1
		err = w.Set(f)
	}
	return err
}
