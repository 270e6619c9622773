//go:build servers

package python_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/python"
	"southbound/shared/lang/types"
)

// start starts a host with a module.
func start(t *testing.T, dir, name string, call time.Duration) (*python.Host, *python.Code, error) {
	t.Helper()
	return startWith(t, dir, name, python.Options{Call: call})
}

func startWith(
	t *testing.T, dir, name string, o python.Options,
) (*python.Host, *python.Code, error) {
	t.Helper()
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	o.Python, o.Dir, o.Shown = filepath.Join(env, "bin", "python"), dir, "."
	o.Modules = []python.Module{{Name: name, Dir: filepath.Join(dir, name), Legacy: true}}
	h, err := python.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	code, err := h.Load()
	return h, code, err
}

// call calls a plugin as a model does at a place.
func call(
	t *testing.T, code *python.Code, name string, values ...types.Value,
) (types.Value, error) {
	t.Helper()
	for _, p := range code.Plugins {
		if p.Name != name {
			continue
		}
		for len(values) < len(p.Params) {
			values = append(values, p.Params[len(values)].Default)
		}
		return p.Call(&eval.Context{Ctx: t.Context()}, eval.Args{Values: values})
	}
	t.Fatalf("there is no plugin %s", name)
	return nil, nil
}

// TestSignatures holds what is told of plugins.
func TestSignatures(t *testing.T) {
	_, code, err := start(t, "testdata", "shop", 0)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, p := range code.Plugins {
		got[p.Name] = p.Signature() + " " + p.Result
		if p.At == nil || p.At.File != "shop/plugins/__init__.py" || p.At.Line < 1 {
			t.Errorf("%s is at %v", p.Name, p.At)
		}
		if p.Deprecated != (p.Name == "shop::where") ||
			p.AllowUnknown != (p.Name == "shop::known") {
			t.Errorf("%+v", p)
		}
	}
	for name, want := range map[string]string{
		"shop::add":     "shop::add(a: int, b: int = 2) int",
		"shop::is_even": "shop::is_even(a: int) bool",
		"shop::labels":  "shop::labels(h: shop::Host) string[]",
		"shop::same":    "shop::same(a: shop::Host, b: shop::Host[]) shop::Host[]",
		"shop::many":    "shop::many(sep: string = ',', *args: string, **kw: int) string",
		"shop::values":  "shop::values(x: int?, y: string[] | string = 'd') dict",
		"shop::where":   "shop::where(v: any) any",
		"shop::point":   "shop::point(x: int) shop::Point",
		"shop::double":  "shop::double(p: shop::Point) int",
	} {
		if got[name] != want {
			t.Errorf("got  %s\nwant %s", got[name], want)
		}
	}
	if len(code.Dataclasses) != 1 || code.Dataclasses[0].Entity != "shop::Point" ||
		!slices.Equal(code.Dataclasses[0].Fields, []string{"x", "label"}) {
		t.Errorf("the dataclasses are %v", code.Dataclasses)
	}
}

// TestFaults holds what is said of calls that go wrong, and that others work after them.
func TestFaults(t *testing.T) {
	_, code, err := start(t, "testdata", "shop", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		plugin string
		arg    types.Value
		want   string
	}{
		{"shop::fail", "a", "ValueError: no a"},
		{"shop::generator", nil, "it returns a generator, which a model cannot hold"},
		{"shop::thing", nil, "it returns an object, which a model cannot hold"},
		{"shop::circle", nil, "it returns a list that holds itself, which a model cannot hold"},
		{"shop::ring", nil, "it returns a dict that holds itself, which a model cannot hold"},
		{"shop::deep", nil, "it returns a value that is more than 200 levels deep"},
		{"shop::endless", nil, "RecursionError"},
		{"shop::keys", nil, "dict keys should be strings"},
		{"shop::huge", nil, "it returns 100000009 bytes, and a model takes at most 67108864"},
		{"shop::half", int64(0), `a text that is not Unicode, which a model cannot hold: in '\ud83d'`},
		{"shop::half", int64(1), `in 'a\ude00', '\ude00' is one half of a pair of surrogates`},
		{"shop::half", int64(2), `in '\ud83d\ude00', '\ud83d' is one half`},
		{"shop::leave", int64(3), "it calls sys.exit(3)"},
	} {
		var args []types.Value
		if test.arg != nil {
			args = append(args, test.arg)
		}
		_, err := call(t, code, test.plugin, args...)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.plugin, err)
		}
		var own *eval.PluginError
		if !errors.As(err, &own) || len(own.Places) == 0 || own.Places[0].Pos.Line == 0 ||
			own.Places[0].Pos.File != "shop/plugins/__init__.py" {
			t.Errorf("%s: it does not say where that is: %+v", test.plugin, own)
		}
		if v, err := call(t, code, "shop::add", int64(40)); err != nil ||
			v != types.Value(int64(42)) {
			t.Fatalf("after %s: %v, %v", test.plugin, v, err)
		}
	}
	_, err = call(t, code, "shop::fail", "a")
	var own *eval.PluginError
	if !errors.As(err, &own) || len(own.Places) != 2 ||
		!strings.HasPrefix(own.Places[0].Message, "in helper: raise ValueError") ||
		own.Places[1].Pos.File != "shop/plugins/__init__.py" {
		t.Errorf("%+v", err)
	}
	if v, err := call(t, code, "shop::fork"); err != nil || v != types.Value("parent") {
		t.Errorf("a fork: %v, %v", v, err)
	}
}

