package disk

import (
	"context"
	"os/exec"
	"os/user"
	"strings"
	"time"
)

// getentLimit bounds one question to the name service: a directory server may not answer.
const getentLimit = 10 * time.Second

// getent asks the name service of the machine for an entry by name or number: it knows users and
// groups of directories, too, which this program, built without the C library, does not find by
// itself. It returns the fields of the entry, or nil.
func getent(database, key string) []string {
	if key == "" || strings.ContainsAny(key, ":\n\x00") {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), getentLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "getent", "--", database, key).Output()
	if err != nil {
		return nil
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if fields := strings.Split(line, ":"); len(fields) > 2 {
		return fields
	}
	return nil
}

func LookupUser(name string) (string, error) {
	u, err := user.Lookup(name)
	if err == nil {
		return u.Uid, nil
	}
	if f := getent("passwd", name); f != nil && f[0] == name {
		return f[2], nil
	}
	return "", err
}

func LookupGroup(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err == nil {
		return g.Gid, nil
	}
	if f := getent("group", name); f != nil && f[0] == name {
		return f[2], nil
	}
	return "", err
}

func UserName(id string) string {
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	if f := getent("passwd", id); f != nil && f[2] == id {
		return f[0]
	}
	return ""
}

func GroupName(id string) string {
	if g, err := user.LookupGroupId(id); err == nil {
		return g.Name
	}
	if f := getent("group", id); f != nil && f[2] == id {
		return f[0]
	}
	return ""
}
