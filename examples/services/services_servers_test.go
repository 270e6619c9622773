//go:build servers

// Package services_test orders what the example offers.
package services_test

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"southbound/localstack/server"
)

// programs returns the folder of PostgreSQL's programs.
func programs(t *testing.T) string {
	t.Helper()
	for range 2 {
		all, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
		if slices.Sort(all); len(all) > 0 {
			return filepath.Dir(all[len(all)-1])
		}
		if err := server.Install(t.Context(), "postgresql"); err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("PostgreSQL is missing although it was installed")
	return ""
}

// postgres starts a server of its own, which listens on a socket in the folder that is returned.
func postgres(t *testing.T) string {
	t.Helper()
	bin := programs(t)
	dir, err := os.MkdirTemp("", "pg") // short: it is part of the name of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 { // PostgreSQL refuses to run as root
		as.Credential = nobody(t, dir)
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(t.Context(), filepath.Join(bin, "initdb"),
		"-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N")
	initdb.SysProcAttr, initdb.Dir = as, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	start := exec.CommandContext(
		t.Context(),
		filepath.Join(bin, "pg_ctl"),
		"-D",
		data,
		"-w",
		"start",
		"-l",
		filepath.Join(dir, "log"),
		"-o",
		fmt.Sprintf("-k %s -h '' -F", dir),
	)
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

// nobody gives a folder to an unprivileged user.
func nobody(t *testing.T, dir string) *syscall.Credential {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	if err := os.Chown(dir, int(uid), int(gid)); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

// commands returns the commands of the page that order from the example.
func commands(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "cd examples/services\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/services.md does not show how to order from the example")
	}
	block = strings.ReplaceAll(block, "\\\n", " ")
	return strings.Split(strings.TrimSpace(block), "\n")
}

// TestServices orders, changes and deletes as the page says, and looks at files and PostgreSQL.
func TestServices(t *testing.T) {
	t.Parallel()
	dir, socket := t.TempDir(), postgres(t)
	build := exec.CommandContext(
		t.Context(),
		"go",
		"build",
		"-trimpath",
		"-o",
		filepath.Join(dir, "southbound"),
		"southbound/cmd/southbound",
	)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	example, root := filepath.Join(dir, "services"), filepath.Join(dir, "srv")
	if err := os.CopyFS(example, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	model, err := os.ReadFile("main.cf")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("/var/run/postgresql", socket, "/tmp/southbound-services", root)
	if err := os.WriteFile(filepath.Join(example, "main.cf"), []byte(text.Replace(string(model))), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(line string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir = example
		cmd.Env = append(
			os.Environ(),
			"PATH="+dir+":"+os.Getenv("PATH"),
			"PGHOST="+socket,
			"PGUSER=postgres",
		)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		return string(out)
	}
	const asks = `psql -Atc "select rolname || ' ' || rolconnlimit from pg_roles, pg_database ` +
		`where rolname = datname and rolname like '8%'"`
	settings := filepath.Join(root, "www.acme.example", "site.conf")
	after := map[string]func(){
		"southbound service create site": func() {
			b, err := os.ReadFile(settings)
			if err != nil ||
				string(b) != "server_name www.acme.example;\nlisten 8000 ssl;\nquota 5G;\n" {
				t.Errorf("%q: %v", b, err)
			}
			if got := run(asks); got != "8000_shop 5\n" {
				t.Errorf("the databases are %q", got)
			}
		},
		"southbound service update site": func() {
			if b, err := os.ReadFile(settings); err != nil ||
				!strings.Contains(string(b), "listen 8000;\n") {
				t.Errorf("%q: %v", b, err)
			}
			if got := run(asks); got != "8000_shop 20\n" {
				t.Errorf("the databases are %q", got)
			}
		},
		"southbound service delete site": func() {
			if _, err := os.Stat(filepath.Dir(settings)); !os.IsNotExist(err) {
				t.Errorf("the files are there: %v", err)
			}
			if got := run(asks); got != "" {
				t.Errorf("the databases are %q", got)
			}
		},
	}
	for _, line := range commands(t) {
		run(line)
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
	if got := run("southbound status"); strings.Contains(got, "orphaned") {
		t.Errorf("something is left: %s", got)
	}
}
