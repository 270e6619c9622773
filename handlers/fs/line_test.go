package fs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/internal/textfile"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

func withLine(s *disk.System) provider.Definition {
	d := Line()
	d.Handler = newLine(textfile.Editor{Sys: s})
	return d
}

func TestLineConformance(t *testing.T) {
	newCase := func(first map[string]any,
		updates ...map[string]any) func(dir string) (providertest.Case, error) {
		return func(dir string) (providertest.Case, error) {
			file := filepath.Join(dir, "a")
			start := "# head\nx=1\n\nlast"
			put := func() error { return os.WriteFile(file, []byte(start), 0o640) }
			c := providertest.Case{Attributes: map[string]any{"path": file, "name": "one"},
				Vanish: put, World: func() (string, error) { return world(dir) },
				Secrets: []string{"s3cr3t"}}
			for k, v := range first {
				c.Attributes[k] = v
			}
			c.Updates = updates
			for i := range 5 {
				c.Others = append(c.Others, map[string]any{"path": file, "name": fmt.Sprint(i),
					"line": fmt.Sprint("other ", i), "after": "^x"},
					map[string]any{"path": filepath.Join(dir, fmt.Sprint("b", i%2)),
						"name": fmt.Sprint(i), "block": "b\n" + fmt.Sprint(i)})
			}
			for _, name := range []string{"b0", "b1"} {
				if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
					return c, err
				}
			}
			return c, put()
		}
	}
	cases := map[string]func(string) (providertest.Case, error){
		"line": newCase(map[string]any{"line": "password=s3cr3t", "match": "^password="},
			map[string]any{"line": "password=other s3cr3t"}, map[string]any{"line": "password="}),
		"block": newCase(map[string]any{"block": "a\ns3cr3t\n", "before": "^x"},
			map[string]any{"block": ""}, map[string]any{"block": "c"}),
	}
	for name, newCase := range cases {
		for kind, fileSystem := range fileSystems() {
			if kind == "no hard links" || kind != "usual" && name == "block" {
				// no second name is ever made, and how a text is written does not depend on what it
				// is
				continue
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				s := &providertest.Stopper{}
				providertest.Run(t,
					providertest.Subject{Definition: withLine(stopped(s, fileSystem)),
						New: func(string, *providertest.Host) (providertest.Case, error) {
							c, err := newCase(memoryDir(t))
							c.Interrupt = s.Interrupt
							c.Edges = []string{"*"}
							return c, err
						}})
			})
		}
	}
}

