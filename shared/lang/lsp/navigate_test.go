package lsp_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"southbound/shared/lang/lsp/text"
)

// marked are files with marks: ¦ is the cursor, and «…» are the places that the answer names.
type marked struct {
	files  map[string]string
	cursor string // the file
	at     protocol.Position
	want   []string // file:line:column-column, in order
}

func marks(t *testing.T, archive string) marked {
	t.Helper()
	a := txtar.Parse([]byte(strings.TrimLeft(archive, "\n")))
	if len(a.Files) == 0 {
		a = txtar.Parse([]byte("-- main.cf --\n" + strings.TrimLeft(archive, "\n")))
	}
	out := marked{files: map[string]string{}}
	for _, f := range a.Files {
		var b strings.Builder
		var ranges [][2]int
		cursor := -1
		for _, r := range string(f.Data) {
			switch r {
			case '¦':
				cursor = b.Len()
			case '«':
				ranges = append(ranges, [2]int{b.Len()})
			case '»':
				ranges[len(ranges)-1][1] = b.Len()
			default:
				b.WriteRune(r)
			}
		}
		doc := text.New(b.String())
		out.files[f.Name] = b.String()
		if cursor >= 0 {
			out.cursor = f.Name
			out.at = protocol.Position(doc.Position(cursor, text.UTF16))
		}
		for _, r := range ranges {
			at := doc.Range(r[0], r[1], text.UTF16)
			out.want = append(out.want, shown(f.Name, protocol.Range{
				Start: protocol.Position(at.Start), End: protocol.Position(at.End),
			}))
		}
	}
	slices.Sort(out.want)
	return out
}

func shown(name string, r protocol.Range) string {
	return fmt.Sprintf("%s:%d:%d-%d:%d", name,
		r.Start.Line+1, r.Start.Character+1, r.End.Line+1, r.End.Character+1)
}

// shownAll are locations as marked has them.
func (s *session) shownAll(list []protocol.Location) []string {
	var out []string
	for _, l := range list {
		name := strings.TrimPrefix(l.URI.FsPath(), s.dir+"/")
		if i := strings.Index(name, "/southbound/lsp/"); i >= 0 { // a text of the program
			_, name, _ = strings.Cut(name[i+len("/southbound/lsp/"):], "/")
		}
		out = append(out, shown(name, l.Range))
	}
	slices.Sort(out)
	return out
}

func (m *marked) position(s *session) protocol.TextDocumentPositionParams {
	return protocol.TextDocumentPositionParams{
		TextDocument: protocol.TextDocumentIdentifier{URI: uri.File(s.path(m.cursor))},
		Position:     m.at,
	}
}

// net is a module that the tests of navigation use.
const net = `
-- libs/net/model/_init.cf --
"""
Networks.
"""
typedef «vlan» as int matching self > 0 and self < 4095
""" A number of a VLAN. """

entity «Host» extends std::Entity:
    """
    A machine.

    :attr «name»: how it is called,
        by people
    :attr tag: its VLAN
    """
    string «name»
    vlan tag = 1
end
Host.«ports» [0:] -- Port.host [1]
""" What it is reached by. """
entity Port:
    int number
end
index Host(«name»)
implementation «none» for Host:
end
implement Host using none
implement Port using std::none
«home» = Host(«name»="home")
`

// plain is net without marks but the places of one name.
func plain(name string) string {
	r := strings.NewReplacer("«"+name+"»", "«"+name+"»", "«", "", "»", "")
	return r.Replace(net)
}

