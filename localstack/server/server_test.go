//go:build servers

package server_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"southbound/localstack/server"
)

// TestServers pins that each kind installs, answers on loopback, and is gone after Stop, with what
// it wrote.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, kind := range []server.Kind{server.DynamoDB, server.MiniStack, server.LocalStack} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s, err := server.Start(t.Context(), kind)
			if err != nil {
				t.Fatal(err)
			}
			if !answers(t.Context(), s.URL) {
				t.Error("it does not answer")
			}
			s.Stop()
			s.Stop()
			if answers(t.Context(), s.URL) {
				t.Error("it answers after it was stopped")
			}
			_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
			left, err := filepath.Glob(filepath.Join(os.TempDir(), "*-"+port+"*"))
			if len(left) > 0 || err != nil {
				t.Errorf("it leaves %v (%v)", left, err)
			}
		})
	}
}

// TestKilledParentTakesItsServerAlong pins that no server is left when a test process is killed, nor
// what it has written.
func TestKilledParentTakesItsServerAlong(t *testing.T) {
	if os.Getenv("SOUTHBOUND_START_AND_HANG") != "" {
		s, err := server.Start(t.Context(), server.DynamoDB)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = os.Stdout.WriteString(s.URL + "\n")
		select {}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0],
		"-test.run=^TestKilledParentTakesItsServerAlong$")
	temporary := t.TempDir()
	cmd.Env = append(os.Environ(), "SOUTHBOUND_START_AND_HANG=1", "TMPDIR="+temporary)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 200)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(string(buf[:n]))
	if !answers(t.Context(), url) {
		t.Fatalf("%s does not answer", url)
	}
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	for answers(ctx, url) {
		if ctx.Err() != nil {
			t.Fatal("the server still answers")
		}
	}
	left := []os.DirEntry{nil}
	for len(left) > 0 {
		if left, err = os.ReadDir(temporary); err != nil || ctx.Err() != nil {
			t.Fatal("the server leaves", left, err)
		}
	}
}

func answers(ctx context.Context, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return true
}

// TestOnlyLoopback pins that MiniStack, which people run by `make local`, listens on loopback only,
// and on no port but its own. It fails, as it should, when BIND_HOST and the URL of server.go name
// 127.0.0.2.
func TestOnlyLoopback(t *testing.T) {
	t.Parallel()
	s, err := server.Start(t.Context(), server.MiniStack)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	port := s.URL[strings.LastIndexByte(s.URL, ':')+1:]
	sockets := map[string]bool{} // of its processes
	environs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(env), "\x00"),
			"GATEWAY_PORT="+port) {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "fd", "*"))
		for _, f := range files {
			if at, err := os.Readlink(f); err == nil && strings.HasPrefix(at, "socket:[") {
				sockets[strings.Trim(at, "socket:[]")] = true
			}
		}
	}
	want := fmt.Sprintf("0100007F:%04X", number(t, port))
	seen := 0
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, _ := os.ReadFile(table)
		for line := range strings.Lines(string(text)) {
			const listening = "0A"
			if f := strings.Fields(line); len(f) > 9 && f[3] == listening && sockets[f[9]] {
				if seen++; f[1] != want {
					t.Errorf("it listens on %s, want %s alone", f[1], want)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("it listens nowhere: this test looks at nothing")
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
