// Package sshtest starts real ssh servers for tests.
package sshtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Key is a key pair.
type Key struct {
	File    string // the private key
	Public  string // as in authorized_keys
	Private string
}

// NewKey makes a key pair in a directory.
func NewKey(t *testing.T, dir, name, passphrase string) Key {
	t.Helper()
	k := Key{File: filepath.Join(dir, name)}
	run(t, "", "ssh-keygen", "-q", "-t", "ed25519", "-a", "1", "-C", name, "-N", passphrase, "-f",
		k.File)
	for path, text := range map[string]*string{k.File: &k.Private, k.File + ".pub": &k.Public} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		*text = string(b)
	}
	k.Public = strings.TrimSpace(k.Public)
	return k
}

// Server is a real sshd: one process for each connection, as by inetd, so that the test can end or
// stop each.
type Server struct {
	Host, User Key
	Port       int64
	Login      string   // the user that logs in
	prefix     []string // the command that starts sshd, if it is not started directly

	mu      sync.Mutex
	running []*exec.Cmd
}

// sshd returns the path of OpenSSH's server, which is installed if it is missing.
func sshd(t *testing.T) string {
	t.Helper()
	Provide(t, "/usr/sbin/sshd", "openssh-server")
	if os.Getuid() == 0 {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return "/usr/sbin/sshd"
}

// Provide installs a package of Debian if a program is missing.
func Provide(t *testing.T, path, packages string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	if os.Getuid() != 0 {
		t.Fatalf("%s is missing: install %s", path, packages)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	// The services that the package starts do not matter: without an init, nothing is started.
	script := "exec 9>/tmp/southbound-apt.lock; flock 9; [ -e " + path +
		" ] && exit; apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq " +
		"--no-install-recommends " + packages
	if out, err := exec.CommandContext(ctx, "sh", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("install %s: %v\n%s", packages, err, out)
	}
}

// NoStart is set by sshd for a login so that the user's shell reads no ~/.bashrc, which bash
// otherwise does if it is not within another shell. That file is not part of a test, may take long,
// and may wait for other logins. It is set unless more lines contain SetEnv.
const NoStart = "SHLVL=1"

// Start starts a server that admits a user by a key, with more lines in its configuration. It ends
// with the test; if that has failed, the server's log is printed. prefix is the command that starts
// sshd, if it is not started directly.
func Start(t *testing.T, login, more string, prefix ...string) *Server {
	t.Helper()
	path, dir := sshd(t), t.TempDir()
	s := &Server{Host: NewKey(t, dir, "host", ""), User: NewKey(t, dir, "user", ""), Login: login,
		prefix: prefix}
	authorized, config := filepath.Join(dir, "authorized"), filepath.Join(dir, "config")
	write(t, authorized, s.User.Public+"\n", 0o644)
	write(t, config, "HostKey "+s.Host.File+"\nAuthorizedKeysFile "+authorized+"\nStrictModes no\n"+
		"UsePAM no\nPidFile none\nPermitRootLogin yes\nPasswordAuthentication yes\nLogLevel "+
		"VERBOSE\n"+
		more+"SetEnv "+NoStart+"\n", 0o600) // the first SetEnv counts
	log, err := os.Create(filepath.Join(dir, "log")) // a file: it may stay open after sshd
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	if err := os.Chmod(dir, 0o755); err != nil { // the login reads authorized there
		t.Fatal(err)
	}
	_ = os.Chmod(filepath.Dir(dir), 0o755)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Port = int64(l.Addr().(*net.TCPAddr).Port) // it is TCP
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.serve(conn, append(append([]string{}, s.prefix...), path, "-i", "-e", "-f", config),
				log)
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wait.Wait()
		s.Kill(syscall.SIGKILL)
		if t.Failed() {
			output, err := os.ReadFile(log.Name())
			t.Logf("sshd said (%v):\n%s", err, output)
		}
	})
	return s
}

// serve passes a connection to an sshd of its own.
func (s *Server) serve(conn net.Conn, argv []string, log *os.File) {
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprintf(log, "start sshd: %v\n", err)
		return
	}
	s.running = append(s.running, cmd)
	go func() { _ = cmd.Wait() }()
}

// Kill signals the sshds of all connections so far.
func (s *Server) Kill(sig syscall.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cmd := range s.running {
		_ = syscall.Kill(-cmd.Process.Pid, sig)
	}
	if sig == syscall.SIGKILL {
		s.running = nil
	}
}

// Running returns the process groups of the sshds of all connections so far.
func (s *Server) Running() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []int
	for _, cmd := range s.running {
		out = append(out, cmd.Process.Pid)
	}
	return out
}

// Options are the options of an agent that logs in to the server.
func (s *Server) Options(more ...any) map[string]any {
	out := map[string]any{"host": "127.0.0.1", "port": s.Port, "user": s.Login,
		"key_file": s.User.File, "host_key": s.Host.Public}
	for i := 0; i < len(more); i += 2 {
		name, _ := more[i].(string)
		if out[name] = more[i+1]; more[i+1] == nil {
			delete(out, name)
		}
	}
	return out
}

// Self is the user of the test.
func Self(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, stdin string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(stdin)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
}
