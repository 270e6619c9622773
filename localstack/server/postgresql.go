package server

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// PostgreSQL returns the folder of the programs of a PostgreSQL server: initdb, postgres, pg_ctl.
// If they are missing, it installs them.
func PostgreSQL(ctx context.Context) (string, error) {
	if dir := postgreSQL(); dir != "" {
		return dir, nil
	}
	if err := Install(ctx, "postgresql"); err != nil {
		return "", err
	}
	if dir := postgreSQL(); dir != "" {
		return dir, nil
	}
	return "", errors.New("PostgreSQL is missing although it was installed")
}

// postgreSQL returns the folder of the newest version that Debian installed, or of the version on
// the path. If there is none, it returns "".
func postgreSQL() string {
	all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if slices.Sort(all); len(all) > 0 {
		return filepath.Dir(all[len(all)-1])
	}
	if p, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(p)
	}
	return ""
}

// Unprivileged prepares a folder for a server that refuses to run as root, and returns the
// attributes for its start. The server runs in its own process group. If this process runs as root,
// the server runs as an unprivileged user, which gets the folder.
func Unprivileged(dir string) (*syscall.SysProcAttr, error) {
	as := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() != 0 {
		return as, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return as, os.Chown(dir, uid, gid)
}