func TestLine(t *testing.T) {
	type attrs = map[string]any
	for _, tc := range []struct {
		why, before string
		attrs       attrs
		purged      bool
		want        string // the same as before: nothing is done
	}{
		{"put at the end", "a\n", attrs{"line": "x"}, false, "a\nx\n"},
		{"into an empty file", "", attrs{"line": "x"}, false, "x\n"},
		{"a last line without an end gets one, and so has what is added", "a", attrs{"line": "x"},
			false, "a\nx\n"},
		{"ends of lines are those of the file", "a\r\nb\r\n", attrs{"line": "x"}, false,
			"a\r\nb\r\nx\r\n"},
		{"both", "a\r\nb", attrs{"line": "x"}, false, "a\r\nb\r\nx\r\n"},
		{"mixed ends stay", "a\nb\r\nc\n", attrs{"line": "x", "match": "b"}, false,
			"a\nx\r\nc\n"},
		{"a carriage return without an end of line is not one", "a\nb\r",
			attrs{"line": "x", "position": "start"}, false, "x\na\nb\r"},
		{"a file of carriage returns alone", "a\rb\r", attrs{"line": "x"}, false, "a\rb\rx\r"},
		{"one of them without a last end", "a\rb", attrs{"line": "x", "after": "^a$"}, false,
			"a\rx\rb"},
		{"a line of it is replaced alone", "a\rb\rc", attrs{"line": "x", "match": "b"}, false,
			"a\rx\rc"},
		{"there already", "a\nx\n", attrs{"line": "x"}, false, "a\nx\n"},
		{"there already in a file of the other kind", "x\r\na\r\n", attrs{"line": "x"}, false,
			"x\r\na\r\n"},
		{"only a whole line counts", " x\nxx\n", attrs{"line": "x"}, false, " x\nxx\nx\n"},
		{"an empty line", "a\n", attrs{"line": ""}, false, "a\n\n"},
		{"at the start", "a\n", attrs{"line": "x", "position": "start"}, false, "x\na\n"},
		{"after a byte order mark", "\ufeffa\n", attrs{"line": "x", "position": "start"}, false,
			"\ufeffx\na\n"},
		{"a first line after a mark is found", "\ufeffx\n", attrs{"line": "x"}, false, "\ufeffx\n"},
		{"after the last that matches", "k1\nb\nk2\nc\n", attrs{"line": "x", "after": "^k"}, false,
			"k1\nb\nk2\nx\nc\n"},
		{"after the very last", "a\nk", attrs{"line": "x", "after": "k"}, false, "a\nk\nx\n"},
		{"before the first that matches", "a\nk1\nk2\n", attrs{"line": "x", "before": "^k"}, false,
			"a\nx\nk1\nk2\n"},
		{"nothing matches: where position says", "a\n",
			attrs{"line": "x", "before": "^k", "position": "start"}, false, "x\na\n"},
		{"what is there is not moved", "x\nk\n", attrs{"line": "x", "after": "^k"}, false,
			"x\nk\n"},
		{"replaced where it matches", "a\n#Port 22\nb\n",
			attrs{"line": "Port 23", "match": "^#?Port"}, false, "a\nPort 23\nb\n"},
		{"what it matches is the whole line without its end", "Port 22\r\n",
			attrs{"line": "y", "match": `^Port \d+$`}, false, "y\r\n"},
		{"a line that does not match itself", "foo\n", attrs{"line": "bar", "match": "foo"}, false,
			"bar\n"},
		{"and is there already", "bar\n", attrs{"line": "bar", "match": "foo"}, false, "bar\n"},
		{"the first of several", "k1\nk2\n",
			attrs{"line": "kx", "match": "^k", "multiple": "first"}, false, "kx\nk2\n"},
		{"the last of several", "k1\nk2\n", attrs{"line": "kx", "match": "^k", "multiple": "last"},
			false, "k1\nkx\n"},
		{"all of several", "k1\na\nk2\n", attrs{"line": "kx", "match": "^k", "multiple": "all"},
			false, "kx\na\nkx\n"},
		{"a single one of several", "k1\na\nk2\nkx\nk3",
			attrs{"line": "kx", "match": "^k", "multiple": "single"}, false, "kx\na"},
		{"others of the wanted one go, too", "kx\nkx\n",
			attrs{"line": "kx", "match": "^k", "multiple": "single"}, false, "kx\n"},
		{"purge", "a\nx\nb\n", attrs{"line": "x"}, true, "a\nb\n"},
		{"purge all that are the same", "x\na\nx", attrs{"line": "x"}, true, "a"},
		{"purge the only one", "x\n", attrs{"line": "x"}, true, ""},
		{"purge what is not there", "a\n", attrs{"line": "x", "match": "a"}, true, "a\n"},
		{"purge leaves what only matches", "#x\nx\n", attrs{"line": "x", "match": "x"}, true,
			"#x\n"},
		{"purge what matches", "k1\na\nk2\n", attrs{"match": "^k"}, true, "a\n"},
		{"purge the block of the name", "a\n# BEGIN n\n1\n# END n\nb\n", attrs{}, true, "a\nb\n"},
		{"purge a name that has no block", "a\nn\n", attrs{}, true, "a\nn\n"},
		{"a block", "a\n", attrs{"block": "1\n2\n"}, false, "a\n# BEGIN n\n1\n2\n# END n\n"},
		{"a block in a file of the other kind", "a\r\n", attrs{"block": "1\n2"}, false,
			"a\r\n# BEGIN n\r\n1\r\n2\r\n# END n\r\n"},
		{"there already, with the other ends", "# BEGIN n\r\n1\r\n# END n", attrs{"block": "1\n"},
			false, "# BEGIN n\r\n1\r\n# END n"},
		{"a block that differs", "# BEGIN n\n1\n# END n\nz", attrs{"block": "1\n2"}, false,
			"# BEGIN n\n1\n2\n# END n\nz"},
		{"an empty block", "# BEGIN n\n1\n# END n\n", attrs{"block": ""}, false,
			"# BEGIN n\n# END n\n"},
		{"empty lines in a block count", "", attrs{"block": "\n1\n\n"}, false,
			"# BEGIN n\n\n1\n\n# END n\n"},
		{"other markers", "<a>\n</a>\n", attrs{"block": "<b/>", "marker": "<!-- {mark} {name} -->",
			"after": "<a>"}, false, "<a>\n<!-- BEGIN n -->\n<b/>\n<!-- END n -->\n</a>\n"},
		{"a block of another name is another", "# BEGIN m\n1\n# END m\n", attrs{"block": "2"},
			false, "# BEGIN m\n1\n# END m\n# BEGIN n\n2\n# END n\n"},
		{"purge a block", "a\n# BEGIN n\nanything\n# END n\nz", attrs{"block": "1"}, true, "a\nz"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, Line())
			g.write("a", tc.before, 0o640)
			tc.attrs["path"], tc.attrs["name"] = g.path("a"), "n"
			r := g.resource(tc.attrs, tc.purged)
			if change, diffs, err := g.apply(r); err != nil ||
				(change != diff.NoChange) != (tc.before != tc.want) {
				t.Fatalf("%s %v, %v", change, diffs, err)
			}
			g.has(fmt.Sprintf("a -rw-r----- %q", tc.want))
			g.must(r, diff.NoChange)
		})
	}
}

