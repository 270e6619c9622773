//go:build servers

package python_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/lang/python"
	"southbound/shared/lang/types"
)

// uses is a module that uses parts of the library that are run when they are used.
const uses = `
import re, sys, threading, types
import inmanta.agent.handler
import inmanta.data
import inmanta.protocol
from inmanta import env
from inmanta.agent import config as options
from inmanta.compiler import finalizer
from inmanta.data import model
from inmanta.plugins import plugin

WORDS = re.compile(r"(?P<key>\w+) \s* = \s* (?P<value>[^;\n]*)", re.VERBOSE | re.IGNORECASE)
BYTES = re.compile(b"^[\\x80-\\xff]+$")

@plugin
def expressions() -> "string":
    """Compares expressions of the module, which an earlier process may have compiled, with what Python makes of them."""
    made = [re._compiler.compile(p.pattern, p.flags & ~re.UNICODE.value) == p for p in (WORDS, BYTES)]
    found = WORDS.search("a Key=some value;")
    return f"{made} {found.groupdict()} {WORDS.flags} {BYTES.fullmatch(bytes([200, 255])) is not None}"

@plugin
def idle() -> "string[]":
    """Returns what was run of all that is only for servers."""
    return [n for n in ("inmanta.agent.agent_new", "sqlalchemy", "strawberry", "inmanta.server.bootloader",
                        "ply.yacc", "jwt.api_jwk")
            if n in sys.modules]

@plugin
def set_first() -> "int":
    """Sets what is not run yet: it stays as it was set."""
    inmanta.data.APILIMIT = 7
    return inmanta.data.APILIMIT

@plugin
def by_name() -> "bool":
    from inmanta.agent import Agent, agent_new
    from inmanta.data import LogLine
    return Agent is agent_new.Agent and LogLine is inmanta.data.LogLine

@plugin
def client() -> "string":
    """Looks for a method of the server's API, as a handler with a client of its own does."""
    try:
        inmanta.protocol.Client("client").no_such_method
    except AttributeError:
        pass
    return type(inmanta.protocol.Client("client").get_file).__name__ + " " + inmanta.protocol.methods_v2.__name__

@plugin
def mentioned() -> "string":
    """Uses what the library only mentions when it is imported."""
    of = inmanta.agent.handler.HandlerContext.logs.fget.__annotations__["return"].__args__[0]
    class Own(of):
        pass
    return f"{Own.__mro__[1].__name__} {of is inmanta.data.LogLine} {of.__name__} {isinstance(1, of)}"

@plugin
def declared() -> "string":
    """Declares classes of data: those of a module are prepared at once, those of the library with their first use."""
    import pydantic, inmanta.module, inmanta.types
    class Mine(pydantic.BaseModel):
        x: int
    class Theirs(inmanta.types.BaseModel):
        x: int
    later = inmanta.module.ProjectMetadata
    before = later.__pydantic_complete__
    made = later(name="x").name == "x" and later.__pydantic_complete__
    return f"{Mine.__pydantic_complete__ and Theirs.__pydantic_complete__} {before} {made} {'defer_build' not in Mine.model_config}"

@plugin
def names() -> "string":
    """Reads what the library only mentions: others get what it stands for, and afterwards it is that there, too."""
    import inmanta.protocol.endpoints as of
    from inmanta.protocol import Client, TypedClient
    return f"{isinstance(Client, type)} {TypedClient is of.TypedClient} {vars(inmanta.protocol)['SyncClient'] is of.SyncClient}"

@plugin
def packages() -> "string":
    """Uses parts of packages that wait, and that std in Python only mentions."""
    import importlib, jinja2, ssl, types, zipfile
    waited = type(jinja2) is not types.ModuleType, type(ssl) is not types.ModuleType
    std = importlib.import_module("inmanta_plugins.std")
    return f"{waited} {std.Environment is jinja2.Environment} {jinja2.Template('{{ 1 + 1 }}').render()} " \
           f"{ssl.create_default_context().check_hostname} {zipfile.is_zipfile(__file__)}"

@plugin
def loops() -> "string":
    """Imports a module of a package that waits, and another way, and runs what the library only mentions."""
    import asyncio.subprocess, importlib, types
    import asyncio.events as events
    again = importlib.import_module("asyncio.events")
    async def one():
        return 1
    from inmanta import util
    from pydantic._internal import _validators
    import crontab, subprocess
    told = subprocess.run(["printf", "x"], capture_output=True).stdout, _validators.validate_str_is_valid_iana_tz("UTC").key
    try:
        _validators.validate_str_is_valid_iana_tz("no/zone")
    except Exception as e:
        told += (type(e).__name__, util.CronTab is crontab.CronTab, util.CronSchedule("0 0 * * *").cron)
    return f"{told} {asyncio.run(one())} {asyncio.subprocess.PIPE} {events is again is sys.modules['asyncio.events']} " \
           f"{events.__spec__.origin.endswith('events.py')} {events.AbstractEventLoop is asyncio.AbstractEventLoop} " \
           f"{util.Task is asyncio.Task} {type(asyncio) is types.ModuleType}"

@plugin
def waits() -> "string[]":
    """Returns what has not been run."""
    return [n for n in ("asyncio", "pydantic", "pydantic._internal._generate_schema", "pydantic_core", "subprocess", "zoneinfo")
            if type(sys.modules.get(n)) is types.ModuleType]

@plugin
def data() -> "string":
    """Uses classes of data that the library declares: they are made with the first use, wherever they are."""
    import uuid
    from inmanta import references
    from inmanta.ast import export
    from inmanta.protocol import common
    waited = isinstance("x", vars(references)["Argument"]) or issubclass(str, vars(references)["Argument"])
    args = [{"type": "literal", "name": "x", "value": 1}, {"type": "get", "name": "y", "dict_path_expression": "z"}]
    of = references.ReferenceModel(id=uuid.UUID(int=1), type="a::B", args=args)
    import pydantic, inmanta.types
    try:
        references.MutatorModel(type="no name", args=[])
        told = None
    except references.ValidationError as e:
        told = type(e) is pydantic.ValidationError, e.errors()[0]["type"]
    held = [v for m in (references, export, common, inmanta.types) for v in vars(m).values()
            if not isinstance(v, types.ModuleType)]
    left = [v for v in held if type(v).__module__.startswith("southbound_host") or
            type(v) is tuple and any(type(x).__module__.startswith("southbound_host") for x in v)]
    made = [type(a).__name__ for a in of.args], isinstance(of.args[0], references.Argument)
    same = common.BaseModel is inmanta.types.BaseModel, references.Argument.__mro__[1] is pydantic.BaseModel, \
        references.GetArgument.__module__, export.Location.model_fields["range"].annotation is export.Range
    return f"{waited} {made} {told} {left} {same} {pydantic.AnyUrl in common.VALID_SIMPLE_ARG_TYPES}"

@plugin
def optional() -> "bool[]":
    """Compares what says that a value is missing, which is put together when it is asked for, with that of the library."""
    from inmanta.ast import OptionalValueException
    from southbound_host.model import Missing
    ask = repr, str, lambda e: e.args, lambda e: e.msg, lambda e: e.location, lambda e: e.get_message(), \
        lambda e: type(e).__qualname__, lambda e: type(e).__module__, lambda e: hasattr(e, "no_such")
    out = [of(Missing("of", "a")) == of(OptionalValueException("of", "a")) for of in ask]
    for e in (Missing("of", "a"), OptionalValueException("of", "a")):
        e.location = "here"
        out.append(str(e).startswith("Optional variable") and str(e).endswith(" (here)"))
    return out

@plugin
def threads() -> "int":
    """Uses a part in several threads at once."""
    out, begin = [], threading.Barrier(8)
    def use():
        begin.wait()
        out.append(env.process_env.python_path)
    all = [threading.Thread(target=use) for _ in range(8)]
    for t in all: t.start()
    for t in all: t.join()
    return len(out)

@plugin
def plain() -> "string[]":
    """Returns the parts that are no longer waiting for their first use."""
    vars(inmanta.agent), dir(env)
    for _ in range(3):
        for n in sorted(n for n in sys.modules if n.startswith("inmanta.")):
            vars(sys.modules[n])  # also what nothing has used yet, and what that imports in turn
    return sorted(n for n, m in list(sys.modules.items()) if n.startswith("inmanta.") and type(m) is not types.ModuleType)
`

