package lsp_test

import (
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
)

// TestCompletion holds what is offered at a place: what want names is there, and what not names is
// not. A word with = is offered so.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, main, want, not string }{
		{"attributes", "import net\nx = net::home\ny = x.¦\n", "name tag ports requires",
			"number std"},
		{"attributes of a part of a name", "import net\nx = net::home\ny = x.na¦\n", "name", ""},
		{"through relations", "import net\nx = net::Port(number=1)\ny = x.host.¦\n", "name tag",
			"number"},
		{"of self", "import net\nimplementation a for net::Host:\n    x = self.¦\nend\n", "name",
			""},
		{"with what follows broken",
			"import net\nimplementation a for net::Host:\n    self.¦\n    b = 1\nend\n", "name",
			""},
		{"names of a body",
			"import net\nimplementation a for net::Host:\n    b = 1\n    c = ¦\nend\n",
			"self name tag b net std std::count", "entity number"},
		{"names of a loop", "for i in [1]:\n    x = ¦\nend\n", "i true", "entity"},
		{"members of a module", "import net\nx = net::¦\n", "Host Port vlan none home",
			"Nothing std"},
		{"plugins", "x = std::co¦\n", "count", ""},
		{"arguments", "import net\nx = net::Host(¦)\n", "name= tag= ports=", "number= true"},
		{"more arguments", "import net\nx = net::Host(name=\"a\", ¦)\n", "tag= ports=", "name="},
		{"an argument that has its sign", "import net\nx = net::Host(na¦ = 1)\n", "name", "name="},
		{"arguments of an index", "import net\nx = net::Host[¦]\n", "name=", ""},
		{"of an index by a relation", "import net\nx = net::home.ports[¦]\n", "number=", "name="},
		{"values", "import net\na = 1\nx = net::Host(name=¦)\n", "a true std::count", "tag="},
		{"arguments of a plugin", "x = std::sequence(¦)\n", "i= start= x", ""},
		{"imports", "import ¦\n", "net other std southbound", "x entity"},
		{"parts of modules", "import other::¦\n", "part", "net"},
		{"types of the program", "import southbound::¦\n", "fs exec", ""},
		{"imported parts", "import other::part\nx = other::¦\n", "part", ""},
		{"entities to extend", "import net\nentity A extends ¦\n", "net::Host std::Entity",
			"true vlan"},
		{"entities after more", "import net\nentity B:\nend\nimplement ¦\n", "B net::Host",
			"std::none"},
		{"implementations", "import net\nimplement net::Host using ¦\n",
			"net::none std::none parents", "net::Host"},
		{"the word of an implement", "import net\nimplement net::Host ¦\n", "using", "net::Host"},
		{"what an implementation is for", "import net\nimplementation x for ¦\n", "net::Host",
			"std::none"},
		{"types of attributes", "import net\nentity A:\n    ¦\nend\n", "string int net::vlan end",
			"net::Host"},
		{"types of typedefs", "import net\ntypedef a as ¦\n", "string net::vlan", "net::Host"},
		{"defaults", "entity A:\n    bool a = ¦\nend\n", "true false null undef", "std::count"},
		{"attributes of an index", "entity A:\n    bool a\nend\nindex A(¦)\n", "a", "true"},
		{"in a text", "import net\nx = net::home\ny = \"a {{ x.¦ }}\"\n", "name", "std"},
		{"names in a text", "a = 1\ny = \"{{ ¦ }}\"\n", "a y", "std::count"},
		{"in an f-string", "import net\nx = net::home\ny = f\"{x.¦}\"\n", "name", ""},
		{"statements", "¦\n", "entity import for if", "elsewhere"},
		{"not in a comment", "# x¦\n", "", "entity"},
		{"not in a text", "x = \"a¦\"\n", "", "x"},
		{"not in a number", "x = 12¦\n", "", "x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := marks(t, "-- main.cf --\n"+test.main+plain("-")+
				"-- libs/other/model/_init.cf --\n-- libs/other/model/part.cf --\n")
			s := start(t, m.files, nil)
			s.open(m.cursor)
			p := protocol.CompletionParams{TextDocumentPositionParams: m.position(s)}
			got, err := s.Completion(s.ctx, &p)
			if err != nil {
				t.Fatal(err)
			}
			var offered []string
			if list, ok := got.(*protocol.CompletionList); ok {
				for _, i := range list.Items {
					offered = append(offered, i.Label)
					if e, ok := i.TextEdit.(*protocol.TextEdit); ok && e.NewText != i.Label {
						offered = append(offered, e.NewText)
					}
				}
			}
			for _, w := range strings.Fields(test.want) {
				if !slices.Contains(offered, w) {
					t.Errorf("%s is missing in %v", w, offered)
				}
			}
			for _, w := range strings.Fields(test.not) {
				if slices.Contains(offered, w) {
					t.Errorf("%s is offered in %v", w, offered)
				}
			}
		})
	}
}
