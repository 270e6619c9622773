package tool

import (
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// User is another user that a program can run as.
type User struct {
	UID, GID uint32
	groups   []uint32
	name     string
	home     string
}

// UserOf returns the user with a number. A user without an entry on the machine has the given
// group, and no home.
func UserOf(uid, gid uint32) *User {
	out := &User{UID: uid, GID: gid, name: strconv.FormatUint(uint64(uid), 10), home: "/"}
	u, err := user.LookupId(out.name)
	if err != nil {
		return out
	}
	out.name, out.home = u.Username, u.HomeDir
	if c, err := Credential(u); err == nil { // without its groups, a user has fewer rights
		out.GID, out.groups = c.Gid, c.Groups
	}
	return out
}

// Credential returns the rights of a program that runs as a user, including those of the user's
// groups.
func Credential(u *user.User) (*syscall.Credential, error) {
	groups, err := u.GroupIds()
	if err != nil {
		return nil, fmt.Errorf("look up the groups of %q: %w", u.Username, err)
	}
	c := &syscall.Credential{}
	ids := []*uint32{&c.Uid, &c.Gid}
	for i, text := range append([]string{u.Uid, u.Gid}, groups...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("look up %q: %w", u.Username, err)
		}
		if i < len(ids) {
			*ids[i] = uint32(id)
			continue
		}
		c.Groups = append(c.Groups, uint32(id))
	}
	return c, nil
}

func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.groups}
}

// handedTo returns the variables for a program that runs as a user. Another user receives no
// variables of this process's own user, such as paths in its home, nor its credentials.
func handedTo(as *User) []string {
	if as == nil {
		return handedOn()
	}
	env := slices.DeleteFunc(handedOn(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		name = strings.ToUpper(name)
		return slices.Contains([]string{"SHELL", "TMPDIR", "TEMP", "TMP", "VIRTUAL_ENV",
			"DBUS_SESSION_BUS_ADDRESS", "NETRC", "GNUPGHOME"}, name) || begins(name, "XDG_") ||
			ProxyLogin(v)
	})
	return append(env, "HOME="+as.home, "USER="+as.name, "LOGNAME="+as.name)
}
