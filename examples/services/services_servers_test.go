//go:build servers

// Package services_test orders what the example offers.
package services_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/buildtest"
)

// postgres starts a server of its own, which listens on a socket in the folder that is returned.
func postgres(t *testing.T) string {
	t.Helper()
	bin, err := server.PostgreSQL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pg") // short: it is part of the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as, err := server.Unprivileged(dir)
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(t.Context(), filepath.Join(bin, "initdb"),
		"-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	initdb.SysProcAttr, initdb.Dir = as, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	start := exec.CommandContext(t.Context(), filepath.Join(bin, "pg_ctl"), "-D", data, "-w",
		"start",
		"-l", filepath.Join(dir, "log"), "-o", fmt.Sprintf("-k %s -h '' -F", dir))
	start.SysProcAttr, start.Dir = as, dir
	if err := start.Run(); err != nil { // its output stays open in the server
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		t.Fatalf("PostgreSQL: %v\n%s", err, text)
	}
	t.Cleanup(func() {
		stop := exec.Command(filepath.Join(bin, "pg_ctl"), "-D", data, "-m", "immediate", "stop")
		stop.SysProcAttr, stop.Dir = as, dir
		_ = stop.Run()
	})
	return dir
}

// commands returns the commands of the page that order from the example.
func commands(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/catalog.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "cd examples/services\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/catalog.md does not show how to order from the example")
	}
	block = strings.ReplaceAll(block, "\\\n", " ")
	return strings.Split(strings.TrimSpace(block), "\n")
}

// product is a copy of the example, and where it deploys to.
type product struct {
	*testing.T
	bin, dir, root, socket string
}

func newProduct(t *testing.T) product {
	t.Helper()
	bin := filepath.Dir(buildtest.Program(t, buildtest.Southbound))
	root, socket := t.TempDir(), postgres(t)
	p := product{t, bin, filepath.Join(t.TempDir(), "services"), filepath.Join(root, "srv"), socket}
	if err := os.CopyFS(p.dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	main := filepath.Join(p.dir, "main.cf")
	model, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	here := strings.NewReplacer("/var/run/postgresql", socket, "/tmp/southbound-services", p.root)
	if err := os.WriteFile(main, []byte(here.Replace(string(model))), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// run runs a command of the page and returns what it prints.
func (p product) run(line string) string {
	p.Helper()
	cmd := exec.CommandContext(p.Context(), "sh", "-c", line)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "PATH="+p.bin+":"+os.Getenv("PATH"), "PGHOST="+p.socket,
		"PGUSER=postgres")
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// deployed holds what stands in the settings of the site, "" for none, and which databases there
// are.
func (p product) deployed(settings, databases string) {
	p.Helper()
	text, err := os.ReadFile(filepath.Join(p.root, "www.acme.example", "site.conf"))
	if string(text) != settings || (settings == "") != os.IsNotExist(err) {
		p.Errorf("the settings are %q, not %q: %v", text, settings, err)
	}
	if got := p.run(`psql -Atc "select rolname || ' ' || rolconnlimit from pg_roles, pg_database ` +
		`where rolname = datname and rolname like '8%'"`); got != databases {
		p.Errorf("the databases are %q, not %q", got, databases)
	}
}

// TestServices orders, changes and deletes as the page says, and looks at files and PostgreSQL.
func TestServices(t *testing.T) {
	t.Parallel()
	p := newProduct(t)
	const rest = "server_name www.acme.example;\nlisten 8000"
	after := map[string]func(){
		"southbound service create site": func() {
			p.deployed(rest+" ssl;\nquota 5G;\n", "8000_shop 5\n")
		},
		"southbound service update site": func() {
			p.deployed(rest+";\nquota 5G;\n", "8000_shop 20\n")
		},
		"southbound service delete site": func() { p.deployed("", "") },
	}
	for _, line := range commands(t) {
		p.run(line)
		for begin, look := range after {
			if strings.HasPrefix(line, begin) {
				look()
				delete(after, begin)
			}
		}
	}
	if len(after) > 0 {
		t.Errorf("%d of the commands that are looked at are not on the page", len(after))
	}
	if got := p.run("southbound status"); strings.Contains(got, "orphaned") {
		t.Errorf("something is left: %s", got)
	}
}