func TestLineRefused(t *testing.T) {
	for _, tc := range []struct {
		why, before string
		attrs       map[string]any
		class       provider.Class
		part        string
	}{
		{"several lines match", "k1\na\nk2\n", map[string]any{"line": "x", "match": "^k"},
			provider.NeedsChange, "line 1, 3"},
		{"a begin without an end", "# BEGIN n\n1\n", map[string]any{"block": "x"},
			provider.Terminal, "begin at line 1, end at no line"},
		{"the end stands first", "# END n\n# BEGIN n\n", map[string]any{"block": "x"},
			provider.Terminal, "do not form a pair"},
		{"two blocks", "# BEGIN n\n# END n\n# BEGIN n\n# END n\n", map[string]any{"block": "x"},
			provider.Terminal, "line 1, 3"},
		{"no text", "a\x00b", map[string]any{"line": "x"}, provider.NeedsChange, "zero byte"},
		{"a block with its own marker in it", "", map[string]any{"block": "# END n\nrm"},
			provider.NeedsChange, "own markers"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			g := newRig(t, Line())
			g.write("a", tc.before, 0o600)
			tc.attrs["path"], tc.attrs["name"] = g.path("a"), "n"
			g.fails(g.resource(tc.attrs), tc.class, tc.part)
			g.has(fmt.Sprintf("a -rw------- %q", tc.before))
		})
	}
}

func TestLineDeclaration(t *testing.T) {
	for why, tc := range map[string]struct {
		attrs map[string]any
		part  string
	}{
		"what RE2 has not": {map[string]any{"line": "x", "match": "(?=x)"}, "match"},
		"references back":  {map[string]any{"line": "x", "after": `(a)\1`}, "after"},
		"line and block":   {map[string]any{"line": "x", "block": "y"}, "block"},
		"nothing":          {map[string]any{}, "line"},
		"match alone":      {map[string]any{"match": "x"}, "line"},
		"after and before": {map[string]any{"line": "x", "after": "a", "before": "b"},
			"before"},
		"a marker without mark": {map[string]any{"block": "x", "marker": "# {name}"}, "marker"},
		"a line with an end":    {map[string]any{"line": "x\n"}, "line"},
		"a name with an end":    {map[string]any{"line": "x", "name": "a\nb"}, "name"},
	} {
		t.Run(why, func(t *testing.T) {
			g := newRig(t, Line())
			attrs := map[string]any{"path": "/a", "name": "n"}
			for k, v := range tc.attrs {
				attrs[k] = v
			}
			if _, problems := g.typ.Check(attrs); len(problems) != 1 ||
				problems[0].Attribute != tc.part {
				t.Fatal(problems)
			}
		})
	}
}

