package lsp_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// python is a module with plugins in Python.
func python(main string) string {
	return "-- main.cf --\n" + main + `
-- libs/net/model/_init.cf --
entity Host:
    string name
    int? size
end
implementation sized for Host:
    if net::large(name):
        size = 2
    else:
        size = 1
    end
end
implement Host using sized
-- libs/net/model/names.cf --
-- libs/net/plugins/__init__.py --
from inmanta.plugins import plugin, Context

@plugin
def «large»(context: Context, name: "string", least: int = 3) -> bool:
    """Says whether a host is large."""
    return len(name) > least
-- libs/net/plugins/names.py --
from inmanta.plugins import plugin as p

@p("full")
def full_name(name: str) -> str:
    return name + ".example.com"
`
}

// TestPython holds that plugins which modules declare in Python are known without Python: what they
// are called with and where they are, and that what they would return brings no problems.
func TestPython(t *testing.T) {
	t.Parallel()
	main := "import net\nimport net::names\n" +
		"h = net::Host(name=\"a\")\nx = net::lar¦ge(\"a\", least=2)\ny = net::names::full(\"a\")\n"
	m := marks(t, python(main))
	s := start(t, m.files, nil)
	s.open(m.cursor)
	s.problems("main.cf")
	got, err := s.Definition(
		s.ctx,
		&protocol.DefinitionParams{TextDocumentPositionParams: m.position(s)},
	)
	if err != nil {
		t.Fatal(err)
	}
	list, _ := got.(protocol.LocationSlice)
	if all := s.shownAll(list); !slices.Equal(all, m.want) {
		t.Errorf("it is at %v, want %v", all, m.want)
	}
	h, err := s.Hover(s.ctx, &protocol.HoverParams{TextDocumentPositionParams: m.position(s)})
	if err != nil {
		t.Fatal(err)
	}
	said, _ := h.Contents.(*protocol.MarkupContent)
	if want := "net::large(name: string, least: int = 3) -> bool"; said == nil ||
		!strings.Contains(said.Value, want) || !strings.Contains(said.Value, "is large") {
		t.Errorf("it shows %+v, want %q", h.Contents, want)
	}
	s.edit("main.cf", 2, 3, 9, 14, "lagre")
	s.problems("main.cf", "4:5 unknown_type the namespace net has no lagre\ndid you mean large?")
	s.edit("main.cf", 3, 3, 9, 14, "large")
	s.edit("main.cf", 4, 3, 20, 25, "most")
	s.problems("main.cf", "arguments")
	s.edit("main.cf", 5, 3, 9, 14, "small") // a plugin that comes
	path := s.path("libs/net/plugins/__init__.py")
	text := "import inmanta.plugins\n@inmanta.plugins.plugin(\"small\")\n" +
		"def f(name: str, most: int) -> bool:\n    return True\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.DidChangeWatchedFiles(s.ctx, &protocol.DidChangeWatchedFilesParams{
		Changes: []protocol.FileEvent{{URI: uri.File(path), Type: protocol.FileChangeTypeChanged}},
	}); err != nil {
		t.Fatal(err)
	}
	s.problems("libs/net/model/_init.cf", "the namespace net has no large")
	s.problems("main.cf")
}

// TestPythonDataclasses pins that classes in Python are not read: an entity that needs one has no
// problem, and the result of a plugin that returns one is unknown.
func TestPythonDataclasses(t *testing.T) {
	t.Parallel()
	m := marks(t, `-- main.cf --
import shop
p = shop::ori¦gin()
x = p.label
entity Here extends std::Dataclass:
    int x
end
implement Here using std::none
-- libs/shop/model/_init.cf --
entity Point extends std::Dataclass:
    int x
    string? label = null
end
implement Point using std::none
-- libs/shop/plugins/__init__.py --
from inmanta.plugins import plugin

@plugin
def «origin»() -> Point:
    return Point(0)
`)
	s := start(t, m.files, nil)
	s.open(m.cursor)
	s.open("libs/shop/model/_init.cf")
	s.problems("main.cf")
	s.problems("libs/shop/model/_init.cf")
	got, err := s.Definition(s.ctx,
		&protocol.DefinitionParams{TextDocumentPositionParams: m.position(s)})
	if err != nil {
		t.Fatal(err)
	}
	list, _ := got.(protocol.LocationSlice)
	if all := s.shownAll(list); !slices.Equal(all, m.want) {
		t.Errorf("it is at %v, want %v", all, m.want)
	}
}
