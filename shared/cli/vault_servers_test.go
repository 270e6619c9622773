//go:build servers

package cli_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/cli"
)

// vaultRig is a server of secrets behind a proxy that counts reads and logins, and calls a function
// before one read.
type vaultRig struct {
	*server.OpenBao
	t      *testing.T
	mu     sync.Mutex
	reads  int
	logins int
	at     int    // the read before which do is called
	do     func() // ends before the read is forwarded
}

// ServeHTTP implements http.Handler.
func (v *vaultRig) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	to, _ := url.Parse(v.URL)
	v.mu.Lock()
	if strings.HasPrefix(r.URL.Path, "/v1/secret/data/") {
		if v.reads++; v.reads == v.at {
			v.do()
		}
	}
	if strings.HasPrefix(r.URL.Path, "/v1/auth/approle/login") {
		v.logins++
	}
	v.mu.Unlock()
	httputil.NewSingleHostReverseProxy(to).ServeHTTP(w, r)
}

// before resets the counts, and calls do before the third read.
func (v *vaultRig) before(do func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.reads, v.logins, v.at, v.do = 0, 0, 3, do
}

func (v *vaultRig) must(method, path string, body any) map[string]any {
	v.t.Helper()
	out, code := v.Send(method, path, v.Root, body)
	if code == 0 || code >= 300 {
		v.t.Fatalf("%s %s: %d, %v", method, path, code, out)
	}
	return out
}

// TestVaultInAnApply pins the end of an apply whose server of secrets rejects it in the middle. An
// expired token is replaced once. Any other problem is reported once for all resources, and no
// resource changes.
func TestVaultInAnApply(t *testing.T) {
	bao, err := server.StartOpenBao(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bao.Close)
	v := &vaultRig{OpenBao: bao, t: t}
	proxy := httptest.NewServer(v)
	t.Cleanup(proxy.Close)
	dir := t.TempDir()
	const resources = 6
	text := "southbound: 1\ndefaults: {agent: a}\nresources:\n"
	write := func(value string) {
		for i := range resources {
			v.must("POST", fmt.Sprintf("secret/data/shop/r%d", i), map[string]any{
				"data": map[string]any{"password": fmt.Sprint(value, i)}})
		}
	}
	write("one")
	for i := range resources {
		text += fmt.Sprintf("  - {type: fs::File, attributes: {path: %s/f%d, content: {secret: \"vault:secret/shop/r%d#password\"}, mode: \"0600\"}}\n",
			dir, i, i)
	}
	site := filepath.Join(dir, "site.yaml")
	if err := os.WriteFile(site, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	v.must("PUT", "sys/policies/acl/p", map[string]any{"policy": `path "secret/data/shop/*" { capabilities = ["read"] }`})
	v.must("POST", "auth/approle/role/r", map[string]any{"token_policies": "p", "token_ttl": "1h"})
	data := func(method, path, name string) string {
		found, _ := v.must(method, path, nil)["data"].(map[string]any)
		s, _ := found[name].(string)
		return s
	}
	for _, name := range []string{"BAO_ADDR", "BAO_TOKEN", "BAO_ROLE_ID", "BAO_SECRET_ID", "VAULT_TOKEN"} {
		t.Setenv(name, "") // t.Setenv restores it
		_ = os.Unsetenv(name)
	}
	t.Setenv("VAULT_ADDR", proxy.URL)
	t.Setenv("VAULT_MAX_RETRIES", "0")
	t.Setenv("VAULT_ROLE_ID", data("GET", "auth/approle/role/r/role-id", "role_id"))
	t.Setenv("VAULT_SECRET_ID", data("POST", "auth/approle/role/r/secret-id", "secret_id"))
	run := func(why string, code int, once string, args ...string) string {
		t.Helper()
		var out bytes.Buffer
		got := cli.Main(handlers.All(), append(args, "--data", filepath.Join(dir, "data")),
			strings.NewReader(""), &out, &out)
		if got != code || once != "" && strings.Count(out.String(), once) != 1 {
			t.Errorf("%s: exit code %d, want %d, and %q once\n%s", why, got, code, once, out.String())
		}
		return out.String()
	}
	files := func(why, want string) {
		t.Helper()
		for i := range resources {
			b, _ := os.ReadFile(filepath.Join(dir, fmt.Sprint("f", i)))
			if string(b) != fmt.Sprint(want, i) {
				t.Errorf("%s: file %d has %q", why, i, b)
			}
		}
	}
	expire := func() { v.Send("PUT", "sys/leases/revoke-prefix/auth/approle", v.Root, nil) }

	v.before(expire)
	run("the token expires", 0, "6 deployed", "apply", site)
	if files("the token expires", "one"); v.logins != 2 {
		t.Errorf("%d logins, want one and one more", v.logins)
	}

	write("two")
	v.before(func() {
		v.Send("DELETE", "auth/approle/role/r", v.Root, nil)
		expire()
	})
	out := run("no other token", 2, "the login with AppRole at auth/approle failed", "apply", site)
	if files("no other token", "one"); !strings.Contains(out, "the same holds for 3 more references to secrets") {
		t.Errorf("no other token: %s", out)
	}

	options := map[string]any{"policies": []string{"p"}, "ttl": "1h"}
	token := func() string {
		auth, _ := v.must("POST", "auth/token/create", options)["auth"].(map[string]any)
		s, _ := auth["client_token"].(string)
		return s
	}
	t.Setenv("VAULT_TOKEN", token())
	v.before(func() { v.Send("POST", "auth/token/revoke", v.Root, map[string]any{"token": os.Getenv("VAULT_TOKEN")}) })
	run("a token of a variable expires", 2, "it has expired or was revoked", "apply", site)
	files("a token of a variable expires", "one")

	t.Setenv("VAULT_TOKEN", token())
	v.before(func() { v.Send("PUT", "sys/seal", v.Root, nil) })
	out = run("sealed", 2, "is sealed", "apply", site)
	files("sealed", "one")
	if v.reads != 3 || !strings.Contains(out, "the same holds for 3 more references to secrets") ||
		!strings.Contains(out, "unseal it") {
		t.Errorf("sealed, after %d reads: %s", v.reads, out)
	}
	out = run("sealed before a check", 3, "is sealed", "repair")
	if files("sealed before a check", "one"); !strings.Contains(out, "and 5 more for the same reason") {
		t.Errorf("sealed before a check: %s", out)
	}
}
