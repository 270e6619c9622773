package cli_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var pageBlock = regexp.MustCompile("(?ms)^```([a-z]*)[^\n]*\n(.*?)^```")

// blockOf returns the block of a page that has a text.
func blockOf(t *testing.T, page, language, has string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range pageBlock.FindAllStringSubmatch(string(b), -1) {
		if m[1] == language && strings.Contains(m[2], has) {
			return m[2]
		}
	}
	t.Fatalf("%s has no block of %s with %q", page, language, has)
	return ""
}

// reader is somebody who does in a directory what a page shows.
type reader struct {
	t    *testing.T
	dir  string
	path string // where the program is; "": as for scripts
	as   *strings.Replacer
}

// write writes a file of the reader.
func (r *reader) write(name, text string) {
	r.t.Helper()
	file := filepath.Join(r.dir, name)
	err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750),
		os.WriteFile(file, []byte(r.as.Replace(text)), 0o600))
	if err != nil {
		r.t.Fatal(err)
	}
}

// does runs a block of a page as it is written, and returns what it printed. It ends at the first
// command that fails.
func (r *reader) does(block string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "sh", "-e", "-c", r.as.Replace(block))
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "NO_COLOR=1", "USER=ann")
	if r.path != "" {
		cmd.Env = append(cmd.Env, "PATH="+r.path+":"+os.Getenv("PATH"))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v\n%s\nprinted\n%s", err, block, out)
	}
	return string(out)
}

// printed wants texts in what was printed.
func (r *reader) printed(out string, want ...string) {
	r.t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			r.t.Errorf("expected %q in\n%s", w, out)
		}
	}
}

// TestReadme does what README.md shows under "Try it", in a directory.
func TestReadme(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := &reader{t: t, dir: dir, as: strings.NewReplacer("bin/southbound", "southbound",
		"/tmp/southbound-quickstart", filepath.Join(dir, "deployed"), "/tmp/hello",
		filepath.Join(dir, "hello"))}
	const quickstart = "examples/quickstart"
	err := os.CopyFS(filepath.Join(dir, quickstart), os.DirFS(filepath.Join("../..", quickstart)))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, quickstart, "site.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	r.write(filepath.Join(quickstart, "site.yaml"), string(b))
	out := r.does("southbound apply examples/quickstart")
	want := blockOf(t, "README.md", "text", "version 1 of default")
	begin, _, _ := strings.Cut(want, "(")
	r.printed(out, strings.TrimSpace(begin))
	r.printed(r.does(blockOf(t, "README.md", "sh", "southbound-quickstart/motd")), "1 to create",
		"2 repaired", "created")
	r.printed(r.does(blockOf(t, "README.md", "sh", "southbound plan examples/quickstart")),
		"nothing to do; ", "environment default, version 1: 6 deployed")
	r.write("hello.yaml", blockOf(t, "README.md", "yaml", "/tmp/hello"))
	r.printed(r.does(blockOf(t, "README.md", "sh", "hello.yaml")), "version 1 of hello: 2 resources")
	r.printed(r.does("southbound status"), "environment hello, ")
	r.printed(r.does("southbound status --environment default"), "6 deployed")
}

// everyDay makes the project of docs/hosts.md and does what the page shows under "Every day".
// agents are the lines of hosts.yaml. The resources of the page change accounts, packages and
// services of machines; commands stand for them.
func everyDay(t *testing.T, path string, agents ...string) {
	t.Helper()
	const page = "docs/hosts.md"
	r := &reader{t: t, dir: t.TempDir(), path: path, as: strings.NewReplacer()}
	r.write("site/southbound.yaml", blockOf(t, page, "yaml", "environment: production"))
	r.write("site/hosts.yaml", "southbound: 1\nagents:\n"+strings.Join(agents, "\n")+"\n")
	r.write("site/all.yaml", "southbound: 1\nresources:\n  - {type: std::Null, title: chrony}\n"+
		fmt.Sprintf("  - {type: exec::Run, attributes: {name: made, command: 'touch %[1]s', "+
			"creates: '%[1]s'}}\n", filepath.Join(r.dir, "made")))
	r.write("site/web.yaml", "southbound: 1\ndefaults: {agents: [web1, web2]}\nresources:\n"+
		"  - {type: std::Null, title: nginx, requires: [\"std::Null[name=chrony]\"]}\n")
	block := blockOf(t, page, "sh", "southbound apply site")
	r.printed(r.does(block), "create    exec::Run[", "version 1 of production: 8 resources, 8 changed",
		"environment production, version 1: 8 deployed", "version 1 of production: 3 resources; 3 deployed",
		"pause: done in environment production")
	// The same from below and beside the project, and again.
	r.printed(r.does("cd site; southbound resume db1; southbound status --exit-code"),
		"resume: done in environment production", "version 1: 8 deployed")
	r.printed(r.does("mkdir other; cd other; southbound status"), "environment production")
	r.printed(r.does(block), "version 1 of production: 8 resources, 0 changed, 8 unchanged")
	r.does("southbound resume db1")
	// docs/cli.md keeps a plan of the same project.
	r.write("site/more.yaml", "southbound: 1\nresources:\n  - {type: std::Null, title: more}\n")
	r.printed(r.does(blockOf(t, "docs/cli.md", "sh", "southbound apply site.plan")),
		"kept in site.plan", "version 2 of production: 11 resources, 3 changed")
	// What docs/hosts.md ends with: documents from a program, all of them.
	r.write("inventory.py", "#!/bin/sh\necho '{\"southbound\": 1, \"resources\": [{\"type\": "+
		"\"std::Null\", \"agent\": \"web1\", \"attributes\": {\"name\": \"x\"}}], "+
		"\"agents\": {\"web1\": {\"transport\": \"local\"}}}'\n")
	r.does("chmod +x inventory.py")
	r.printed(r.does(blockOf(t, page, "sh", "inventory.py")), "version 1 of default: 1 resource")
}

// TestCookbook does what docs/hosts.md shows, with machines that are this one.
func TestCookbook(t *testing.T) {
	t.Parallel()
	var agents []string
	for _, name := range []string{"web1", "web2", "db1"} {
		agents = append(agents, fmt.Sprintf("  %s: {transport: local, lanes: 4}", name))
	}
	everyDay(t, "", agents...)
}

// TestCookbookProject validates the project of docs/hosts.md as the page writes it.
func TestCookbookProject(t *testing.T) {
	t.Parallel()
	const page = "docs/hosts.md"
	r := &reader{t: t, dir: t.TempDir(), as: strings.NewReplacer()}
	for name, has := range map[string]string{"southbound.yaml": "environment: production",
		"hosts.yaml": "agents:\n  web1:", "all.yaml": "acct::User", "web.yaml": "site.conf",
		"warm.yaml": "warm the cache"} {
		r.write("site/"+name, blockOf(t, page, "yaml", has))
	}
	r.printed(r.does("southbound validate site"), "no problems")
}
