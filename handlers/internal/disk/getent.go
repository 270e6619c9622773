package disk

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"os/user"
	"strings"
	"time"

	"southbound/shared/patience"
	"southbound/shared/provider"
)

// getentLimit limits one lookup in the name service: a directory server may not answer.
const getentLimit = 10 * time.Second

// errSilent means that the name service did not answer: it is unknown whether the entry exists.
var errSilent = provider.Errorf(provider.Retryable,
	"the name service of the machine did not answer within %s", getentLimit)

// getent looks up an entry in the name service of the machine by name or number. The name service
// also knows users and groups of directory services. This program, built without the C library,
// does not find them without it. getent returns the fields of the entry, or nil. Its error is
// errSilent.
func getent(database, key string) ([]string, error) {
	return getentWithin(getentLimit, database, key)
}

func getentWithin(limit time.Duration, database, key string) ([]string, error) {
	if key == "" || strings.ContainsAny(key, ":\n\x00") {
		return nil, nil
	}
	ctx, cancel := patience.WithTimeout(context.Background(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "getent", "--", database, key).Output()
	if err != nil && ctx.Err() != nil {
		return nil, errSilent
	}
	if err != nil {
		return nil, nil
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if fields := strings.Split(line, ":"); len(fields) > 2 {
		return fields, nil
	}
	return nil, nil
}

// Silent reports whether the error of a lookup leaves open whether the entry exists.
func Silent(err error) bool { return errors.Is(err, errSilent) }

func LookupUser(name string) (string, error) {
	u, err := user.Lookup(name)
	if err == nil {
		return u.Uid, nil
	}
	f, silent := getent("passwd", name)
	if f != nil && f[0] == name {
		return f[2], nil
	}
	return "", cmp.Or(silent, err)
}

func LookupGroup(name string) (string, error) {
	g, err := user.LookupGroup(name)
	if err == nil {
		return g.Gid, nil
	}
	f, silent := getent("group", name)
	if f != nil && f[0] == name {
		return f[2], nil
	}
	return "", cmp.Or(silent, err)
}

func UserName(id string) string {
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	if f, _ := getent("passwd", id); f != nil && f[2] == id {
		return f[0]
	}
	return ""
}

func GroupName(id string) string {
	if g, err := user.LookupGroupId(id); err == nil {
		return g.Name
	}
	if f, _ := getent("group", id); f != nil && f[2] == id {
		return f[0]
	}
	return ""
}