// TestEnds holds what is said when the process ends in a call, with what it said last.
func TestEnds(t *testing.T) {
	t.Run("crash", func(t *testing.T) {
		_, code, err := start(t, "testdata", "shop", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = call(t, code, "shop::crash", int64(7))
		var own *eval.PluginError
		if !errors.As(err, &own) || !strings.Contains(own.Message, "exit status 7") ||
			!strings.Contains(own.Hint, "about to end") {
			t.Errorf("%+v", err)
		}
	})
	t.Run("fault", func(t *testing.T) {
		_, code, err := start(t, "testdata", "shop", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = call(t, code, "shop::segfault")
		var own *eval.PluginError
		if !errors.As(err, &own) || !strings.Contains(own.Message, "segmentation fault") ||
			!strings.Contains(own.Hint, `shop/plugins/__init__.py", line `) {
			t.Errorf("%+v", err)
		}
	})
	t.Run("hang", func(t *testing.T) {
		h, code, err := start(t, "testdata", "shop", 0)
		if err != nil {
			t.Fatal(err)
		}
		h.Limit(100 * time.Millisecond)
		_, err = call(t, code, "shop::hang")
		var own *eval.PluginError
		if !errors.As(err, &own) || !strings.Contains(own.Message, "had not ended after 100ms") ||
			!strings.Contains(own.Hint, "in hang") {
			t.Errorf("%+v", err)
		}
	})
}

// daemon is a process that has left the session of whoever started it. It says back what it is
// told.
type daemon struct {
	path  string
	calls *net.UnixListener
}

func listen(t *testing.T) daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "d") // short, as paths of sockets are
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return daemon{path, l}
}

// connected waits until the daemon has been started and returns its connection, with which it ends.
// What it returns in vain is an error: it may be called where t is not.
func (d daemon) connected() (net.Conn, error) {
	if err := d.calls.SetDeadline(time.Now().Add(hangs)); err != nil {
		return nil, err
	}
	return d.calls.Accept()
}

// hangs is how long is waited for what never comes. A slow machine takes what it takes.
const hangs = 5 * time.Minute

// lives reports whether the daemon lives after something has happened.
func (d daemon) lives(t *testing.T, happens func()) bool {
	t.Helper()
	c, err := d.connected()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	happens()
	return answers(t, c)
}

