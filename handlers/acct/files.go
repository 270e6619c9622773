package acct

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/provider"
)

// host is a machine, or a directory that looks like one, whose users and groups are managed.
type host struct {
	root   string                    // "" is the machine itself
	before func(argv []string) error // called before each change
	// rows of files that were read for a batch, nil: each file is read on use
	read map[string]table
}

// table holds the rows of a file, or the error of reading it.
type table struct {
	rows [][]string
	err  error
}

// together returns a host that reads each file once: for a batch of reads without changes between
// them.
func (h host) together() host {
	h.read = map[string]table{}
	return h
}

func (h host) path(p string) string { return filepath.Join("/", h.root, p) }

// rows returns the rows of a file with fields that are separated by colons; a missing file has no
// rows.
func (h host) rows(name string, fields int) ([][]string, error) {
	if h.read == nil {
		return h.readRows(name, fields)
	}
	t, known := h.read[name]
	if !known {
		t.rows, t.err = h.readRows(name, fields)
		h.read[name] = t
	}
	return t.rows, t.err
}

func (h host) readRows(name string, fields int) ([][]string, error) {
	data, err := os.ReadFile(h.path("/etc/" + name))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil
	case errors.Is(err, os.ErrPermission):
		return nil, provider.Errorf(provider.Terminal, "%w; %s", err, asRoot())
	case err != nil:
		return nil, provider.Errorf(provider.Retryable, "%w", err)
	}
	var out [][]string
	for line := range strings.Lines(string(data)) {
		row := strings.Split(strings.TrimRight(line, "\r\n"), ":")
		if len(row) >= fields && row[0] != "" && !strings.ContainsAny(row[0][:1], "#+-") {
			out = append(out, row)
		}
	}
	return out, nil
}

// find returns the row of a name, nil if there is none.
func (h host) find(file string, fields int, name string) ([]string, error) {
	rows, err := h.rows(file, fields)
	for _, row := range rows {
		if row[0] == name {
			return row, err
		}
	}
	return nil, err
}

// Fields of the rows.
const (
	passwdFields, passwdHash                                     = 7, 1
	passwdUID, passwdGID, passwdComment, passwdHome, passwdShell = 2, 3, 4, 5, 6

	groupFields, groupGID, groupMembers = 4, 2, 3

	shadowFields, shadowHash, shadowExpires = 8, 1, 7
)

// account is a user in the form of the files.
type account struct {
	uid, gid, comment, home, shell string
	primary                        string // the name of the group gid, if it has one
	groups                         []string
	hash, expires                  string
	noHash                         bool    // /etc/shadow lacks the user, whose hash it should have
	ages                           []int64 // the values of ages; -1: not set
}

// age is an attribute that limits the age of a password: its field in /etc/shadow, and the option
// of chage.
type age struct {
	attribute string
	field     int
	option    string
}

func ages() []age {
	return []age{{"min_days", 3, "-m"}, {"max_days", 4, "-M"}, {"warn_days", 5, "-W"},
		{"inactive_days", 6, "-I"}}
}

// locked reports whether no password is currently valid.
func (a *account) locked() bool { return a.noHash || strings.HasPrefix(a.hash, lock) }

// inShadow replaces a hash in /etc/passwd if the hash is in /etc/shadow.
const inShadow = "x"

// lock is the prefix of the hash of a locked password.
const lock = "!"

// account returns a user, nil if there is none.
func (h host) account(name string, withShadow bool) (*account, error) {
	user, err := h.find("passwd", passwdFields, name)
	if err != nil || user == nil {
		return nil, err
	}
	a := &account{uid: user[passwdUID], gid: user[passwdGID], comment: user[passwdComment],
		home: user[passwdHome], shell: user[passwdShell]}
	groups, err := h.rows("group", groupFields)
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g[groupGID] == a.gid && a.primary == "" {
			a.primary = g[0]
		}
		if slices.Contains(members(g), name) {
			a.groups = append(a.groups, g[0])
		}
	}
	slices.Sort(a.groups)
	if withShadow {
		row, err := h.find("shadow", shadowFields, name)
		if err != nil {
			return nil, err
		}
		a.shadow(user, row)
	}
	return a, nil
}

// shadow completes an account from its row in /etc/shadow or, without one, from that in
// /etc/passwd.
func (a *account) shadow(user, row []string) {
	if row == nil {
		row = make([]string, shadowFields)
		if a.noHash = user[passwdHash] == inShadow; !a.noHash {
			row[shadowHash] = user[passwdHash]
		}
	}
	a.hash, a.expires = row[shadowHash], row[shadowExpires]
	for _, g := range ages() {
		n, err := strconv.ParseInt(row[g.field], 10, 64)
		if err != nil {
			n = -1
		}
		a.ages = append(a.ages, n)
	}
}

func members(row []string) []string {
	if row[groupMembers] == "" {
		return nil
	}
	return strings.Split(row[groupMembers], ",")
}
