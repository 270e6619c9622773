package lsp_test

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"

	"southbound/shared/lang/lsp/text"
)

// renamed asks for a name to be renamed, and returns the files as they would be.
func (s *session) renamed(
	files map[string]string, p protocol.TextDocumentPositionParams, name string,
) (map[string]string, error) {
	s.t.Helper()
	edit, err := s.Rename(s.ctx, &protocol.RenameParams{
		TextDocumentPositionParams: p, NewName: name,
	})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for file, content := range files {
		out[file] = content
	}
	for _, d := range edit.DocumentChanges {
		change, ok := d.(*protocol.TextDocumentEdit)
		if !ok {
			s.t.Fatalf("%T", d)
		}
		file := strings.TrimPrefix(change.TextDocument.URI.FsPath(), s.dir+"/")
		var edits []protocol.TextEdit
		for _, e := range change.Edits {
			edits = append(edits, *e.(*protocol.TextEdit))
		}
		slices.SortFunc(edits, func(a, b protocol.TextEdit) int { // the last first
			return cmp.Or(cmp.Compare(b.Range.Start.Line, a.Range.Start.Line),
				cmp.Compare(b.Range.Start.Character, a.Range.Start.Character))
		})
		doc := text.New(out[file])
		for _, e := range edits {
			r := text.Range{Start: text.Position(e.Range.Start), End: text.Position(e.Range.End)}
			doc = doc.Replace(r, e.NewText, text.UTF16)
		}
		out[file] = doc.String()
	}
	return out, nil
}

