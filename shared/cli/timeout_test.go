package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers"
)

// TestTimeoutWhileConnecting pins that nothing is recorded about an agent that was being connected when
// the command's time ran out: that is no verdict on the agent.
func TestTimeoutWhileConnecting(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	doc := "southbound: 1\nagents: {dead: {transport: http, url: \"" + server.URL + "\"}}\n" +
		"resources:\n- {type: http::Object, agent: dead, attributes: {name: a, path: /a}}\n"
	if err := os.WriteFile(filepath.Join(dir, "d.yaml"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (code int, out, said string) {
		var stdout, stderr bytes.Buffer
		code = Main(handlers.All(), append(args, "--data", filepath.Join(dir, "data")),
			strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	// what is before the wait has as long as it takes
	if code, _, said := run("export", dir); code != 0 {
		t.Fatal(said)
	}
	code, _, said := run("apply", dir, "--timeout", "4s")
	if code != 4 || strings.Contains(said, "context deadline") || !strings.Contains(said,
		"1 resource is not finished: http::Object[dead,name=a]; the rest stays scheduled") {
		t.Errorf("exit code %d, printed\n%s", code, said)
	}
	if code, out, _ := run("resources", "--json"); code != 0 || !strings.Contains(out, `"status":"available"`) {
		t.Errorf("exit code %d, output\n%s", code, out)
	}
}
