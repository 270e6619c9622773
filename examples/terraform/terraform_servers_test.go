//go:build servers

// Package terraform_test follows the page of the example.
package terraform_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/buildtest"
)

// place is the directory of the page. A test has another one.
const place = "/tmp/southbound-shop"

// lockedBy is the release of Go that has built the program in shop/southbound.lock.
const lockedBy = "go1.26.8 linux/amd64"

// host is a copy of the example with a server of PostgreSQL and services of its own.
type host struct {
	*testing.T
	root, example, bin string
	env                []string
}

// newHost starts what the page starts in its first commands, under a directory of the test.
func newHost(t *testing.T) *host {
	t.Helper()
	postgres, err := server.PostgreSQL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	runit := ""
	if path, err := exec.LookPath("runsvdir"); err == nil {
		runit = filepath.Dir(path)
	} else if runit, err = server.Unpack(t.Context(), "runit"); err != nil {
		t.Fatal(err)
	}
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	// as long as the name on the page: plans cut long values, and show sizes
	root := "/tmp/sb-" + hex.EncodeToString(random[:])
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	h := &host{T: t, root: root, example: filepath.Join(root, "examples", "terraform"),
		bin: filepath.Dir(buildtest.Program(t, buildtest.Southbound))}
	h.copied()
	for _, dir := range []string{"service", "server"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GOFLAGS=") && !strings.HasPrefix(v, "PG") {
			h.env = append(h.env, v)
		}
	}
	h.env = append(h.env, "PATH="+strings.Join([]string{h.bin, runit, postgres, os.Getenv("PATH")}, ":"),
		"ADMIN_PASSWORD=admin-s3cret", "SOUTHBOUND_PROVIDERS="+filepath.Join(root, "providers"))
	h.postgres(postgres)
	services := exec.Command(filepath.Join(runit, "runsvdir"), "-P", filepath.Join(root, "service"))
	services.Env = h.env
	if err := services.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = services.Process.Signal(syscall.SIGHUP) // it ends all services
		_ = services.Wait()
	})
	return h
}

// copied copies the example, with the directory of the test in place of that of the page.
func (h *host) copied() {
	h.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".southbound" {
			return fs.SkipDir
		}
		to := filepath.Join(h.example, path)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, bytes.ReplaceAll(text, []byte(place), []byte(h.root)), 0o644)
	})
	if err != nil {
		h.Fatal(err)
	}
}

// postgres starts a server that asks for the password of the test.
func (h *host) postgres(bin string) {
	h.Helper()
	dir, socket := filepath.Join(h.root, "server"), filepath.Join(h.root, "pg")
	password := filepath.Join(dir, "password")
	if err := os.Mkdir(socket, 0o755); err != nil {
		h.Fatal(err)
	}
	as, err := server.Unprivileged(dir)
	if err == nil {
		_, err = server.Unprivileged(socket)
	}
	if err == nil {
		err = os.WriteFile(password, []byte("admin-s3cret"), 0o644)
	}
	if err != nil {
		h.Fatal(err)
	}
	run := func(program string, args ...string) {
		h.Helper()
		cmd := exec.Command(filepath.Join(bin, program), append([]string{"-D", filepath.Join(dir, "data")}, args...)...)
		cmd.SysProcAttr, cmd.Dir = as, dir
		if err := cmd.Run(); err != nil { // its output stays open in the server
			text, _ := os.ReadFile(filepath.Join(dir, "log"))
			h.Fatalf("%s: %v\n%s", program, err, text)
		}
	}
	run("initdb", "-U", "postgres", "-A", "scram-sha-256", "--pwfile="+password, "-E", "UTF8", "--locale=C", "-N")
	run("pg_ctl", "-w", "-l", filepath.Join(dir, "log"), "-o", "-k "+socket+" -h '' -F", "start")
	h.Cleanup(func() { run("pg_ctl", "-m", "immediate", "stop") })
}

// block is one block of commands of the page, and the output that the page shows.
type block struct {
	title, commands, output string
}

// blocks returns the blocks of the page, with the directory of the test.
func (h *host) blocks() []block {
	h.Helper()
	page, err := os.ReadFile(filepath.Join(h.example, "README.md"))
	if err != nil {
		h.Fatal(err)
	}
	var out []block
	title := ""
	parts := regexp.MustCompile("(?ms)^## ([^\n]*)\n|^```(sh|text)\n(.*?)^```\n").FindAllStringSubmatch(string(page), -1)
	for _, p := range parts {
		switch {
		case p[1] != "":
			title = p[1]
		case p[2] == "sh":
			out = append(out, block{title, p[3], ""})
		default:
			out[len(out)-1].output = p[3]
		}
	}
	return out
}

