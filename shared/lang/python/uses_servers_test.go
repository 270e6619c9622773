//go:build servers

package python_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"southbound/localstack/server"
)

// usesCase is a source in a module, and which of the modules one, two and three it uses.
type usesCase struct{ in, source, want string }

// usesCases are the ways in which modules import others, and what only looks like it.
var usesCases = []usesCase{
	{"", "import inmanta_plugins.one", "one"},
	{"", "import os, inmanta_plugins.one.part as o, inmanta_plugins.two", "one two"},
	{"", "import inmanta_plugins as p\ndef f(): return p.one.g()", "one"},
	{"", "import os, inmanta_plugins as p\nx = p.one.part.g(p.two)", "one two"},
	{"", "def f():\n    import inmanta_plugins as p\n    def g(): return p.three", "three"},
	{"", "import inmanta_plugins\ninmanta_plugins.two.f()", "two"},
	{"", "import inmanta_plugins.one\ninmanta_plugins.two.f()", "one two"},
	{"", "import inmanta_plugins as p\np.other.f()", ""},
	{"", "import inmanta_plugins as p\nq = p\nq.one.f()", "one three two"},
	{"", "import inmanta_plugins as p\ng = getattr(p, 'one')", "one"},
	{"", "import inmanta_plugins as p\ng = getattr(p, name)", "one three two"},
	{"", "import other as p\np.one.f()", ""},
	{"", "from inmanta_plugins import one", "one"},
	{"", "from inmanta_plugins import one as two", "one"},
	{"", "from inmanta_plugins import (\n    one,  # two\n    three as t,\n)", "one three"},
	{"", "from inmanta_plugins import *", "one three two"},
	{"", "from inmanta_plugins.one.part import two", "one"},
	{"", "from .. import one", "one"},
	{"", "from ..two import one", "two"},
	{"", "from . import one\nfrom .one import two", ""},
	{"part", "from .. import one\nfrom ..two import x", ""},
	{"part", "from ... import one as o\nfrom ...two.x import y", "one two"},
	{"part", "from \\\n  ... import three", "three"},
	{"", "import importlib\nm = importlib.import_module('inmanta_plugins.one')", "one"},
	{"", "import importlib\nm = importlib.import_module('..two', __package__)", "two"},
	{"", "m = __import__(f'inmanta_plugins.{name}')", "one three two"},
	{"", "import sys\nm = vars(sys.modules['inmanta_plugins'])", "one three two"},
	{"", "from inmanta import const\nm = const.PLUGINS_PACKAGE + '.one'", "one three two"},
	{"", "def f(x: 'list[inmanta_plugins.one.X]'): pass", "one"},
	{"", "'''As inmanta_plugins.one does.'''\n# and inmanta_plugins.two\none = two = 3", ""},
	{"", "def f():\n    '''See inmanta_plugins.one.'''\n    return open('../one').read()", ""},
	{"", "import one, two.three\nfrom three import one", ""},
}

// TestUses pins which modules the code of a module counts as using: changes of these, and of no
// others, concern its handlers.
func TestUses(t *testing.T) {
	t.Parallel()
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var in bytes.Buffer
	for _, c := range usesCases {
		name := strings.TrimSuffix("inmanta_plugins.mine."+c.in, ".")
		if err := json.NewEncoder(&in).Encode([]any{name, true, c.source}); err != nil {
			t.Fatal(err)
		}
	}
	python := exec.CommandContext(t.Context(),
		filepath.Join(env, "bin", "python"), "-I", "-B", "testdata/uses.py", "host/code.py")
	python.Stdin = &in
	said, err := python.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(said)))
	if len(lines) != len(usesCases) {
		t.Fatalf("it has said %s", said)
	}
	for i, c := range usesCases {
		var got []string
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s\ngot %v, want %s", c.source, got, c.want)
		}
	}
}