// TestLineSaysWhatIsMissing pins that a line that says no more than its names, or what it matches,
// is refused with what to write, and is enough where the line is to be purged.
func TestLineSaysWhatIsMissing(t *testing.T) {
	g := newRig(t, Line())
	for hint, attrs := range map[string]map[string]any{
		"give line or block; purged: true removes the block of this name": {},
		"set line; purged: true removes the lines that match selects":     {"match": "^x"},
	} {
		attrs["path"], attrs["name"] = "/a", "n"
		if _, problems := g.typ.Check(attrs); len(problems) != 1 || problems[0].Hint != hint {
			t.Errorf("%v: %+v", attrs, problems)
		}
		if _, problems := g.typ.CheckPurged(attrs); len(problems) > 0 {
			t.Errorf("%v, purged: %+v", attrs, problems)
		}
	}
}

func TestLineAndItsFile(t *testing.T) {
	g := newRig(t, Line())
	r := g.resource(map[string]any{"path": g.path("a"), "name": "n", "line": "x"})
	g.fails(r, provider.Retryable, "describe it, or set create")
	g.must(g.resource(map[string]any{"path": g.path("a"), "name": "n", "line": "x",
		"create": true}), diff.Created)
	g.has(`a -rw-r--r-- "x\n"`)
	g.do(os.Symlink("a", g.path("link")))
	g.fails(g.resource(map[string]any{"path": g.path("link"), "name": "n", "line": "y"}),
		provider.NeedsChange, "symbolic link")
	g.do(os.Mkdir(g.path("dir"), 0o700))
	g.fails(g.resource(map[string]any{"path": g.path("dir"), "name": "n", "line": "y"}),
		provider.NeedsChange, "a directory")
	g.fails(g.resource(map[string]any{"path": g.path("none/a"), "name": "n", "line": "y",
		"create": true}), provider.Retryable, "directory above it")
	gone := g.resource(map[string]any{"path": g.path("none/a"), "name": "n", "line": "y"})
	gone.Purged = true
	g.must(gone, diff.NoChange)
}

// TestLineBatch changes many lines of a file at once: one read, one write, and one item's trouble
// is no other's.
func TestLineBatch(t *testing.T) {
	reads, writes := 0, 0
	g := newRig(t, withLine(&disk.System{Before: func(call string) error {
		switch call {
		case "open":
			reads++
		case "tmpfile":
			writes++
		}
		return nil
	}}))
	g.write("a", "k1\nk2\n", 0o600)
	h, _ := g.def.Handler.(line)
	var changes []provider.BatchChange
	var batch []provider.BatchRead
	for i := range 50 {
		r := g.resource(map[string]any{"path": g.path("a"), "name": fmt.Sprint(i),
			"line": fmt.Sprint("line ", i)})
		changes = append(changes, provider.BatchChange{Context: g.ctx(), Change: diff.Created,
			Resource: r})
		batch = append(batch,
			provider.BatchRead{Context: g.ctx(), ReadRequest: provider.ReadRequest{Resource: r}})
	}
	changes[7].Resource = g.resource(map[string]any{"path": g.path("a"), "name": "bad", "line": "x",
		"match": "^k"})
	for i, a := range h.ApplyBatch(t.Context(), changes) {
		if (a.Err != nil) != (i == 7) {
			t.Fatalf("change %d: %v", i, a.Err)
		}
	}
	for i, got := range h.ReadBatch(t.Context(), batch) {
		if got.Err != nil || got.Observation.Exists != (i != 7) {
			t.Fatalf("reading %d: %+v", i, got)
		}
	}
	if reads != 2 || writes != 1 {
		t.Fatalf("%d reads, %d writes", reads, writes)
	}
}

