package ssh_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"southbound/shared/transport"
	"southbound/shared/transport/remote"
)

// TestMain is the program that is put on machines, too: it serves the types of this package's tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "remote" {
		s := &remote.Server{Definitions: definitions(), Version: "test", Facts: map[string]string{"os": "of the test"}, Transport: transport.Local{}, Grace: 2 * time.Second}
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

// prepare puts the program of the tests where every user can start it, and beside it one that starts it: that is what most tests upload.
func prepare(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(self) //nolint:gosec // this program
	if err != nil {
		return err
	}
	program := filepath.Join(dir, "program")
	script := filepath.Join(dir, "southbound-"+runtime.GOOS+"-"+runtime.GOARCH)
	return errors.Join(os.WriteFile(program, text, 0o755), os.WriteFile(script, []byte("#!/bin/sh\nexec '"+program+"' \"$@\"\n"), 0o755), //nolint:gosec // programs
		os.Chmod(dir, 0o755)) //nolint:gosec // for every user
}

// small starts the program of the tests, which is large, where that is: most tests put it into shared.
var (
	small  remote.Programs
	shared string
)

// key is a key pair.
type key struct {
	file    string // the private key
	public  string // as in authorized_keys
	private string
}

func newKey(t *testing.T, dir, name, passphrase string) key {
	t.Helper()
	k := key{file: filepath.Join(dir, name)}
	run(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-a", "1", "-C", name, "-N", passphrase, "-f", k.file)
	for path, text := range map[string]*string{k.file: &k.private, k.file + ".pub": &k.public} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		*text = string(b)
	}
	k.public = strings.TrimSpace(k.public)
	return k
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// server is a real sshd: one process for each connection, as by inetd, so that the test can end or stop each.
type server struct {
	host, user key
	port       int64
	login      string   // who logs in
	prefix     []string // what sshd is started by, if not by itself

	mu      sync.Mutex
	running []*exec.Cmd
}

// sshd returns the path of the server of OpenSSH, which is installed where it is missing.
func sshd(t *testing.T) string {
	t.Helper()
	provide(t, "/usr/sbin/sshd", "openssh-server")
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return "/usr/sbin/sshd"
}

// provide installs a package of Debian when a program is missing.
func provide(t *testing.T, path, packages string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	if os.Getuid() != 0 {
		t.Fatalf("%s is missing: install %s", path, packages)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// What the package starts is none of our business: nothing is started where there is no init.
	script := "exec 9>/tmp/southbound-apt.lock; flock 9; [ -e " + path + " ] && exit; apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends " + packages
	if out, err := exec.CommandContext(ctx, "sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("install %s: %v\n%s", packages, err, out)
	}
}

// start starts a server that lets a user in by a key.
func start(t *testing.T, login string, prefix ...string) *server {
	t.Helper()
	return startWith(t, login, "", prefix...)
}

// startWith starts a server with more lines in its configuration.
func startWith(t *testing.T, login, more string, prefix ...string) *server {
	t.Helper()
	path, dir := sshd(t), t.TempDir()
	s := &server{host: newKey(t, dir, "host", ""), user: newKey(t, dir, "user", ""), login: login, prefix: prefix}
	authorized, config := filepath.Join(dir, "authorized"), filepath.Join(dir, "config")
	write(t, authorized, s.user.public+"\n", 0o644)
	write(t, config, "HostKey "+s.host.file+"\nAuthorizedKeysFile "+authorized+"\nStrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication yes\n"+more, 0o600)
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the login reads authorized there
		t.Fatal(err)
	}
	_ = os.Chmod(filepath.Dir(dir), 0o755) //nolint:gosec // and its parent
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.port = int64(l.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // it is TCP
	var log bytes.Buffer
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.serve(conn, append(append([]string{}, s.prefix...), path, "-i", "-e", "-f", config), &log)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wait.Wait()
		s.kill(syscall.SIGKILL)
		if t.Failed() {
			t.Logf("sshd said:\n%s", log.String())
		}
	})
	return s
}

// serve hands a connection to an sshd of its own.
func (s *server) serve(conn net.Conn, argv []string, log *bytes.Buffer) {
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return
	}
	file, err := tcp.File()
	if err != nil {
		return
	}
	defer file.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout = file, file
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	if cmd.Start() == nil {
		s.running = append(s.running, cmd)
		go func() { _ = cmd.Wait() }()
	}
	_ = log
}

// kill signals the sshds of all connections there have been.
func (s *server) kill(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cmd := range s.running {
		_ = syscall.Kill(-cmd.Process.Pid, sig)
	}
	if sig == syscall.SIGKILL {
		s.running = nil
	}
}

// options are those of an agent that logs in to the server.
func (s *server) options(more ...any) map[string]any {
	out := map[string]any{"host": "127.0.0.1", "port": s.port, "user": s.login, "key_file": s.user.file, "host_key": s.host.public}
	for i := 0; i < len(more); i += 2 {
		name, _ := more[i].(string)
		if out[name] = more[i+1]; more[i+1] == nil {
			delete(out, name)
		}
	}
	return out
}

// self is the user of the test.
func self(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

// somebody returns a user without rights: a new one where the test may make such, else the one that it runs as.
func somebody(t *testing.T, password string) string {
	t.Helper()
	if os.Getuid() != 0 {
		return self(t)
	}
	name := fmt.Sprintf("sb-test-%d", os.Getpid())
	home := filepath.Join(t.TempDir(), "home")
	run(t, "", "useradd", "-m", "-d", home, "-s", "/bin/sh", name)
	t.Cleanup(func() {
		_ = exec.Command("pkill", "-KILL", "-u", name).Run()
		_ = exec.Command("userdel", "-f", name).Run()
	})
	for dir := filepath.Dir(home); strings.HasPrefix(dir, os.TempDir()+"/"); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the user has to get home
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
