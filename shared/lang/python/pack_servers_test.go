//go:build servers

package python_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/deploy/model"
	"southbound/shared/lang/python"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
)

// slow is a handler that does what its resource says.
const slow = `
import time
from inmanta.agent.handler import CRUDHandler, provider
from inmanta.resources import PurgeableResource, resource

@resource("slow::Thing", agent="a", id_attribute="name")
class Thing(PurgeableResource):
    fields = ("name", "how")

@provider("slow::Thing", name="slow")
class Handler(CRUDHandler[Thing]):
    def read_resource(self, ctx, thing):
        if thing.how == "hang":
            while True:
                time.sleep(1)
        if thing.how == "grow":
            self.__class__.held = b"x" * (64 << 20)
        ctx.info("read %(how)s", how=thing.how)
`

// running is a pack with the code of one module.
type running struct {
	host *providertest.Host
	pack *python.Pack
	code resource.File
}

func serve(t *testing.T, o python.PackOptions, source string) *running {
	t.Helper()
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Find = func() (string, string, error) {
		return filepath.Join(env, "bin", "python"), t.TempDir(), nil
	}
	text, err := json.Marshal(map[string]any{
		"format": 1, "modules": map[string]any{"inmanta_plugins.slow": []any{true, source}},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{host: providertest.NewHost(nil), pack: python.NewPack(o)}
	t.Cleanup(r.pack.Close)
	r.code = r.host.AddFile(text)
	return r
}

// read has the handler run a resource, and returns what it logged.
func (r *running) read(t *testing.T, how string) (string, error) {
	t.Helper()
	h, err := r.pack.Handler("e", "a", r.code)
	if err != nil {
		t.Fatal(err)
	}
	want := provider.Resource{
		ID: "slow::Thing[a,name=x]", Type: "slow::Thing", Agent: "a",
		Attributes: map[string]any{
			"name": "x", "how": how, model.CodeAttribute: r.code,
		},
	}
	before := len(r.host.Lines())
	c := provider.NewContext(t.Context(), r.host, provider.Options{ID: want.ID, Desired: want})
	_, err = h.Read(c, provider.ReadRequest{Resource: want})
	var said []string
	for _, line := range r.host.Lines()[before:] {
		said = append(said, line.Msg)
	}
	return strings.Join(said, "\n"), err
}

// TestHandlerHangs holds that a handler that does not end is ended, with the line at which it was,
// and that the next run goes well.
func TestHandlerHangs(t *testing.T) {
	r := serve(t, python.PackOptions{Call: 20 * time.Second}, slow)
	if said, err := r.read(t, "fine"); err != nil || said != "read fine" {
		t.Fatalf("%q, %v", said, err)
	}
	r.pack.Limit(time.Second)
	_, err := r.read(t, "hang")
	if err == nil || !strings.Contains(err.Error(), "had not ended after 1s") ||
		!strings.Contains(err.Error(), `in read_resource`) ||
		strings.Contains(err.Error(), "<southbound>") {
		t.Errorf("it says %v", err)
	}
	r.pack.Limit(20 * time.Second)
	if said, err := r.read(t, "fine"); err != nil || said != "read fine" {
		t.Errorf("%q, %v", said, err)
	}
}

// TestMemoryIsGivenBack holds that a process that holds much after a run is ended, with a word.
func TestMemoryIsGivenBack(t *testing.T) {
	r := serve(t, python.PackOptions{Memory: 320 << 20}, slow)
	for range 2 {
		said, err := r.read(t, "grow")
		if err != nil || !strings.Contains(said, "the Python process is ended") {
			t.Errorf("%q, %v", said, err)
		}
	}
}

// TestCodeThatFails holds what is said of code that cannot be imported, and of one without a
// handler.
func TestCodeThatFails(t *testing.T) {
	r := serve(t, python.PackOptions{}, "import nowhere_at_all\n")
	_, err := r.read(t, "fine")
	if err == nil || !strings.Contains(err.Error(), "has no class for slow::Thing; the module "+
		"inmanta_plugins.slow cannot be imported: ModuleNotFoundError: No module named 'nowhere_at_all'") {
		t.Errorf("it says %v", err)
	}
}
