package ssh_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"southbound/handlers/exec"
	"southbound/handlers/fs"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/transport/ssh"
	"southbound/shared/transport/ssh/sshtest"
)

// connect returns a connection with options, which ends with the test.
func connect(t *testing.T, s *ssh.Sessions, options map[string]any) *ssh.Conn {
	t.Helper()
	c, err := s.Connect(t.Context(), options)
	if err != nil {
		t.Fatalf("connect: %v (%s)", err, fault.HintOf(err))
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func sessions(t *testing.T) *ssh.Sessions {
	t.Helper()
	s := &ssh.Sessions{Retry: -1, Programs: &small}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// forwarded returns a definition whose handler is on the machine.
func forwarded(t *testing.T, c *ssh.Conn, d provider.Definition) provider.Definition {
	t.Helper()
	h, err := c.Handler(d.Type, d.Handler)
	if err != nil {
		t.Fatal(err)
	}
	d.Handler = h
	return d
}

// TestConformance runs the suite on handlers that are on the other side of an sshd.
func TestConformance(t *testing.T) {
	t.Parallel()
	c := connect(t, sessions(t), start(t, sshtest.Self(t)).Options("directory", shared))
	for _, one := range []struct {
		d   provider.Definition
		new func(path func(string) string, host *providertest.Host) providertest.Case
	}{
		{fs.File(), func(path func(string) string, host *providertest.Host) providertest.Case {
			large := host.AddFile(bytes.Repeat([]byte("0123456789abcdef"), 200_000))
			return providertest.Case{
				Attributes: map[string]any{"path": path("a"), "content": "first s3cr3t\n",
					"mode": "0640"}, Secrets: []string{"s3cr3t"},
				Updates: []map[string]any{{"content": "second s3cr3t\n"}, {"mode": "600"},
					{"content": large}, {"content": host.AddFile(nil)},
					{"content": "\xff\x00 no text"}},
				Others: []map[string]any{{"path": path("b"), "content": large},
					{"path": path("ü"), "content": ""}, {"path": path("any"), "mode": "0600"}},
			}
		}},
		{fs.Directory(), func(path func(string) string, _ *providertest.Host) providertest.Case {
			return providertest.Case{Attributes: map[string]any{"path": path("a"), "mode": "0750"},
				Updates: []map[string]any{{"mode": "1777"},
					{"mode": "0700", "owner": int64(os.Getuid())}},
				Others: []map[string]any{{"path": path("b")}, {"path": path("c"), "mode": "2755"}}}
		}},
		{fs.Symlink(), func(path func(string) string, _ *providertest.Host) providertest.Case {
			return providertest.Case{Attributes: map[string]any{"path": path("a"),
				"target": "nowhere"},
				Updates: []map[string]any{{"target": "../elsewhere"}},
				Others:  []map[string]any{{"path": path("b"), "target": "a"}}}
		}},
		{exec.Run(), func(path func(string) string, _ *providertest.Host) providertest.Case {
			run := func(name string) map[string]any {
				return map[string]any{"name": name, "command": "echo $WORD; touch " + path(name),
					"creates": path(name), "environment": map[string]any{"WORD": "word"}}
			}
			return providertest.Case{Attributes: run("a"),
				Others: []map[string]any{run("b"), run("c")}, Lasting: true,
				Vanish: func() error { return os.Remove(path("a")) }}
		}},
	} {
		t.Run(one.d.Type.Name, func(t *testing.T) {
			providertest.Run(t, providertest.Subject{Definition: forwarded(t, c, one.d),
				New: func(dir string, host *providertest.Host) (providertest.Case, error) {
					out := one.new(func(name string) string { return filepath.Join(dir, name) },
						host)
					out.World = func() (string, error) {
						entries, err := os.ReadDir(dir)
						return fmt.Sprint(entries), err
					}
					return out, nil
				}})
		})
	}
	facts, err := c.Facts(t.Context())
	if err != nil || facts["os"] != "of the test" {
		t.Errorf("facts: %v, %v", facts, err)
	}
	if c.Program() != "program of the test" {
		t.Errorf("program %q", c.Program())
	}
	d := fs.File()
	d.Type.Machine = false
	if _, err := c.Handler(d.Type, d.Handler); provider.ClassOf(err) != provider.Terminal ||
		!strings.Contains(err.Error(), "not on a machine") {
		t.Errorf("a type that is not about a machine: %v", err)
	}
}

// TestRefused pins what comes of every way in which a machine cannot be used.
func TestRefused(t *testing.T) {
	t.Parallel()
	s, dir := start(t, sshtest.Self(t)), t.TempDir()
	other, locked := sshtest.NewKey(t, dir, "other", ""),
		sshtest.NewKey(t, dir, "locked", "open sesame")
	known := func(name, text string) string {
		path := filepath.Join(dir, name)
		write(t, path, text, 0o600)
		return path
	}
	at := fmt.Sprintf("[127.0.0.1]:%d ", s.Port)
	write(t, filepath.Join(dir, "file"), "", 0o600)
	if err := os.Mkdir(filepath.Join(dir, "open"), 0o755); err != nil { // that is the point
		t.Fatal(err)
	}
	for _, c := range []struct {
		why     string
		options map[string]any
		kind    fault.Kind
		class   provider.Class
		text    string // in the error or its hint
	}{
		{"another host key than the pinned one", s.Options("host_key", other.Public), fault.Denied,
			provider.Terminal, "an attacker may intercept"},
		{"another host key than the known one",
			s.Options("host_key", nil, "known_hosts", known("changed", at+other.Public+"\n")),
			fault.Denied, provider.Terminal, "another key than the known one"},
		{"a host key that is not known",
			s.Options("host_key", nil, "known_hosts", known("empty", "")), fault.Denied,
			provider.Terminal, "is not known"},
		{"a host key that was revoked",
			s.Options("host_key", nil, "known_hosts",
				known("revoked", "@revoked * "+s.Host.Public+"\n")), fault.Denied,
			provider.Terminal, "revokes"},
		{"no file of known hosts", s.Options("host_key", nil, "known_hosts",
			filepath.Join(dir, "none")), fault.Denied, provider.Terminal, "ssh-keyscan"},
		{"another key than the user's", s.Options("key_file", other.File), fault.Denied,
			provider.Terminal, "rejected"},
		{"a password that is none", s.Options("key_file", nil, "password", "wrong"), fault.Denied,
			provider.Terminal, "rejected"},
		{"a key that is encrypted", s.Options("key_file", locked.File), fault.Invalid,
			provider.Terminal, "add passphrase"},
		{"another passphrase", s.Options("key_file", locked.File, "passphrase", "close"),
			fault.Invalid, provider.Terminal, "does not open"},
		{"the right passphrase of another key",
			s.Options("key_file", nil, "key", locked.Private, "passphrase", "open sesame"),
			fault.Denied, provider.Terminal, "rejected"},
		{"no such key file", s.Options("key_file", filepath.Join(dir, "none")), fault.NotFound,
			provider.Terminal, "key_file"},
		{"nobody listens", s.Options("port", int64(1)), fault.Unavailable, provider.Retryable,
			"refused"},
		{"a name that is none", s.Options("host", "no.such.host.invalid"), fault.Unavailable,
			provider.Retryable, ""},
		{"a bastion that refuses", s.Options("jump", []any{s.Options("host_key", other.Public)}),
			fault.Denied, provider.Terminal, "through 127.0.0.1"},
		{"no such program", s.Options("program", "/no/such"), fault.NotFound, provider.Terminal,
			"program"},
		{"a program that is another", s.Options("program", "/bin/echo"), fault.Damaged,
			provider.Terminal, "not Southbound"},
		{"a directory that others can read", s.Options("directory", filepath.Join(dir, "open")),
			fault.Denied, provider.Terminal, "by others"},
		{"a directory that is none", s.Options("directory", filepath.Join(dir, "file")),
			fault.Denied, provider.Terminal, "exists"},
		{"an option that is wrong", s.Options("port", "ssh"), fault.Invalid, provider.Terminal,
			"port"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			_, err := sessions(t).Connect(t.Context(), c.options)
			if fault.KindOf(err) != c.kind || provider.ClassOf(err) != c.class ||
				!strings.Contains(fmt.Sprint(err, fault.HintOf(err)), c.text) {
				t.Errorf("%v: %q, %q, hint %q; expected %q, %q, %q", err, fault.KindOf(err),
					provider.ClassOf(err), fault.HintOf(err), c.kind, c.class, c.text)
			}
		})
	}
	t.Run("known by a file", func(t *testing.T) {
		t.Parallel()
		connect(t, sessions(t), s.Options("host_key", nil, "known_hosts",
			known("right", at+s.Host.Public+"\n"), "directory", shared))
	})
	t.Run("through two bastions", func(t *testing.T) {
		t.Parallel()
		first, second := start(t, sshtest.Self(t)), start(t, sshtest.Self(t))
		connect(t, sessions(t), s.Options("jump", []any{first.Options(), second.Options()},
			"directory", shared))
		_, err := sessions(t).Connect(t.Context(),
			s.Options("jump", []any{first.Options(), second.Options("host_key", other.Public)},
				"directory", shared))
		if !fault.Is(err, fault.Denied) || provider.ClassOf(err) != provider.Terminal ||
			!strings.Contains(err.Error(), "through 127.0.0.1") {
			t.Errorf("the second bastion is another: %v", err)
		}
	})
}

// TestCut cuts the connection in the middle of a batch: what was under way fails and may be
// repeated, the program on the machine ends, and the next call connects anew.
func TestCut(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		why string
		cut func(t *testing.T, s *server, pid int)
	}{
		{"the sshd of the session is killed",
			func(_ *testing.T, s *server, _ int) { s.Kill(syscall.SIGKILL) }},
		{"the program is killed",
			func(_ *testing.T, _ *server, pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }},
		{"the program hangs", func(t *testing.T, _ *server, pid int) {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
		}},
	} {
		t.Run(one.why, func(t *testing.T) {
			t.Parallel()
			s, dir := start(t, sshtest.Self(t)), t.TempDir()
			d := forwarded(t, connect(t, sessions(t),
				s.Options("keep_alive", int64(1), "directory", shared)), slow())
			batch, ok := provider.As[provider.BatchApplier](d.Handler)
			if !ok {
				t.Fatal("it applies no batches")
			}
			host := providertest.NewHost(nil)
			items := make([]provider.BatchChange, 3)
			for i := range items {
				r := provider.Resource{ID: "test::Slow[a,path=x]", Type: "test::Slow",
					Attributes: map[string]any{"path": filepath.Join(dir, strconv.Itoa(i))}}
				items[i] = provider.BatchChange{Context: host.Context(t.Context(),
					provider.Options{}), Change: diff.Created, Resource: r}
			}
			var out []provider.Applied
			var wait sync.WaitGroup
			wait.Go(func() { out = batch.ApplyBatch(t.Context(), items) })
			pid := await(t, filepath.Join(dir, "2"))
			await(t, filepath.Join(dir, "0"))
			one.cut(t, s, pid)
			wait.Wait()
			for i, a := range out {
				if !fault.Is(a.Err, fault.Unavailable) ||
					provider.ClassOf(a.Err) != provider.Retryable ||
					!strings.Contains(a.Err.Error(), "lost") {
					t.Errorf("item %d: %v", i, a.Err)
				}
			}
			if len(out) != len(items) {
				t.Errorf("%d answers", len(out))
			}
			if strings.Contains(one.why, "sshd") {
				gone(t, pid, filepath.Join(dir, "0"))
			}
			obs, err := d.Handler.Read(items[0].Context,
				provider.ReadRequest{Resource: items[0].Resource})
			if err != nil || obs.Exists && obs.Attributes["pid"] == strconv.Itoa(pid) {
				t.Errorf("after the cut: %v, %v", obs, err)
			}
		})
	}
}

// await waits for a file with a number.
func await(t *testing.T, path string) int {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().
		Before(end); <-time.After(5 * time.Millisecond) {
		text, _ := os.ReadFile(path)
		if n, err := strconv.Atoi(string(text)); err == nil {
			return n
		}
	}
	t.Fatalf("%s does not come", path)
	return 0
}

// gone waits for a process to end, and for what it removes when it ends in order.
func gone(t *testing.T, pid int, path string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().
		Before(end); <-time.After(5 * time.Millisecond) {
		_, err := os.Stat(path)
		if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); os.IsNotExist(err) &&
			(len(stat) == 0 || bytes.Contains(stat, []byte(") Z "))) {
			return
		}
	}
	t.Error("the program on the machine does not end, or has left its handlers in the middle")
}

