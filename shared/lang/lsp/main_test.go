package lsp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/protocol"

	run "southbound/handlers/exec"
	"southbound/handlers/fs"
	"southbound/handlers/std"
	"southbound/shared/lang/lsp"
	"southbound/shared/lang/lsp/lsptest"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// TestMain is the server itself when a test has started it so.
func TestMain(m *testing.M) {
	if os.Getenv("LSP_TEST_SERVER") == "" {
		os.Exit(withCache(m.Run))
	}
	os.Exit(serve(os.Stdin, os.Stdout, os.Stderr))
}

// withCache runs f with a folder for what can be made again.
func withCache(f func() int) int {
	dir, err := os.MkdirTemp("", "southbound-lsp-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = os.Setenv("XDG_CACHE_HOME", dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return f()
}

// registry has the types of all handlers. Servers share them.
var registry = sync.OnceValues(func() (*schema.Registry, error) {
	var types []schema.Type
	for _, d := range []provider.Definition{run.Run(), fs.Directory(), fs.File(), std.Null()} {
		types = append(types, d.Type)
	}
	return schema.NewRegistry(types...)
})

// serve is what the program does, and returns its exit code.
func serve(in io.Reader, out io.WriteCloser, log io.Writer) int {
	types, err := registry()
	if err == nil {
		o := lsp.Options{Version: "test", Types: types, Log: log}
		var orderly bool
		if orderly, err = lsp.Serve(context.Background(), in, out, o); orderly {
			return 0
		}
	}
	if err != nil {
		fmt.Fprintln(log, err)
	}
	return 1
}

// said is a log that may be written to by several at once.
type said struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write implements io.Writer.
func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.Write(b)
}

// String returns what was written.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all.String()
}

// patience is how long a test waits for what has to come.
const patience = 2 * time.Minute

// command starts this program as a server.
func command(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LSP_TEST_SERVER=1", "XDG_CACHE_HOME="+t.TempDir())
	return cmd
}

// session is a client with the files of a project.
type session struct {
	*lsptest.Client
	t   *testing.T
	ctx context.Context
	dir string
}

// start starts a server for files, which are given as a txtar archive without comments. It is one
// in this process, where the race detector watches it as well: most tests ask it one thing, and a
// program with the detector takes longer to start than that. TestLife and TestHostile have
// programs.
func start(t *testing.T, files map[string]string, more func(*protocol.InitializeParams)) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	log := &said{}
	c, err := lsptest.Within(ctx,
		func(in io.Reader, out io.WriteCloser) int { return serve(in, out, log) })
	if err != nil {
		t.Fatal(err)
	}
	s := &session{c, t, ctx, dir}
	if _, err := c.Hello(ctx, dir, more); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		code, err := c.Bye(ctx)
		if err != nil || code != 0 {
			t.Errorf("exit code %d, %v", code, err)
		}
		if strings.Contains(log.String(), "goroutine") {
			t.Errorf("the server wrote %s", log)
		}
	})
	return s
}

func (s *session) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *session) open(name string, text ...string) {
	s.t.Helper()
	if err := s.Open(s.ctx, s.path(name), text...); err != nil {
		s.t.Fatal(err)
	}
}

// problems waits until the problems of a file are these: line:column code, and a part of the
// message.
func (s *session) problems(name string, want ...string) protocol.PublishDiagnosticsParams {
	s.t.Helper()
	p, err := s.Diagnostics(s.ctx, s.path(name), func(p protocol.PublishDiagnosticsParams) bool {
		got := lsptest.Messages(p)
		if len(got) != len(want) {
			return false
		}
		for i := range want {
			if !strings.Contains(got[i], want[i]) {
				return false
			}
		}
		return true
	})
	if err != nil {
		s.t.Fatalf("want %q: %v", want, err)
	}
	return p
}

// edit replaces a part of the line at an offset of lines and characters.
func (s *session) edit(name string, version int32, line, from, to uint32, with string) {
	s.t.Helper()
	r := protocol.Range{
		Start: protocol.Position{Line: line, Character: from},
		End:   protocol.Position{Line: line, Character: to},
	}
	if err := s.Edit(s.ctx, s.path(name), version, r, with); err != nil {
		s.t.Fatal(err)
	}
}
