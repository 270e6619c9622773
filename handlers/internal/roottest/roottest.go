// Package roottest enables any user to run tests of operations that need the superuser.
package roottest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// inside is set in the environment of restarted tests.
const inside = "SOUTHBOUND_ROOTTEST"

// Main runs the tests of a package, for its TestMain, and returns the exit code. If a user other
// than the superuser starts them, they are restarted as the superuser of a user namespace, with a
// mount namespace of their own. There they may mount and change the root, but give files to no
// other user. Temporary directories are in memory if the system has such a place: programs that
// sync each of their files would wait for a disk.
func Main(m *testing.M) int {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() && os.Getenv("TMPDIR") == "" {
		if err := os.Setenv("TMPDIR", "/dev/shm"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	if os.Geteuid() == 0 || os.Getenv(inside) != "" {
		return m.Run()
	}
	cmd := exec.Command("unshare", append([]string{"--map-root-user", "--mount", os.Args[0]},
		os.Args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Env = os.Stdin, os.Stdout, os.Stderr,
		append(os.Environ(), inside+"=1")
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	fmt.Fprintln(os.Stderr,
		"these tests need the superuser, or a system on which everybody may make a user "+
			"name space:", err)
	return 1
}

// Limited reports whether files cannot be given to other users.
func Limited() bool { return os.Getenv(inside) != "" }