// TestEditorsDoNotLoseChanges has many editors, and one that knows nothing of them, at the same
// file.
func TestEditorsDoNotLoseChanges(t *testing.T) {
	dir := memoryDir(t)
	path := filepath.Join(dir, "a")
	host := providertest.NewHost(nil)
	stranger := 0
	e := textfile.Editor{Sys: &disk.System{Before: func(call string) error {
		if call == "fsync" && stranger == 0 { // once, between reading and replacing
			stranger++
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
			if err != nil {
				return err
			}
			_, err = f.WriteString("stranger\n")
			return err
		}
		return nil
	}}}
	add := func(e textfile.Editor, name string) error {
		return e.Edit(host.Context(t.Context(), provider.Options{}), path, textfile.AnyFile(),
			func(t textfile.Text) (textfile.Text, error) {
				return textfile.Text{Exists: true, Bytes: t.Bytes + name + "\n"}, nil
			})
	}
	if err := add(e, "first"); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error)
	const n = 16
	for i := range n {
		go func() { errs <- add(textfile.Editor{}, fmt.Sprint("editor ", i)) }()
	}
	for range n {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if got := strings.Count(string(data), "\n"); err != nil || got != n+2 {
		t.Fatalf("%d lines, %v:\n%s", got, err, data)
	}
}

func TestEditWaitsNoLongerThanItsCaller(t *testing.T) {
	g := newRig(t, Line())
	d, err := disk.OpenFolder(nil, g.dir)
	g.do(err)
	defer d.Close()
	g.do(disk.WaitForLock(t.Context(), d.FD))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = textfile.Editor{}.Edit(g.host.Context(ctx, provider.Options{}), g.path("a"),
		textfile.AnyFile(), func(textfile.Text) (textfile.Text, error) {
			return textfile.Text{Exists: true, Bytes: "x"}, nil
		})
	if err == nil || provider.ClassOf(err) != provider.Retryable {
		t.Fatal(err)
	}
}

func TestEditKeepsExtendedAttributes(t *testing.T) {
	g := newRig(t, Line())
	g.dir = t.TempDir()
	g.write("a", "x\n", 0o600)
	g.do(unix.Setxattr(g.path("a"), "user.note", []byte("kept"), 0))
	g.must(g.resource(map[string]any{"path": g.path("a"), "name": "n", "line": "y"}), diff.Created)
	buf := make([]byte, 16)
	if n, err := unix.Getxattr(g.path("a"), "user.note", buf); err != nil ||
		string(buf[:n]) != "kept" {
		t.Fatal(string(buf), err)
	}
}

// TestEditOfWhatCannotBeReplaced writes in place when the file is a mount point.
// TestWhatCannotBeReplaced changes files that something is mounted on.
func TestWhatCannotBeReplaced(t *testing.T) {
	mounted := &disk.System{Before: func(call string) error {
		if call == "rename" {
			return unix.EBUSY
		}
		return nil
	}}
	g := newRig(t, withLine(mounted))
	g.write("a", "a long line\nb\n", 0o644)
	g.must(g.resource(map[string]any{"path": g.path("a"), "name": "n", "match": "long",
		"line": "l"}), diff.Updated)
	g.has(`a -rw-r--r-- "l\nb\n"`)

	g = newRig(t, withFile(mounted))
	g.write("a", "a long line\nb\n", 0o644)
	uploaded := g.host.AddFile([]byte("uploaded"))
	for want, attrs := range map[string]map[string]any{`-rw-r--r-- "l\n"`: {"content": "l\n"},
		`-rw------- "uploaded"`: {"content": uploaded, "mode": "0600"}} {
		attrs["path"] = g.path("a")
		g.must(g.resource(attrs), diff.Updated)
		g.has("a " + want)
		g.write("a", "spoiled, and longer than it was", 0o644)
	}
}
