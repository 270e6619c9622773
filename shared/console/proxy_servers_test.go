//go:build servers

package console_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/buildtest"
	"southbound/shared/internal/simtest/consoletest/chrome"
	"southbound/shared/transport/ssh/sshtest"
)

// documented returns the blocks of a language on the page of the console that contain a text.
func documented(t *testing.T, language, within string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/console.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?s)```(\\w+)\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		if m[1] == language && strings.Contains(m[2], within) {
			return m[2]
		}
	}
	t.Fatalf("docs/console.md has no %s with %q", language, within)
	return ""
}

// replaced replaces texts, each of which has to be there.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("there is no %q in %s", pairs[i], text)
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}

// signIn stands in for oauth2-proxy: it answers whether a request has a user, and signs users in.
type signIn struct {
	*httptest.Server
	gone atomic.Bool // all sessions have ended
}

func newSignIn(t *testing.T) *signIn {
	s := &signIn{}
	pages := http.NewServeMux()
	pages.HandleFunc("/oauth2/auth", func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("_oauth2_proxy")
		if err != nil || s.gone.Load() {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		w.Header().Set("X-Auth-Request-Email", c.Value+"@example.com")
		if c.Value == "ann" {
			w.Header().Set("X-Auth-Request-Groups", "staff,operator")
		}
		w.WriteHeader(http.StatusAccepted)
	})
	pages.HandleFunc("/oauth2/sign_in", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><link rel="icon" href="data:,"><h1>Sign in</h1><p id="back">%s</p>`,
			r.Header.Get("X-Auth-Request-Redirect"))
	})
	pages.HandleFunc("/oauth2/start", func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "_oauth2_proxy", Value: r.FormValue("user"), Path: "/",
			Secure: true, HttpOnly: true})
		http.Redirect(w, r, r.FormValue("rd"), http.StatusFound)
	})
	s.Server = httptest.NewServer(pages)
	t.Cleanup(s.Close)
	return s
}

// certificate writes a certificate and its key, and returns their paths.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	s := httptest.NewTLSServer(http.NotFoundHandler())
	defer s.Close()
	pair := s.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(t.TempDir(), "cert"), filepath.Join(t.TempDir(), "key")
	for path, b := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]},
		key: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// nginx starts nginx with a block server of its configuration, and returns when it listens.
func nginx(t *testing.T, server, address string) {
	t.Helper()
	const path = "/usr/sbin/nginx"
	sshtest.Provide(t, path, "nginx")
	dir := t.TempDir()
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n"
	}
	config := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf("%sdaemon off; worker_processes 1; pid %s/pid; error_log stderr;\nevents {}\nhttp {\n"+
		"access_log off; client_body_temp_path %[2]s/a; proxy_temp_path %[2]s/b; fastcgi_temp_path %[2]s/c;\n"+
		"uwsgi_temp_path %[2]s/d; scgi_temp_path %[2]s/e;\n%s}\n", user, dir, server)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, path, "-e", "stderr", "-c", config)
	awaits(t, "tcp", address)
}

// run starts a program, which ends with the test.
func run(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s says: %s", name, &said)
		}
	})
}

// awaits waits until a server listens.
func awaits(t *testing.T, network, address string) {
	t.Helper()
	var err error
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var c net.Conn
		if c, err = (&net.Dialer{}).DialContext(t.Context(), network, address); err == nil {
			_ = c.Close()
			return
		}
	}
	t.Fatalf("nothing listens on %s: %v", address, err)
}

// free returns an address of this machine on which nothing listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestBehindNginx drives the console through nginx, with the command and the configuration of the
// documentation: users sign in, streams are passed on at once, changes are those of the user whom
// the proxy names, readers cannot change anything, and a page notices that its user is signed out.
func TestBehindNginx(t *testing.T) {
	t.Parallel()
	bin := buildtest.Program(t, buildtest.Southbound)
	const env = "hosting"
	data := filepath.Join(t.TempDir(), "data")
	southbound := func(args ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), bin,
			append([]string{"--data", data, "--environment", env}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("southbound %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	site := filepath.Join(t.TempDir(), "site.yaml")
	if err := os.WriteFile(site, []byte("southbound: 1\nresources:\n  - {type: std::Null, agent: web1, "+
		"attributes: {name: n}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	southbound("apply", site)
	dir, err := os.MkdirTemp("", "nginx") // paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket, auth, address := filepath.Join(dir, "console"), newSignIn(t), free(t)
	command := strings.Fields(replaced(t, documented(t, "sh", "--listen unix:"), "\\\n", " ",
		"--api http://127.0.0.1:8300", "", "/run/southbound/console", socket))
	run(t, bin, append([]string{"--data", data, "--environment", env}, command[1:]...)...)
	awaits(t, "unix", socket)
	cert, key := certificate(t)
	nginx(t, replaced(t, documented(t, "nginx", "auth_request"), "listen 443", "listen "+address,
		"/etc/ssl/console.example.com.pem", cert, "/etc/ssl/console.example.com.key", key,
		"http://127.0.0.1:4180", auth.URL, "/run/southbound/console", socket), address)

	const root = "https://console.example.com"
	enter := func(user string) *chrome.Tab {
		x := chrome.Start(t, chrome.Host{Name: "console.example.com", Address: address}).Tab(t)
		x.Expect("status of 403")
		x.Open(root + "/console/" + env + "/")
		if got := x.Text(); !strings.Contains(got, "Sign in\n\n/console/hosting/") {
			t.Errorf("without a user: %s", got)
		}
		x.Open(root + "/oauth2/start?user=" + user + "&rd=" + x.Eval("document.querySelector('#back').innerText"))
		return x
	}
	x := enter("ann")
	x.Until(`document.querySelector("#live").dataset.state === "live"`)
	x.Eval("window.same = true")
	southbound("halt", "--message", "by another one")
	x.Until(`document.body.innerText.includes("halted") && window.same && document.querySelector("#live").dataset.state === "live"`)
	x.Open(root + "/console/" + env + "/")
	x.Click(`form[action$="/do/unhalt"] button`)
	x.Until(`document.querySelector("#message, [role=status]") && !document.querySelector('form[action$="/do/unhalt"]')`)
	if got := southbound("audit"); !strings.Contains(got, "ann@example.com") {
		t.Errorf("the audit does not know who acted: %s", got)
	}
	// The stream goes on until it ends, after 10 minutes at most. The next request is refused.
	const again = `document.dispatchEvent(new Event("visibilitychange"))`
	auth.gone.Store(true)
	x.Eval(again)
	x.Until(`document.querySelector("#live").innerText.startsWith("Not connected since")`)
	auth.gone.Store(false)
	x.Eval(`window.fetch = async () => new Response("<h1>Sign in</h1>")`) // of another proxy
	x.Eval(again)
	x.Until(`document.querySelector("#live").innerText.startsWith("Signed out")`)

	reader := enter("bob")
	reader.Until(`document.querySelector("#live").dataset.state === "live"`)
	reader.Open(root + "/console/" + env + "/")
	if got := reader.Eval(`document.querySelectorAll("form[method=post]").length`); got != "0" {
		t.Errorf("a reader sees %s forms: %s", got, reader.Text())
	}
	if got := reader.Eval(`fetch("/console/` + env + `/do/halt", {method: "POST", body: new URLSearchParams({x: "y"}),
		headers: {"X-User": "ann@example.com", "X-Groups": "operator"}}).then(r => r.status)`); got != "403" {
		t.Errorf("a reader who writes the headers of an operator gets %s", got)
	}
}