// TestRename holds that all places of a name change, those that «…» marks, and no others; and that
// the name of before gives the texts of before.
func TestRename(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, files, to string }{
		{"an attribute",
			"import net\nx = net::Host(«na¦me»=\"é𝕊\")\n" +
				"y = \"é𝕊 {{ x.«name» }} {{x.tag}} name\"\n" + plain("name"), "called"},
		{"an entity", "import net\nx = net::«Ho¦st»(name=\"a\")\n" +
			strings.NewReplacer("Host.p", "«Host».p", "Host(", "«Host»(", "for Host", "for «Host»",
				"implement Host", "implement «Host»").Replace(plain("Host")), "Machine"},
		{"a typedef",
			"typedef «po¦rt» as int matching «port» > 0 and self < 9\nentity A:\n" +
				"    «port» port\nend\n", "gate"},
		{"a variable",
			"«a» = 1\nb = f\"{«a»!r:>{«a»}} {{a}} {«a¦»}\"\nfor a in [«a»]:\n    c = a\nend\n",
			"more"},
		{"a variable of an implementation",
			"entity A:\n    int x\nend\nimplementation i for A:\n    «y¦» = x\n    z = «y»\n" +
				"end\ny = 1\n", "w"},
		{"a relation", "import net\nx = net::home\nx.«po¦rts» += net::Port(number=1)\n" +
			plain("ports"), "gates"},
		{"an implementation", "import net\nimplement net::Host using net::«no¦ne»\n" +
			strings.Replace(plain("none"), "using none", "using «none»", 1), "nothing"},
		{"a variable of a namespace", "import net as n\nx = n::«ho¦me»\n" + plain("home"), "house"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := marks(t, "-- main.cf --\n"+test.files)
			s := start(t, m.files, nil)
			s.open(m.cursor)
			position := m.position(s)
			got, err := s.renamed(m.files, position, test.to)
			if err != nil {
				t.Fatal(err)
			}
			want := marks(t, renamedMarks("-- main.cf --\n"+test.files, test.to)).files
			for file := range want {
				if got[file] != want[file] {
					t.Errorf("%s: got\n%s\nwant\n%s", file, got[file], want[file])
				}
			}
			for file, content := range got {
				if err := os.WriteFile(s.path(file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			r := text.Range{End: text.Position{Line: 1 << 20}}
			err = s.Edit(s.ctx, s.path(m.cursor), 2, protocol.Range{
				Start: protocol.Position(r.Start), End: protocol.Position(r.End),
			}, got[m.cursor])
			if err != nil {
				t.Fatal(err)
			}
			if err := s.DidChangeWatchedFiles(s.ctx, &protocol.DidChangeWatchedFilesParams{
				Changes: []protocol.FileEvent{},
			}); err != nil {
				t.Fatal(err)
			}
			position.Position = marks(t, renamedMarks("-- main.cf --\n"+test.files, test.to)).at
			back, err := s.renamed(got, position, nameAt(m))
			if err != nil {
				t.Fatal(err)
			}
			for file := range m.files {
				if back[file] != m.files[file] {
					t.Errorf("%s: back it is\n%s\nand was\n%s", file, back[file], m.files[file])
				}
			}
		})
	}
}

// renamedMarks replaces what is marked. The cursor comes to stand at the beginning of the name.
func renamedMarks(archive, to string) string {
	var b strings.Builder
	for rest := archive; ; {
		before, in, ok := strings.Cut(rest, "«")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, behind, _ := strings.Cut(in, "»")
		if strings.Contains(name, "¦") {
			b.WriteString("¦")
		}
		b.WriteString(to)
		rest = behind
	}
}

// nameAt returns the name at the cursor.
func nameAt(m marked) string {
	line := strings.Split(m.files[m.cursor], "\n")[m.at.Line]
	doc := text.New(line)
	at := doc.Offset(text.Position{Character: m.at.Character}, text.UTF16)
	is := func(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
	from, to := at, at
	for from > 0 && is(line[from-1]) {
		from--
	}
	for to < len(line) && is(line[to]) {
		to++
	}
	return line[from:to]
}

// TestRenameRefused holds that a name is not changed where something would mean something else
// then, or where nobody knows.
func TestRenameRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, files, to, want string }{
		{"of std", "x = std::Ho¦st(name=\"a\")\n", "A", "outside the project"},
		{"a plugin", "x = std::cou¦nt([])\n", "a", "not defined in a model"},
		{"an inherited attribute",
			"entity A extends std::Resource:\n    bool send¦_event = true\nend\n", "a",
			"outside the project"},
		{"a type of the language", "entity A:\n    st¦ring a\nend\n", "a", "type of the language"},
		{"a module", "import ne¦t\n" + plain("-"), "a", "rename that, and the imports"},
		{"self", "entity A:\nend\nimplementation a for A:\n    x = se¦lf\nend\n", "a",
			"word of the language"},
		{"a keyword", "a¦ = 1\n", "end", "word of the language"},
		{"not a name", "a¦ = 1\n", "a b", "is not a name"},
		{"a hyphen", "a¦ = 1\n", "a-b", "is not a name"},
		{"a capital letter", "a¦ = 1\n", "A", "small letter"},
		{"a small letter", "entity A¦:\nend\n", "a", "capital letter"},
		{"two of a name", "a¦ = 1\nb = 2\n", "b", "something else"},
		{"two entities", "entity A¦:\nend\nentity B:\nend\n", "B", "already"},
		{"one that would be hidden", "a¦ = 1\nfor b in [1]:\n    c = a\nend\n", "b",
			"something else"},
		{"one that would hide", "a = 1\nfor b¦ in [1]:\n    c = a + b\nend\n", "a",
			"something else"},
		{"one that a text would mean", "a¦ = 1\nfor b in [1]:\n    c = \"{{ a }}\"\nend\n", "b",
			"something else"},
		{"an attribute that hides a variable",
			"entity A:\n    int a¦\nend\nb = 1\nimplementation i for A:\n    c = b\nend\n", "b",
			"something else"},
		{"two attributes", "entity A:\n    int a¦\n    int b\nend\n", "b", "something else"},
		{"one of a parent",
			"entity A:\n    int a\nend\nentity B extends A:\n    int b¦\nend\nx = B(a=1, b=2)\n",
			"a", "twice"},
		{"what only a run knows", "entity A:\n    int a¦\nend\nx = std::at([], 0)\ny = x.a\n", "b",
			"line 5"},
		{"a file that is broken",
			"import net\nx = net::ho¦me\n" + strings.Replace(plain("-"), "end", "en", 1), "b",
			"cannot be read"},
		{"nothing", "x = 1 ¦+ 1\n", "b", "no name here"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			m := marks(t, "-- main.cf --\n"+test.files)
			s := start(t, m.files, nil)
			s.open(m.cursor)
			got, err := s.renamed(m.files, m.position(s), test.to)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, %v, want %s", got, err, test.want)
			}
		})
	}
}