// mark ends the output of a block.
const mark = "=== end of block "

// run runs blocks in one shell, and returns the output of each.
func (h *host) run(blocks []block) []string {
	h.Helper()
	var script strings.Builder
	script.WriteString("exec 2>&1\n")
	for i, b := range blocks {
		fmt.Fprintf(&script, "%s\necho '%s%d'\n", b.commands, mark, i)
	}
	cmd := exec.CommandContext(h.Context(), "bash")
	cmd.Dir, cmd.Env, cmd.Stdin = h.root, h.env, strings.NewReader(script.String())
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.Errorf("the commands: %v", err)
	}
	var all []string
	rest := string(out)
	for i := range blocks {
		text, after, found := strings.Cut(rest, fmt.Sprintf("%s%d\n", mark, i))
		if !found {
			h.Fatalf("the commands end within block %d:\n%s", i, rest)
		}
		all, rest = append(all, text), after
	}
	return all
}

// varies are parts of the output that differ from run to run. The service may run before Southbound
// starts it, because runit looks for new services, too.
var varies = []struct {
	part *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\([0-9.]+ m?s\)`), "(TIME)"},
	{regexp.MustCompile(`(?m)^\d+ of \d+, .*\n`), ""}, // progress
	{regexp.MustCompile(`SHA-256 [0-9a-f]{12}`), "SHA-256"},
	{regexp.MustCompile(`(?m)^(updated  svc::Service.*\])  running$`), "$1"},
}

// lines returns what is compared of an output: its lines in the order of the alphabet, since lanes work
// at the same time.
func lines(text string) string {
	for _, v := range varies {
		text = v.part.ReplaceAllString(text, v.as)
	}
	all := strings.Split(strings.TrimSpace(text), "\n")
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// TestPage runs the commands of the page and compares their output with that of the page.
func TestPage(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	all := h.blocks()
	install := slices.IndexFunc(all, func(b block) bool { return b.title == "Install the provider" })
	last := slices.IndexFunc(all, func(b block) bool { return strings.Contains(b.commands, "git checkout") })
	if install != 1 || last < 0 {
		t.Fatalf("the page has other blocks: %d, %d", install, last)
	}
	download(t, filepath.Join(h.example, "provider"))
	todo := all[install:last]
	locked := runtime.Version()+" "+runtime.GOOS+"/"+runtime.GOARCH == lockedBy
	if !locked {
		todo[0].commands += "southbound provider add example.com/shop/postgresql --from " + h.root + "/mirror\n"
	}
	for i, got := range h.run(todo) {
		if want := todo[i].output; (i > 0 || locked) && lines(got) != lines(want) {
			t.Errorf("%s:\n%s\nprints\n%s\nand on the page\n%s", todo[i].title, todo[i].commands, got, want)
		}
	}
	h.sameTypes()
	h.withoutSecrets()
}

// download fetches the modules of the provider, so that the build of the page does not print it.
func download(t *testing.T, dir string) {
	t.Helper()
	get := exec.CommandContext(t.Context(), "go", "mod", "download")
	get.Dir = dir
	if out, err := get.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// sameTypes fails the test if the declarations beside the lock file are not those of the provider.
func (h *host) sameTypes() {
	h.Helper()
	was, err := os.ReadFile("shop/southbound.lock")
	if err != nil {
		h.Fatal(err)
	}
	now, err := os.ReadFile(filepath.Join(h.example, "shop", "southbound.lock"))
	if err != nil {
		h.Fatal(err)
	}
	digest := regexp.MustCompile(`digest: "[^"]*"`)
	if a, b := digest.Find(was), digest.Find(now); len(a) == 0 || !bytes.Equal(a, b) {
		h.Errorf("southbound.lock has %s, and the provider %s", a, b)
	}
}

// withoutSecrets fails the test if a file of the program has a password in clear.
func (h *host) withoutSecrets() {
	h.Helper()
	for _, dir := range []string{filepath.Join(h.example, "shop"), filepath.Join(h.root, "blog")} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, secret := range []string{"admin-s3cret", "blog-password"} {
				if bytes.Contains(text, []byte(secret)) {
					h.Errorf("%s has the secret %s in clear", path, secret)
				}
			}
			return err
		})
		if err != nil {
			h.Error(err)
		}
	}
}
