package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"southbound/examples/caddy/caddytest"
	"southbound/shared/buildtest"
	api "southbound/shared/transport/http"
	"southbound/shared/transport/http/apitest"
)

// blocks returns the blocks of the tutorial that are marked with a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/handlers.md")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").
		FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	return out
}

// shown returns what the tutorial puts into the two files of the handler.
func shown(t *testing.T) (handler, test string) {
	t.Helper()
	for _, b := range blocks(t, "go") {
		if strings.Contains(b, "testing.T") {
			test += b + "\n"
		} else {
			handler += b + "\n"
		}
	}
	return handler, test
}

// squeezed is a text without its empty lines.
func squeezed(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' }), "\n")
}

// TestTutorialIsTheExample pins that the page shows what stands here, and that the handler is as
// short as it says.
func TestTutorialIsTheExample(t *testing.T) {
	t.Parallel()
	handler, test := shown(t)
	for file, page := range map[string]string{"handlers/caddy/site.go": handler,
		"handlers/caddy/site_test.go": test} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if squeezed(string(text)) != squeezed(page) {
			t.Errorf("docs/handlers.md shows something else than %s", file)
		}
	}
	code := handler[strings.Index(handler, "type handler struct"):]
	if n := strings.Count(squeezed(code), "\n") + 1; n >= 60 {
		t.Errorf("the handler has %d lines, and the page promises less than 60", n)
	}
	if text, err := os.ReadFile("site.yaml"); err != nil ||
		!strings.Contains(strings.Join(blocks(t, "yml"), ""), string(text)) {
		t.Errorf("docs/handlers.md does not show site.yaml, %v", err)
	}
}

// program runs programs in a directory.
type program struct {
	*testing.T
	dir string
	env []string
}

func (p program) run(name string, args ...string) string {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// TestTutorial does what the tutorial says, from nothing to a site that is deployed, drifts, is
// repaired and purged.
func TestTutorial(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	p := program{t, t.TempDir(), os.Environ()}
	southbound := buildtest.Program(t, buildtest.Southbound)
	p.run(southbound, "new", "pack", "acme", "--southbound", source)
	p.dir = filepath.Join(p.dir, "acme")
	p.run(southbound, "new", "handler", "caddy::Site")
	handler, test := shown(t)
	for file, text := range map[string]string{"handlers/caddy/site.go": handler,
		"handlers/caddy/site_test.go": test} {
		if err := os.WriteFile(filepath.Join(p.dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.env = buildtest.Pack(t, p.dir)
	p.run("go", "test", "-vet=off", "./handlers/...") // these files are vetted here
	bin := filepath.Join(p.dir, "bin", "acme")
	p.run("go", "build", "-o", bin, ".")
	if out := p.run(bin, "type", "caddy::Site", "--format", "markdown"); !strings.Contains(out,
		"# caddy::Site") {
		t.Errorf("type says %s", out)
	}
	use(p, bin)
	declared := blocks(t, "yml")[1]
	if err := os.WriteFile(filepath.Join(p.dir, "vlan.yaml"), []byte(declared), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := p.run(bin, "types", "--check", "vlan.yaml"); strings.Contains(out, "doubtful") {
		t.Errorf("the declaration of the page: %s", out)
	}
}

// use applies the document of the tutorial to a real Caddy.
func use(p program, bin string) {
	url := caddytest.Start(p)
	listener, err := (&net.ListenConfig{}).Listen(p.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		p.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	_ = listener.Close() // Caddy takes it
	document := strings.NewReplacer("http://127.0.0.1:2019", url, "8080", port).
		Replace(blocks(p.T, "yml")[0])
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(p.dir, "site.yaml"), []byte(text), 0o600); err != nil {
			p.Fatal(err)
		}
	}
	get := func() string {
		res, err := http.Get("http://127.0.0.1:" + port + "/")
		if err != nil {
			return ""
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return fmt.Sprintf("%d %s", res.StatusCode, text)
	}
	apply := func(why string, changed float64) {
		p.Helper()
		out := p.run(bin, "apply", "site.yaml", "--json", "--quiet")
		var summary map[string]any
		if err := json.Unmarshal([]byte(out), &summary); err != nil ||
			summary["repaired"] != changed && summary["changed"] != changed {
			p.Errorf("%s: %v, %s", why, err, out)
		}
	}
	write(document)
	apply("first", 1)
	if got := get(); got != "200 Hello\n" {
		p.Errorf("the site answers %q", got)
	}
	apply("again", 0)
	admin := apitest.Connect(p, map[string]any{"url": url, "retry": int64(10)})
	if _, err := admin.Do(p.Context(),
		api.Request{Method: http.MethodDelete,
			Path: "/config/apps/http/servers/hello"}); err != nil {
		p.Fatal(err)
	}
	apply("after drift", 1)
	if got := get(); got != "200 Hello\n" {
		p.Errorf("after drift the site answers %q", got)
	}
	write(strings.Replace(document, "- type: caddy::Site", "- type: caddy::Site\n    purged: true",
		1))
	apply("purged", 1)
	if got := get(); got != "" {
		p.Errorf("the purged site answers %q", got)
	}
}