// uses starts a host with the module above.
func startUses(t *testing.T, path ...string) *python.Code {
	t.Helper()
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "uses", "plugins", "__init__.py")
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(uses), 0o600); err != nil {
		t.Fatal(err)
	}
	// All of the library is compiled once, and not by each test that uses all of it.
	t.Setenv("PYTHONDONTWRITEBYTECODE", "")
	h, err := python.Start(t.Context(), python.Options{
		Python: filepath.Join(env, "bin", "python"), Dir: dir, Shown: ".", Path: path,
		Modules: []python.Module{{Name: "uses", Dir: filepath.Join(dir, "uses"), Legacy: true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	code, err := h.Load()
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestPartsOfTheLibraryAreRunLater holds that what is only for servers is not run to load a module
// that imports it, and that whoever uses it finds all of it.
func TestPartsOfTheLibraryAreRunLater(t *testing.T) {
	code := startUses(t)
	for _, test := range []struct{ plugin, want string }{
		{"uses::idle", "[]"},
		{"uses::waits", "[]"},
		{"uses::data", `"False (['LiteralArgument', 'GetArgument'], True) ` +
			`(True, 'string_pattern_mismatch') [] (True, True, 'inmanta.references', True) True"`},
		{"uses::loops", `"(b'x', 'UTC', 'PydanticCustomError', True, '0 0 * * *') ` +
			`1 -1 True True True True True"`},
		{"uses::packages", `'(True, True) True 2 True False'`},
		{"uses::set_first", "7"},
		{"uses::idle", `['sqlalchemy']`},
		{"uses::by_name", "True"},
		{"uses::client", `'function inmanta.protocol.methods_v2'`},
		{"uses::mentioned", `'LogLine False LogLine False'`},
		{"uses::optional", "[" + strings.Repeat("True, ", 10) + "True]"},
		{"uses::threads", "8"},
		{"uses::declared", `'True False True True'`},
		{"uses::names", `'True True True'`},
		{"uses::plain", "[]"},
	} {
		v, err := call(t, code, test.plugin)
		if err != nil || types.Repr(v) != test.want {
			t.Errorf("%s: got %s, %v, want %s", test.plugin, types.Repr(v), err, test.want)
		}
	}
}

// TestKept holds that the host keeps its code for the next process, takes only what is its own and
// whole, and forgets what other versions have kept long ago.
func TestKept(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	above := filepath.Join(cache, "southbound", "python")
	long, old := time.Now().Add(-31*24*time.Hour), filepath.Join(above, "old")
	if err := os.MkdirAll(old, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	file := func() string {
		t.Helper()
		const want = `"[True, True] {'key': 'Key', 'value': 'some value'} 98 True"`
		if v, err := call(t, startUses(t), "uses::expressions"); types.Repr(v) != want {
			t.Error(types.Repr(v), err)
		}
		found, err := filepath.Glob(filepath.Join(above, "*", "cpython-*"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		return found[0]
	}
	path := file()
	if _, err := os.Stat(old); !os.IsNotExist(err) {
		t.Error("what was kept long ago is there", err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	expressions, err := filepath.Glob(filepath.Join(filepath.Dir(path), "expressions-*"))
	if err != nil || len(expressions) != 1 {
		t.Fatal(expressions, err)
	}
	if err := os.Chtimes(expressions[0], long, long); err != nil {
		t.Fatal(err)
	}
	// What the code is taken from is seen by a file that is written anew only if it was not used.
	for _, test := range []struct {
		name  string
		anew  bool
		spoil func() error
	}{
		{"as it was", false, func() error { return nil }},
		{"torn", true, func() error { return os.WriteFile(path, whole[:len(whole)/2], 0o600) }},
		{"empty", true, func() error { return os.WriteFile(path, nil, 0o600) }},
		{"others may write it", true, func() error { return os.Chmod(path, 0o666) }},
	} {
		if err := test.spoil(); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, long, long); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(file())
		if err != nil {
			t.Fatal(err)
		}
		if anew := !info.ModTime().Equal(long); anew != test.anew || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: written anew: %v, %v", test.name, anew, info.Mode())
		}
		text, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(text, whole) {
			t.Errorf("%s: it is not what it was: %v", test.name, err)
		}
	}
	if info, err := os.Stat(expressions[0]); err != nil || !info.ModTime().Equal(long) {
		t.Errorf("all expressions were kept, and are compiled again: %v", err)
	}
}

// TestLibraryAsAWhole holds that a release of the library that does not work in parts is imported
// as a whole.
func TestLibraryAsAWhole(t *testing.T) {
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(env, "lib", "python3*", "site-packages", "inmanta"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	dir := t.TempDir()
	link(t, found[0], filepath.Join(dir, "inmanta"), "agent")
	link(t, filepath.Join(found[0], "agent"), filepath.Join(dir, "inmanta", "agent"), "handler.py")
	text, err := os.ReadFile(filepath.Join(found[0], "agent", "handler.py"))
	if err != nil {
		t.Fatal(err)
	}
	text = append(text,
		"\nimport types\nassert type(data) is types.ModuleType\nclass Own(data.LogLine): pass\n"...)
	err = os.WriteFile(filepath.Join(dir, "inmanta", "agent", "handler.py"), text, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	code := startUses(t, dir)
	v, err := call(t, code, "uses::plain")
	if err != nil || types.Repr(v) != "[]" {
		t.Errorf("got %s, %v", types.Repr(v), err)
	}
	if v, err = call(t, code, "uses::idle"); err != nil ||
		!strings.Contains(types.Repr(v), "sqlalchemy") {
		t.Errorf("got %s, %v", types.Repr(v), err)
	}
}

// link links all of a folder but one entry, and what was compiled of it, into another.
func link(t *testing.T, from, to, but string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(to, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() == but || e.Name() == "__pycache__" {
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()),
			filepath.Join(to, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
}
