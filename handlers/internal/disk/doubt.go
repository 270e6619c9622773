package disk

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"southbound/shared/provider"
)

// party is a set of users who may rename entries of a directory: a user, the members of a group, or
// all users.
type party struct {
	kind partyKind
	id   uint32
}

type partyKind int

const (
	aUser partyKind = iota
	aGroup
	everybody
)

func (p party) String() string {
	id := strconv.FormatUint(uint64(p.id), 10)
	name := ""
	switch p.kind {
	case everybody:
		return "everybody"
	case aGroup:
		name, id = GroupName(id), "group "+id
	default:
		name, id = UserName(id), "user "+id
	}
	if name == "" {
		return id
	}
	return id + " (" + name + ")"
}

// mayWrite reports whether a party may create and remove entries of a directory.
func (p party) mayWrite(dir *unix.Stat_t) bool {
	switch p.kind {
	case everybody:
		return dir.Mode&unix.S_IWOTH != 0
	case aGroup:
		return dir.Gid == p.id && dir.Mode&unix.S_IWGRP != 0
	}
	return dir.Uid == p.id
}

func (w *walker) trusts(uid uint32) bool { return slices.Contains(w.trusted, uid) }

// doubt records the parties that may have put a name into the walker's current directory, except
// trusted users. In a directory with the sticky bit, only the owner of an entry and the owner of
// the directory may rename it. The members of a group with write permission count for links only:
// on many machines the superuser shares /var/log or /usr/local with a group of the system. A link
// can lead anywhere; a directory can only be replaced by another one beside it.
func (w *walker) doubt(name string, link bool, owner uint32) {
	add := func(kind partyKind, id uint32) {
		w.doubts = append(w.doubts, doubt{party{kind, id}, link, w.path + "/" + name})
	}
	if !w.trusts(w.st.Uid) {
		add(aUser, w.st.Uid)
	}
	if link && !w.trusts(owner) && owner != w.st.Uid {
		add(aUser, owner)
	}
	if w.st.Mode&unix.S_ISVTX != 0 {
		return
	}
	if w.st.Mode&unix.S_IWOTH != 0 {
		add(everybody, 0)
	}
	if link && w.st.Mode&unix.S_IWGRP != 0 && w.st.Gid != 0 {
		add(aGroup, w.st.Gid)
	}
}

// refuseDoubtful rejects the directory in which the walk has ended if a party may have redirected
// the walk there although it could not write in that directory itself.
func (w *walker) refuseDoubtful(d doubt) error {
	if d.who.mayWrite(&w.st) || !d.link && !w.trusts(w.st.Uid) {
		return nil
	}
	owner := party{aUser, w.st.Uid}
	if d.link {
		return provider.Errorf(provider.NeedsChange,
			"the symbolic link %s may have been put there by %s, and leads to a directory that "+
				"belongs to %s, so it is not followed; describe the path that it leads to, or "+
				"keep the link where only the superuser may rename things", d.path, d.who, owner)
	}
	return provider.Errorf(provider.NeedsChange,
		"the directory %s may have been put there by %s, and leads to one that belongs to %s, so "+
			"nothing is changed in it; give it to who may exchange it anyway (owner), or keep it "+
			"where only the superuser may rename things", d.path, d.who, owner)
}