// answers reports whether the daemon at the other end of a connection lives.
func answers(t *testing.T, c net.Conn) bool {
	t.Helper()
	if err := c.SetDeadline(time.Now().Add(hangs)); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write([]byte("?"))
	_, err := c.Read(make([]byte, 1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("it neither lives nor ends")
	}
	return err == nil
}

// TestDaemons holds that nothing that a plugin starts outlives the compile: what has left its
// session and parents, what has emptied its environment, and processes that start each other.
func TestDaemons(t *testing.T) {
	for _, plugin := range []string{"shop::daemon", "shop::stranger", "shop::chain"} {
		for name, end := range map[string]func(*python.Host){
			"closed": (*python.Host).Close, "dropped": (*python.Host).Drop,
		} {
			t.Run(plugin+", "+name, func(t *testing.T) {
				h, code, err := start(t, "testdata", "shop", 0)
				if err != nil {
					t.Fatal(err)
				}
				d := listen(t)
				if _, err := call(t, code, plugin, d.path); err != nil {
					t.Fatal(err)
				}
				if d.lives(t, func() { end(h) }) {
					t.Error("a daemon has outlived the process")
				}
			})
		}
	}
}

// TestLeak holds that a plugin that takes ever more memory is ended, and told with what it held and
// its line.
func TestLeak(t *testing.T) {
	_, code, err := startWith(t, "testdata", "shop", python.Options{Memory: 200 << 20})
	if err != nil {
		t.Fatal(err)
	}
	_, err = call(t, code, "shop::leak", int64(4<<20))
	var own *eval.PluginError
	if !errors.As(err, &own) || !strings.HasPrefix(own.Message, "the plugin held 2") ||
		!strings.HasSuffix(own.Message, " MiB of memory, and 200 MiB is the most") ||
		!strings.Contains(own.Hint, "in leak") || len(own.Places) != 1 {
		t.Errorf("%+v", err)
	}
}

// TestMemoryOfAll holds that the memory of what Python code starts counts.
func TestMemoryOfAll(t *testing.T) {
	_, code, err := startWith(t, "testdata", "shop", python.Options{Memory: 200 << 20})
	if err != nil {
		t.Fatal(err)
	}
	_, err = call(t, code, "shop::brood", int64(64<<20))
	var own *eval.PluginError
	if !errors.As(err, &own) ||
		!strings.Contains(own.Message, "the 4 processes that it started held") ||
		!strings.Contains(own.Hint, "in brood") {
		t.Errorf("%+v", err)
	}
}

// TestImports holds what is said of modules that cannot be imported, of all of them at once.
func TestImports(t *testing.T) {
	dir := t.TempDir()
	modules := []struct{ name, text, want string }{
		{"a_syntax", "x = 1\ndef f(:\n", "a_syntax/plugins/__init__.py:2: the Python code of the " +
			"module a_syntax cannot be used: SyntaxError: invalid syntax: def f(:"},
		{"b_raises", "\nraise KeyError('k')\n",
			"b_raises/plugins/__init__.py:2: the Python code of the module b_raises cannot be " +
				"used: KeyError: 'k'"},
		{"c_annotation", "from inmanta.plugins import plugin\n@plugin\ndef f(a): pass\n",
			"the plugin c_annotation::f cannot be called: its argument a has no annotation"},
		{"c_lacks", "import nowhere.inside\n", "ModuleNotFoundError: No module named 'nowhere'; " +
			"name the package that has nowhere in its requirements.txt, or in requirements.txt of " +
			"the project, and run `southbound project install`"},
		{"c_needs", "import inmanta_plugins.other.part\n", "; `southbound module add other` adds " +
			"the module that has it, if there is one"},
		{"d_leaves", "import sys\nsys.exit(2)\n", "it calls sys.exit(2)"},
	}
	var found []python.Module
	for _, m := range modules {
		file := filepath.Join(dir, m.name, "plugins", "__init__.py")
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(m.text), 0o600); err != nil {
			t.Fatal(err)
		}
		found = append(found, python.Module{
			Name: m.name, Dir: filepath.Join(dir, m.name), Legacy: true,
		})
	}
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := python.Start(t.Context(), python.Options{
		Python: filepath.Join(env, "bin", "python"), Dir: dir, Shown: ".",
		Modules: found,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	_, err = h.Load()
	problems, _ := diag.Of(err)
	if len(problems) != len(modules) {
		t.Fatalf("got %v", err)
	}
	for i, m := range modules {
		if !strings.Contains(problems[i].String()+"; "+problems[i].Hint, m.want) {
			t.Errorf("got %v, want %s", problems[i], m.want)
		}
		for _, r := range problems[i].Related { // there is nothing but the modules themselves
			t.Errorf("%v: %s", r.Pos, r.Message)
		}
	}
}

// TestCancelled holds that a context ends a call and the process.
func TestCancelled(t *testing.T) {
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	h, err := python.Start(ctx, python.Options{
		Python: filepath.Join(env, "bin", "python"), Dir: dir, Shown: ".",
		Modules: []python.Module{{Name: "shop", Dir: filepath.Join(dir, "shop"), Legacy: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	cause := errors.New("enough")
	cancel(cause)
	if _, err := h.Load(); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

// TestWithoutLibrary holds what is said of a virtual environment that lacks the library.
func TestWithoutLibrary(t *testing.T) {
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	base := exec.CommandContext(
		t.Context(), filepath.Join(env, "bin", "python"), "-m", "venv", "--without-pip",
		filepath.Join(dir, ".env"))
	if out, err := base.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	path, _ := python.Find(filepath.Join(dir, ".env"))
	h, err := python.Start(t.Context(), python.Options{Python: path, Dir: dir, Shown: "."})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := h.Load(); err == nil ||
		!strings.Contains(err.Error(),
			"has no package inmanta, which modules with Python code need") {
		t.Errorf("got %v", err)
	}
}
