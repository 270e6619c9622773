//go:build servers

package api_test

import (
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// TestPeersClient asks for services with the client library of inmanta-core, unmodified: it
// compresses bodies, repeats arguments of the path in them, writes null for what is left out, and
// follows the links of lists.
func TestPeersClient(t *testing.T) {
	t.Parallel()
	venv, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w, customer, _ := offices(t)
	host, port, err := net.SplitHostPort(w.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(venv, "bin", "python"),
		"testdata/client.py", host, port, token, "default", customer)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	want := []string{
		`create 200 start`, `create 200 start`, `create 422 name`, `get 200 up`,
		`log 200 \[\(2, 'up', \['FORCE_UPDATE'\]\), \(1, 'start', \['CREATE_TRANSITION'\]\)\]`,
		`diagnose 200 \['failures', 'rejections'\]`, `resources 200 \[\]`,
		`resources 409 the instance has the version 2, and not 1.*`, `patch 200 `,
		`set_service_state 409 the instance .* has the version 3, and not 1.*`,
		`put 409 the instance .* has the version 3, and not 1.*`,
		`delete 409 the instance .* has the version 3, and not 1.*`, `get 404 read instance`,
		`register 200 `, `create 200 `, `create 200 `, `create 200 `, `create 200 `,
		`all acme short long n0 n1 n2 n3`, `all \[3, 2, 1\]`,
	}
	for i, pattern := range want {
		if i >= len(got) || !regexp.MustCompile(`^`+pattern+`$`).MatchString(got[i]) {
			t.Fatalf("line %d is not %s:\n%s", i+1, pattern, out)
		}
	}
	if len(got) != len(want) {
		t.Errorf("more is answered than asked:\n%s", out)
	}
}