// TestDefinition holds where names are defined.
func TestDefinition(t *testing.T) {
	t.Parallel()
	def := func(name string) string { // only the place that defines it
		out := plain(name)
		switch name {
		case "name":
			out = strings.NewReplacer(":attr «name»", ":attr name", "index Host(«name»)",
				"index Host(name)", "Host(«name»=", "Host(name=").Replace(out)
		}
		return out
	}
	for _, test := range []struct{ name, main string }{
		{"an entity", "import net\nx = net::Ho¦st(name=\"a\")\n" + def("Host")},
		{"an entity by another name", "import net as n\nx = n::Host¦(name=\"a\")\n" + def("Host")},
		{"an argument", "import net\nx = net::Host(na¦me=\"a\")\n" + def("name")},
		{"an attribute", "import net\nx = net::Host(name=\"a\")\ny = x.na¦me\n" + def("name")},
		{"a relation", "import net\nx = net::home\nfor p in x.port¦s:\nend\n" + def("ports")},
		{"through a relation", "import net\nx = net::Port(number=1)\ny = x.host.na¦me\n" +
			def("name")},
		{"of an item", "import net\ny = [h.n¦ame for h in [net::home]]\n" + def("name")},
		{"in an index", "import net\ny = net::Host[n¦ame=\"home\"]\n" + def("name")},
		{"in a text", "import net\nx = net::home\ny = \"a {{ x.na¦me }}\"\n" + def("name")},
		{"in an f-string", "import net\nx = net::home\ny = f\"{{x}} {x.na¦me:>{x}}\"\n" +
			def("name")},
		{"a type", "import net\nentity A:\n    net::vl¦an x\nend\n" + def("vlan")},
		{"an implementation", "import net\nimplement net::Host using net::no¦ne\n" + def("none")},
		{"a variable of a namespace", "import net\nx = net::ho¦me\n" + def("home")},
		{"an attribute of the instance",
			"import net\nimplementation a for net::Host:\n    std::print(na¦me)\nend\n" +
				def("name")},
		{"self", "import net\nimplementation a for net::Host:\n    std::print(self.na¦me)\nend\n" +
			def("name")},
		{"a condition", "import net\nimplement net::Host using net::none when na¦me == \"a\"\n" +
			def("name")},
		{"an inherited attribute",
			"import net\nentity A extends net::Host:\nend\nx = A(na¦me=\"a\")\n" + def("name")},
		{"a constructor in the namespace of a relation",
			"import net\nx = net::home\nx.ports = Po¦rt(number=1)\n" +
				strings.Replace(plain("-"), "entity Port:", "entity «Port»:", 1)},
		{"a local variable", "«a» = 1\nif true:\n    b = a¦\nend\n"},
		{"one that hides another", "a = 1\nfor «a» in [1]:\n    b = a¦\nend\n"},
		{"of an inner block", "a = 1\nif true:\n    «a» = 2\n    b = a¦\nend\n"},
		{"of a comprehension", "a = 1\nb = [a¦ for «a» in [1]]\n"},
		{"nothing", "x = nothing¦\n"},
		{"an attribute of what is not known", "x = std::get_env(\"A\")\ny = x.na¦me\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := marks(t, "-- main.cf --\n"+test.main)
			s := start(t, m.files, nil)
			s.open(m.cursor)
			p := protocol.DefinitionParams{TextDocumentPositionParams: m.position(s)}
			got, err := s.Definition(s.ctx, &p)
			if err != nil {
				t.Fatal(err)
			}
			list, _ := got.(protocol.LocationSlice)
			if all := s.shownAll(list); !slices.Equal(all, m.want) {
				t.Errorf("got %v, want %v", all, m.want)
			}
		})
	}
}

// TestIntoTheProgram holds that the texts of std and of types can be opened, and asked about there.
func TestIntoTheProgram(t *testing.T) {
	t.Parallel()
	for main, want := range map[string]string{
		"x = std::Ho¦st(name=\"a\")\n": "entity Host extends ManagedDevice",
		"import southbound::fs\nimport southbound\n" +
			"x = southbound::fs::Fi¦le(path=\"/a\")": "entity File extends southbound::Resource",
	} {
		m := marks(t, main)
		s := start(t, m.files, nil)
		s.open(m.cursor)
		p := protocol.DefinitionParams{TextDocumentPositionParams: m.position(s)}
		got, err := s.Definition(s.ctx, &p)
		list, _ := got.(protocol.LocationSlice)
		if err != nil || len(list) != 1 {
			t.Fatal(got, err)
		}
		content, err := os.ReadFile(list[0].URI.FsPath())
		if err != nil {
			t.Fatal(err)
		}
		line := strings.Split(string(content), "\n")[list[0].Range.Start.Line]
		if !strings.Contains(line, want) {
			t.Errorf("%s is %q", main, line)
		}
		if err := s.Open(s.ctx, list[0].URI.FsPath()); err != nil {
			t.Fatal(err)
		}
		h, err := s.Hover(s.ctx, &protocol.HoverParams{
			TextDocumentPositionParams: protocol.TextDocumentPositionParams{
				TextDocument: protocol.TextDocumentIdentifier{URI: list[0].URI},
				Position:     list[0].Range.Start,
			},
		})
		if err != nil || h == nil {
			t.Errorf("%v, %v", h, err)
		}
	}
}

