package ssh_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"southbound/shared/transport"
	"southbound/shared/transport/remote"
	"southbound/shared/transport/ssh/sshtest"
)

// TestMain is the program that is put on machines, too: it serves the types of this package's
// tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "remote" {
		s := &remote.Server{Definitions: definitions(), Version: "test",
			Facts:     map[string]string{"os": "of the test", "program": "program of the test"},
			Transport: transport.Local{}, Grace: 2 * time.Second}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := s.Serve(ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dir, err := os.MkdirTemp("", "southbound-programs-")
	if err == nil {
		shared, small.Dir = filepath.Join(dir, "there"), dir
		err = prepare(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// prepare puts the program of the tests where every user can start it, and beside it one that
// starts it: that is what most tests upload.
func prepare(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	program := filepath.Join(dir, "program")
	script := filepath.Join(dir, "southbound-"+runtime.GOOS+"-"+runtime.GOARCH)
	return errors.Join(os.WriteFile(program, text, 0o755),
		os.WriteFile(script, []byte("#!/bin/sh\nexec '"+program+"' \"$@\"\n"), 0o755),
		os.Chmod(dir, 0o755)) // for every user
}

// small starts the program of the tests, which is large, where that is: most tests put it into
// shared.
var (
	small  remote.Programs
	shared string
)

type (
	server = sshtest.Server
	key    = sshtest.Key
)

// start starts a server that lets a user in by a key.
func start(t *testing.T, login string, prefix ...string) *server {
	t.Helper()
	return sshtest.Start(t, login, "", prefix...)
}

// startWith starts a server with more lines in its configuration.
func startWith(t *testing.T, login, more string) *server {
	t.Helper()
	return sshtest.Start(t, login, more)
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// somebody returns a user without rights: a new one where the test may make such, else the one that
// it runs as.
func somebody(t *testing.T, password string) string {
	t.Helper()
	if os.Getuid() != 0 {
		return sshtest.Self(t)
	}
	name := fmt.Sprintf("sb-test-%d", os.Getpid())
	home := filepath.Join(t.TempDir(), "home")
	run(t, "", "useradd", "-m", "-d", home, "-s", "/bin/sh", name)
	t.Cleanup(func() {
		_ = exec.Command("pkill", "-KILL", "-u", name).Run()
		_ = exec.Command("userdel", "-f", name).Run()
	})
	for dir := filepath.Dir(home); strings.HasPrefix(dir,
		os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { // the user has to get home
			t.Fatal(err)
		}
	}
	if password == "" {
		password = "*"
	}
	run(t, name+":"+password+"\n", "chpasswd")
	return name
}

func run(t *testing.T, stdin string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}
