// Package caddytest starts the web server Caddy for tests.
package caddytest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"southbound/localstack/server"
)

// Start starts Caddy without a site and returns the URL of its admin API. It ends with the test.
func Start(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	admin := listener.Addr().String()
	_ = listener.Close() // Caddy takes it
	config := filepath.Join(dir, "caddy.json")
	text := fmt.Appendf(nil, `{"admin": {"listen": %q, "config": {"persist": false}},
"apps": {"http": {"servers": {}}}}`, admin)
	if err := os.WriteFile(config, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program(t), "run",
		"--config", config)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url := "http://" + admin
	await(t, url+"/config/")
	return url
}

// await waits until something answers.
func await(t testing.TB, url string) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(30 * time.Second)
	for time.Now().Before(end) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			return
		}
		<-tick.C
	}
	t.Fatal("Caddy does not answer")
}

// program returns Caddy: that of this machine, or one that is downloaded once and unpacked, not
// installed.
func program(t testing.TB) string {
	t.Helper()
	path, err := server.Program(t.Context(), "caddy", "caddy")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