// TestBothAtOnce has two engines put the program on a machine at the same time.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	s, dir := start(t, sshtest.Self(t)), filepath.Join(t.TempDir(), "programs")
	var wait sync.WaitGroup
	for range 2 {
		wait.Go(func() {
			own := &ssh.Sessions{Retry: -1, Programs: &small}
			defer own.Close()
			c, err := own.Connect(t.Context(), s.Options("directory", dir))
			if err != nil {
				t.Error(err)
				return
			}
			_ = c.Close()
		})
	}
	wait.Wait()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || !strings.HasPrefix(entries[0].Name(), "southbound-") {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	// What is there and is not whole is put there anew.
	path := filepath.Join(dir, entries[0].Name())
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2]++
	if err := os.Remove(path); err != nil { // it may be running
		t.Fatal(err)
	}
	write(t, path, string(text), 0o700)
	connect(t, sessions(t), s.Options("directory", dir))
}

// TestSays pins that what a handler says and asks for reaches the run.
func TestSays(t *testing.T) {
	t.Parallel()
	s, dir := start(t, sshtest.Self(t)), t.TempDir()
	d := forwarded(t, connect(t, sessions(t), s.Options("directory", shared)), slow())
	host := providertest.NewHost(nil)
	file := host.AddFile(bytes.Repeat([]byte("x"), 5<<20+7))
	r := provider.Resource{ID: "test::Slow[a,path=x]", Type: "test::Slow",
		Attributes: map[string]any{"path": filepath.Join(dir, "a"), "file": file.Hash,
			"named": file}}
	result, err := d.Handler.Create(host.Context(t.Context(), provider.Options{ID: r.ID}),
		provider.CreateRequest{Resource: r})
	if err != nil || result.Again == nil || string(result.Again.State) != strconv.Itoa(5<<20+7) {
		t.Errorf("create: %v, %v", result, err)
	}
	lines := host.Lines()
	if len(lines) != 1 || lines[0].Msg != "it begins" ||
		lines[0].Kwargs["error"] != os.ErrClosed.Error() || host.Facts()["pid"] == "" ||
		!resource.Equal(host.AttributeChanges()["bytes"].Desired, int64(5<<20+7)) {
		t.Errorf("said: %v, %v, %v", lines, host.Facts(), host.AttributeChanges())
	}
	r.Attributes["file"] = strings.Repeat("0", 64)
	r.Attributes["named"] = resource.File{Hash: strings.Repeat("0", 64)}
	if _, err := d.Handler.Create(host.Context(t.Context(), provider.Options{ID: r.ID}),
		provider.CreateRequest{Resource: r}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// newContext is that of a run that nobody looks at.
func newContext(t *testing.T) *provider.Context {
	t.Helper()
	return providertest.NewHost(nil).Context(t.Context(), provider.Options{})
}
