package console_test

import (
	"encoding/base64"
	"encoding/hex"
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
	if n := searched(t, b, []string{first, second}, "/console/production/", at); n < 30 {
		t.Errorf("there are %d pages", n)
	}
}

// TestCustomersSecret: a secret of a resource of an instance, which was changed by hand and has failed
// since, is on no page that the page of the instance and the orders lead to.
func TestCustomersSecret(t *testing.T) {
	t.Parallel()
	const first, second = "planted-s3cret-one", "planted-s3cret-two"
	w := offered(t, "testdata/forms.cf")
	acme := w.Create(t, "customer", map[string]any{"name": "acme", "contact": "a@b"})
	site := w.Create(t, "site", map[string]any{"host_name": "a.example", "region": "eu-west-1", "customer": acme.ID,
		"motto": "file:/etc/motto"})
	kept := filepath.Join(t.TempDir(), "secret")
	file := w.File("password", "")
	file.Set = site.ID
	file.Attributes["content"] = resource.Secret{Source: "file:" + kept}
	for _, secret := range []string{first, second} {
		if err := os.WriteFile(kept, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		other := consoletest.Null("web1", secret[len(secret)-3:])
		other.Set = site.ID
		w.ExportOwned(t, file, other)
		w.Deploy(t, consoletest.Env)
	}
	if text, err := os.ReadFile(filepath.Join(w.Dir, "password")); err != nil || !strings.HasPrefix(string(text), "planted") {
		t.Fatalf("the secret was not deployed: %q, %v", text, err)
	}
	w.Break(t, "password", first)
	b := signedIn(t, console.New(w.Service, realTime()))
	page := at + "instances/" + site.ID
	if n := searched(t, b, []string{first, second}, at+"services", at+"orders", page, page+"/edit", page+"?tab=json",
		page+"?tab=resources", page+"?tab=diagnose", page+"?tab=history", page+"?tab=attributes", at+"versions"); n < 30 {
		t.Errorf("there are %d pages", n)
	}
}

// searched visits pages and those that they lead to, at most 150, and fails the test if one has a
// secret: as text, in hexadecimal digits, or in base64 at any place of a longer text. It returns the
// number of pages.
func searched(t *testing.T, b *consoletest.Browser, secrets []string, open ...string) int {
	t.Helper()
	var forms []string
	for _, secret := range secrets {
		forms = append(forms, secret, hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))))
		for skip := range 3 { // the alignments of base64; the first and the last letters hold neighbors
			text := base64.RawStdEncoding.EncodeToString(append(make([]byte, skip), secret...))
			forms = append(forms, text[4*min(skip, 1):len(text)-4])
		}
	}
	seen := map[string]bool{}
	for len(open) > 0 && len(seen) < 150 {
		to := open[0]
		if open = open[1:]; seen[to] || !strings.HasPrefix(to, "/console/production/") {
			continue
		}
		seen[to] = true
		page := consoletest.Body(t, b.Do(http.MethodGet, to, ""))
		for _, form := range forms {
			if strings.Contains(page, form) {
				t.Errorf("%s shows the secret as %s", to, form)
			}
		}
		open = append(open, linksOf(page)...)
	}
	return len(seen)
}
