//go:build servers

package python_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
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
import os, socket, time
from inmanta.agent.handler import CRUDHandler, provider
from inmanta.resources import PurgeableResource, resource

@resource("slow::Thing", agent="a", id_attribute="name")
class Thing(PurgeableResource):
    fields = ("name", "how")

def daemon(path):
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        with socket.socket(socket.AF_UNIX) as s:
            s.connect(path)
            while asked := s.recv(1):
                s.send(asked)
        os._exit(0)
    os.wait()

@provider("slow::Thing", name="slow")
class Handler(CRUDHandler[Thing]):
    def read_resource(self, ctx, thing):
        if thing.how == "hang":
            ctx.info("hanging")
            while True:
                time.sleep(1)
        if thing.how == "orphan":
            if os.fork() == 0:
                os.setsid()
                time.sleep(60)
            os._exit(7)
        if thing.how.startswith("daemon "):
            daemon(thing.how.split()[1])
        if thing.how.endswith(" and hangs"):
            while True:
                time.sleep(1)
        if thing.how == "flood":
            print("x" * (70 << 20))
        if thing.how == "grow":
            self.__class__.held = b"x" * (128 << 20)
        ctx.info("read %(how)s", how=thing.how)
`

// running is a pack with the code of one module.
type running struct {
	host *providertest.Host
	pack *python.Pack
	code resource.File
	says chan string // what handlers log, if there is one
}

// listening is a host that tells what is logged.
type listening struct {
	*providertest.Host
	says chan string
}

// Log implements provider.Host.
func (l listening) Log(line provider.Line) {
	l.Host.Log(line)
	if l.says != nil {
		l.says <- line.Msg
	}
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
	return r.readIn(t.Context(), t, how)
}

// readIn is read with a context.
func (r *running) readIn(ctx context.Context, t *testing.T, how string) (string, error) {
	t.Helper()
	h, err := r.pack.Handler("e", "a", r.code, resource.File{})
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
	c := provider.NewContext(ctx, listening{r.host, r.says},
		provider.Options{ID: want.ID, Desired: want})
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
	r := serve(t, python.PackOptions{Call: hangs}, slow)
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
	r.pack.Limit(hangs)
	if said, err := r.read(t, "fine"); err != nil || said != "read fine" {
		t.Errorf("%q, %v", said, err)
	}
}

// TestProcessIsGoneAndItsPipesAreNot holds that a process that has ended is noticed, though a child
// in a session of its own has kept the pipes open.
func TestProcessIsGoneAndItsPipesAreNot(t *testing.T) {
	r := serve(t, python.PackOptions{Call: 30 * time.Second}, slow)
	_, err := r.read(t, "orphan")
	if err == nil || !strings.Contains(err.Error(), "has ended the Python process: exit status 7") {
		t.Errorf("it says %v", err)
	}
	if said, err := r.read(t, "fine"); err != nil || said != "read fine" {
		t.Errorf("%q, %v", said, err)
	}
}

// TestDaemonsOfHandlers holds that a daemon outlives the process of the handler that was to start
// it, and that one which a run has left that was ended does not.
func TestDaemonsOfHandlers(t *testing.T) {
	r := serve(t, python.PackOptions{Call: hangs}, slow)
	d := listen(t)
	if _, err := r.read(t, "daemon "+d.path); err != nil {
		t.Fatal(err)
	}
	again := listen(t)
	ctx, end := context.WithCancel(t.Context())
	defer end()
	var c net.Conn
	lives := d.lives(t, func() {
		connected := make(chan error, 1)
		go func() {
			defer end() // when the daemon is there, the run is ended; if it does not come, too
			var err error
			c, err = again.connected()
			connected <- err
		}()
		if _, err := r.readIn(ctx, t, "daemon "+again.path+" and hangs"); err == nil {
			t.Error("it was not ended")
		}
		if err := <-connected; err != nil {
			t.Fatal(err)
		}
	})
	defer func() { _ = c.Close() }()
	if !lives {
		t.Error("the daemon of a run that went well was ended")
	}
	if answers(t, c) {
		t.Error("a daemon has outlived a run that was ended")
	}
}

// TestPrintsMuch holds that what is too much for one frame is printed in several.
func TestPrintsMuch(t *testing.T) {
	r := serve(t, python.PackOptions{}, slow)
	said, err := r.read(t, "flood")
	if err != nil || strings.Count(said, "x") != 70<<20 {
		t.Errorf("%d bytes, %v", len(said), err)
	}
}

// TestWaitsForItsTurn holds that a resource whose process is used by another until its own time is
// over was never begun and says so, and does not wait for longer.
func TestWaitsForItsTurn(t *testing.T) {
	r := serve(t, python.PackOptions{}, slow)
	if _, err := r.read(t, "fine"); err != nil {
		t.Fatal(err)
	}
	hanging, end := context.WithCancel(t.Context())
	over := make(chan struct{})
	r.says = make(chan string)
	go func() {
		defer close(over)
		_, _ = r.readIn(hanging, t, "hang")
	}()
	<-r.says
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	_, err := r.readIn(late, t, "fine")
	if !errors.Is(err, provider.ErrUnavailable) || !strings.Contains(err.Error(), "not its turn") {
		t.Errorf("it says %v", err)
	}
	end()
	<-over
}

// TestMemoryIsGivenBack holds that a process that holds much after a run is ended, with a word.
func TestMemoryIsGivenBack(t *testing.T) {
	r := serve(t, python.PackOptions{Memory: 256 << 20}, slow)
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
	if err == nil ||
		!strings.Contains(err.Error(),
			"has no class for slow::Thing; the module inmanta_plugins.slow cannot be imported: "+
				"ModuleNotFoundError: No module named 'nowhere_at_all'") {
		t.Errorf("it says %v", err)
	}
}