// TestReferences holds all places of a name, in all files.
func TestReferences(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, files string }{
		{"an attribute",
			"import net\nx = net::Host(«na¦me»=\"a\")\ny = x.«name»\n" +
				"z = \"{{ x.«name» }} name\"\n" + plain("name")},
		{"one that is defined again",
			"import net\nentity A extends net::Host:\n    string «name»\nend\n" +
				"x = A(«na¦me»=\"a\")\n" + plain("name")},
		{"a variable", "«a» = 1\nb = [«a», «a¦»]\nfor a in b:\n    c = a\nend\nd = f\"{«a»}\"\n"},
		{"of another namespace", "import net\nx = net::«ho¦me»\n" + plain("home")},
		{"a relation",
			"import net\nx = net::home\nx.«ports» += net::Port(number=1)\ny = x.«po¦rts»\n" +
				plain("ports")},
		{"a typedef",
			"typedef «po¦rt» as int matching «port» > 0\nentity A:\n    «port»[]? a\nend\n"},
		{"an implementation",
			"entity A:\nend\nimplementation «a¦» for A:\nend\n" +
				"implement A using «a», std::none when true\n"},
		{"in a module that is not imported", "import net\nx = net::«Ho¦st»(name=\"a\")\n" +
			strings.NewReplacer("Host.p", "«Host».p", "Host(", "«Host»(", "for Host", "for «Host»",
				"implement Host", "implement «Host»").Replace(plain("Host")) +
			"-- libs/more/model/a/_init.cf --\nimport net\nx = net::«Host»(name=\"b\")\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := marks(t, "-- main.cf --\n"+test.files)
			s := start(t, m.files, nil)
			s.open(m.cursor)
			p := protocol.ReferenceParams{TextDocumentPositionParams: m.position(s)}
			p.Context.IncludeDeclaration = true
			got, err := s.References(s.ctx, &p)
			if err != nil {
				t.Fatal(err)
			}
			if all := s.shownAll(got); !slices.Equal(all, m.want) {
				t.Errorf("got  %v\nwant %v", all, m.want)
			}
		})
	}
}

// TestHover holds what is shown of a name.
func TestHover(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ main, want string }{
		{"import net\nx = net::Ho¦st(name=\"a\")\n",
			"entity net::Host extends std::Entity:\n    string name\n    net::vlan tag = 1\nend\n" +
				"net::Host.ports [0:] -- net::Port.host [1]\nindex Host(name)\n```\n\n" +
				"A machine.  \n- `name`: how it is called, by people  \n- `tag`: its VLAN"},
		{"import net\nx = net::Host(na¦me=\"a\")\n",
			"net::Host.name: string\n```\n\nhow it is called,  \nby people"},
		{"import net\nx = net::home.po¦rts\n",
			"net::Host.ports [0:] -- net::Port.host [1]\n```\n\nWhat it is reached by."},
		{"import net\nentity A:\n    net::vl¦an? a\nend\n",
			"typedef net::vlan as int matching self > 0 and self < 4095\n```\n\n" +
				"A number of a VLAN."},
		{"import net\nfor a¦ in net::home.ports:\nend\n", "a: net::Port"},
		{"import ne¦t\n", "module net\n```\n\nNetworks."},
		{"x = std::cou¦nt([])\n",
			"std::count(item_list: list) -> int\n```\n\nReturns the number of items"},
		{"x = std::equa¦ls(1, 1)\n", "Deprecated: use the operator =="},
		{"import southbound\nx = southbound::Ag¦ent(name=\"a\")\n", "entity southbound::Agent"},
		{"entity A:\n    i¦nt a\nend\n", "type int"},
		{"x = 1 ¦+ 2\n", ""},
		{"# com¦ment\n", ""},
	} {
		m := marks(t, "-- main.cf --\n"+test.main+plain("-"))
		s := start(t, m.files, nil)
		s.open(m.cursor)
		h, err := s.Hover(s.ctx, &protocol.HoverParams{TextDocumentPositionParams: m.position(s)})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if h != nil {
			content, _ := h.Contents.(*protocol.MarkupContent)
			got = content.Value
		}
		if !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: got\n%s\nwant\n%s", test.main, got, test.want)
		}
	}
}

