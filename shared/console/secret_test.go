package console_test

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/resource"
)

// TestOperatorsSecret: a secret that a file was deployed with, and was changed by hand, is on no page
// that the overview, the resource, the log and a dry run lead to.
func TestOperatorsSecret(t *testing.T) {
	t.Parallel()
	const first, second = "planted-s3cret-one", "planted-s3cret-two"
	w := consoletest.Open(t, handlers.All())
	kept := filepath.Join(t.TempDir(), "secret")
	file := w.File("password", "")
	file.Attributes["content"] = resource.Secret{Source: "file:" + kept}
	for _, secret := range []string{first, second} {
		if err := os.WriteFile(kept, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		w.Export(t, "production", file, consoletest.Null("web1", secret[len(secret)-3:]))
		w.Deploy(t, "production")
	}
	if text, err := os.ReadFile(filepath.Join(w.Dir, "password")); err != nil || !strings.HasPrefix(string(text), "planted") {
		t.Fatalf("the secret was not deployed: %q, %v", text, err)
	}
	w.Break(t, "password", first)
	b := signedIn(t, console.New(w.Service, realTime()))
	at := started(t, b, url.Values{"filter": {"type=fs::File"}})
	wants(t, ended(t, b, at), "update 1", "secret")
	seen, open := map[string]bool{}, []string{"/console/production/", at}
	for len(open) > 0 && len(seen) < 150 {
		to := open[0]
		if open = open[1:]; seen[to] || !strings.HasPrefix(to, "/console/production/") {
			continue
		}
		seen[to] = true
		res := b.Do(http.MethodGet, to, "")
		page := consoletest.Body(t, res)
		if strings.Contains(page, "planted-s3cret") {
			t.Errorf("%s shows the secret", to)
		}
		open = append(open, linksOf(page)...)
	}
	if len(seen) < 30 {
		t.Errorf("there are %d pages", len(seen))
	}
}
