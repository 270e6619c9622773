package ssh_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/cli"
	"southbound/shared/transport/ssh/sshtest"
)

// TestApply deploys a document by the program itself: what is on a machine is done there, and drift
// is found and mended.
func TestApply(t *testing.T) {
	t.Setenv("SOUTHBOUND_PROGRAMS", small.Dir)
	s, dir := start(t, sshtest.Self(t)), t.TempDir()
	site, tree := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "tree")
	write(t, filepath.Join(dir, "bytes"), strings.Repeat("uploaded ", 100_000), 0o600)
	write(t, site, fmt.Sprintf(`southbound: 1
agents:
  web: {transport: ssh, host: 127.0.0.1, port: %d, user: %s, key_file: %s, host_key: %q, directory: %s}
defaults: {agent: web}
resources:
  - {type: fs::Directory, attributes: {path: %[6]s}}
  - {type: fs::File, attributes: {path: %[6]s/a, content: {file: bytes}}}
  - {type: fs::File, attributes: {path: %[6]s/b, content: "text\n"}}
  - {type: exec::Run, attributes: {name: c, command: "echo of $PPID > %[6]s/c", creates: %[6]s/c}, requires: ["fs::Directory[web,path=%[6]s]"]}
`, s.Port, s.Login, s.User.File, s.Host.Public, shared, tree), 0o600)
	apply := func(code int, parts ...string) {
		t.Helper()
		var out, say bytes.Buffer
		if got := cli.Main(handlers.All(),
			[]string{"apply", site, "--data", filepath.Join(dir, "data"), "--no-color"}, nil, &out,
			&say); got != code {
			t.Errorf("exit code %d, expected %d", got, code)
		}
		for _, part := range parts {
			if !strings.Contains(out.String()+say.String(), part) {
				t.Errorf("no %q in\n%s\n%s", part, &out, &say)
			}
		}
	}
	apply(0, "4 deployed")
	text, err := os.ReadFile(filepath.Join(tree, "a"))
	if _, missing := os.Stat(filepath.Join(tree, "c")); err != nil || len(text) != 900_000 ||
		missing != nil {
		t.Errorf("%d bytes, %v, %v", len(text), err, missing)
	}
	write(t, filepath.Join(tree, "b"), "drift", 0o600)
	apply(0, "1 repaired")
	if text, err := os.ReadFile(filepath.Join(tree, "b")); err != nil || string(text) != "text\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestApplyCut deploys a document over a line that is cut in the middle: what was under way is
// told, and done the next time.
func TestApplyCut(t *testing.T) {
	t.Setenv("SOUTHBOUND_PROGRAMS", small.Dir)
	s, dir := start(t, sshtest.Self(t)), t.TempDir()
	site, tree := filepath.Join(dir, "site.yaml"), filepath.Join(dir, "tree")
	line := interpose(t, s, func(n int, _ way, _, _ int64) verdict {
		if _, err := os.Stat(filepath.Join(tree, "10")); n == 0 && err == nil {
			return sever // it was made, and nobody has heard of it
		}
		return pass
	})
	var document strings.Builder
	fmt.Fprintf(&document,
		"southbound: 1\nagents:\n  web: {transport: ssh, host: 127.0.0.1, port: %d, user: %s, "+
			"key_file: %s, host_key: %q, directory: %s}\ndefaults: {agent: web}\nresources:\n"+
			"  - {type: fs::Directory, attributes: {path: %s}}\n", line.port, s.Login, s.User.File,
		s.Host.Public, shared, tree)
	for i := range 50 {
		fmt.Fprintf(&document, "  - {type: fs::File, attributes: {path: %s/%d, content: %q}}\n",
			tree, i, strings.Repeat("x", 1000))
	}
	write(t, site, document.String(), 0o600)
	for i, c := range []struct {
		code int
		says string
	}{{3, "the connection with the machine of agent web is lost"}, {0, "51 deployed"},
		{0, "51 deployed"}} {
		var out, say bytes.Buffer
		code := cli.Main(handlers.All(),
			[]string{"apply", site, "--data", filepath.Join(dir, "data"), "--no-color"}, nil, &out,
			&say)
		if code != c.code || !strings.Contains(out.String()+say.String(), c.says) {
			t.Errorf("apply %d: exit code %d, expected %d, and %q:\n%.2000s%.2000s", i, code,
				c.code, c.says, out.String(), say.String())
		}
	}
	if entries, err := os.ReadDir(tree); err != nil || len(entries) != 50 {
		t.Errorf("%d files, %v", len(entries), err)
	}
}