// TestSignature holds what is said of a call or a constructor that is being written, and which
// parameter it is.
func TestSignature(t *testing.T) {
	t.Parallel()
	const replace = "std::replace(string: string, old: string, new: string) -> string"
	for _, test := range []struct {
		main, want string
		active     uint32
	}{
		{"x = std::replace(¦\n", replace, 0},
		{"x = std::replace(\"a\", ¦)\n", replace, 1},
		{"x = std::replace(\"a\", std::upper(\"b, c\"), \"¦\")\n", replace, 2},
		{"x = std::replace(\"a\", new=¦)\n", replace, 2},
		{"x = std::count([1, ¦2])\n", "std::count(item_list: list) -> int", 0},
		{"x = std::format(\"\", 1, ¦2)\n",
			"std::format(__string: string, *args: any, **kwargs: any) -> string", 1},
		{
			"import net\nx = net::Host(tag=¦)\n",
			"net::Host(name: string, tag: net::vlan = 1, ports: net::Port[]", 1,
		},
		{"x = ¦1\n", "", 0},
		{"index Host(¦name)\n", "", 0},
	} {
		m := marks(t, "-- main.cf --\n"+test.main+plain("-"))
		s := start(t, m.files, nil)
		s.open(m.cursor)
		h, err := s.SignatureHelp(
			s.ctx, &protocol.SignatureHelpParams{TextDocumentPositionParams: m.position(s)},
		)
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			if test.want != "" {
				t.Errorf("%s: nothing is said", test.main)
			}
			continue
		}
		got := h.Signatures[0].Label
		active, _ := h.ActiveParameter.Get()
		if !strings.HasPrefix(got, test.want) || test.want == "" || active != test.active {
			t.Errorf("%s: got %d of %s\nwant %d of %s", test.main, active, got, test.active,
				test.want)
		}
	}
}

// TestSymbols holds the outline of a text, and what is found in all of them.
func TestSymbols(t *testing.T) {
	t.Parallel()
	m := marks(
		t,
		"-- main.cf --\nimport net\n¦site = net::home\nentity Rack:\n    int size\nend\n"+plain(
			"-",
		),
	)
	s := start(t, m.files, nil)
	s.open("main.cf")
	s.open("libs/net/model/_init.cf")
	outline := func(name string) []string {
		var p protocol.DocumentSymbolParams
		p.TextDocument.URI = uri.File(s.path(name))
		got, err := s.DocumentSymbol(s.ctx, &p)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		list, _ := got.(protocol.DocumentSymbolSlice)
		for _, d := range list {
			detail := ""
			if d.Detail != nil {
				detail = *d.Detail
			}
			out = append(out, fmt.Sprintf("%s|%s|%d", d.Name, detail, len(d.Children)))
		}
		return out
	}
	if got := outline("main.cf"); !slices.Equal(
		got,
		[]string{"site|net::Host|0", "Rack|std::Entity|1"},
	) {
		t.Error(got)
	}
	want := []string{
		"vlan|int|0",
		"Host|std::Entity|2",
		"Host.ports|[0:] net::Port|0",
		"Port|std::Entity|1",
		"none|net::Host|0",
		"home|net::Host|0",
	}
	if got := outline("libs/net/model/_init.cf"); !slices.Equal(got, want) {
		t.Error(got)
	}
	got, err := s.Symbols(s.ctx, &protocol.WorkspaceSymbolParams{Query: "HO"})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	list, _ := got.(protocol.SymbolInformationSlice)
	for _, i := range list {
		names[i.Name] = true
	}
	if !maps.Equal(names, map[string]bool{"Host": true, "home": true}) {
		t.Error(names)
	}
}
