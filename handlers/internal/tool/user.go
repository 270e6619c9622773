package tool

import (
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// User is another user whom a program can run as.
type User struct {
	UID, GID uint32
	groups   []uint32
	name     string
	home     string
}

// UserOf returns the user with a number. One that the machine has no entry of has the group that is
// given, and no home.
func UserOf(uid, gid uint32) *User {
	out := &User{UID: uid, GID: gid, name: strconv.FormatUint(uint64(uid), 10), home: "/"}
	u, err := user.LookupId(out.name)
	if err != nil {
		return out
	}
	out.name, out.home = u.Username, u.HomeDir
	if id, err := strconv.ParseUint(u.Gid, 10, 32); err == nil {
		out.GID = uint32(id)
	}
	groups, _ := u.GroupIds() // without them the user may do less
	for _, s := range groups {
		if id, err := strconv.ParseUint(s, 10, 32); err == nil {
			out.groups = append(out.groups, uint32(id))
		}
	}
	return out
}

func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.groups}
}

// handedTo returns the variables that a program gets that runs as a user.
func handedTo(as *User) []string {
	if as == nil {
		return handedOn()
	}
	env := slices.DeleteFunc(handedOn(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		name = strings.ToUpper(name)
		return slices.Contains([]string{"SHELL", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV",
			"DBUS_SESSION_BUS_ADDRESS"}, name) || strings.HasPrefix(name, "XDG_")
	})
	return append(env, "HOME="+as.home, "USER="+as.name, "LOGNAME="+as.name)
}
