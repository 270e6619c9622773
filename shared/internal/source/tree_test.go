package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/fault"
)

// doc is a document of one resource.
func doc(name string) string {
	return "southbound: 1\nresources: [{type: std::Null, agent: a, attributes: {name: " + name +
		"}}]\n"
}

// TestDirectory pins which files of a directory are documents, and their order.
func TestDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"b.yaml": doc("b"), "a.yml": doc("a"), "sub/z.yaml": doc("sub-z"),
		"sub/deep/y.yaml": doc("deep"), "c.yaml/d.yaml": doc("in a directory with an extension"),
		"a.json":    `{"southbound": 1, "resources": [{"type": "std::Null", "agent": "a", "attributes": {"name": "json"}}]}`,
		"notes.txt": "not: [read", "README.md": "# not read", "x.yaml.bak": "not: [read",
		"X.YAML":       "not: [read",
		".hidden.yaml": "not: [read", "_draft.yaml": "not: [read", ".git/a.yaml": "not: [read",
		"_old/a.yaml": "not: [read", "sub/_x.yaml": "not: [read",
		"southbound.yaml": "environment: prod\n", "sub/southbound.yaml": "not: [read",
	} {
		write(t, filepath.Join(dir, name), text)
	}
	outside := t.TempDir()
	write(t, filepath.Join(outside, "o.yaml"), "not: [read")
	for link, to := range map[string]string{"link.yaml": "b2", "dir-link": outside,
		"sub/up.yaml": "../b2"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "b2"), doc("linked"))
	m, in, err := Load(context.Background(), Options{Path: dir, Types: testTypes(t)})
	if err != nil {
		t.Fatal(err)
	}
	var names, files []string
	for i, r := range m.Resources {
		names = append(names, fmt.Sprintf("%s %v", strings.TrimPrefix(m.Where(i, "").File, dir+"/"),
			r.Attributes["name"]))
	}
	want := []string{"a.json json", "a.yml a", "b.yaml b",
		"c.yaml/d.yaml in a directory with an extension", "link.yaml linked",
		"sub/deep/y.yaml deep",
		"sub/up.yaml linked", "sub/z.yaml sub-z"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, d := range in.Documents {
		files = append(files, d.Path)
	}
	if diff := cmp.Diff([]string{"a.json", "a.yml", "b.yaml", "c.yaml/d.yaml", "link.yaml",
		"sub/deep/y.yaml", "sub/up.yaml", "sub/z.yaml"}, files); diff != "" {
		t.Errorf("inputs (-want +got):\n%s", diff)
	}
}

// TestPaths pins what is said of paths that cannot be read.
func TestPaths(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "docs", "a.yaml"), doc("x"))
	write(t, filepath.Join(dir, "empty", "notes.txt"), "")
	write(t, filepath.Join(dir, "outside.yaml"), doc("x"))
	for name, to := range map[string]string{"leads/out.yaml": "../outside.yaml",
		"leads/abs.yaml": filepath.Join(dir, "outside.yaml"), "leads/gone.yaml": "nothing",
		"leads/loop.yaml": "loop.yaml"} {
		_ = os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700)
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "leads", "pipe.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, path string
		want      []string // of a fault: text | hint; of problems: text | hint each
	}{
		{"nothing there", "gone",
			[]string{"read $DIR/gone: no such file or directory | name a file, a directory or - " +
				"for standard input"}},
		{"below a file", "outside.yaml/x",
			[]string{"read $DIR/outside.yaml/x: not a directory | name a file, a directory or - " +
				"for standard input"}},
		{"no documents", "empty",
			[]string{"read documents: there is no *.yaml, *.yml or *.json under $DIR/empty | " +
				"name a file or a directory with resource documents"}},
		{"files that cannot be read, each", "leads", []string{
			"$DIR/leads/abs.yaml:1:1: the document cannot be read: it leads out of the directory " +
				"that is exported | a link must be relative and stay in the directory",
			"$DIR/leads/gone.yaml:1:1: the document cannot be read: no such file or directory | " +
				"it must be a file that can be read, or have a name that starts with _",
			"$DIR/leads/loop.yaml:1:1: the document cannot be read: too many levels of symbolic " +
				"links | it must be a file that can be read, or have a name that starts with _",
			"$DIR/leads/out.yaml:1:1: the document cannot be read: it leads out of the directory " +
				"that is exported | a link must be relative and stay in the directory",
			"$DIR/leads/pipe.yaml:1:1: the document cannot be read: it is not a regular file | " +
				"it must be a file that can be read, or have a name that starts with _",
		}},
	} {
		_, _, err := Load(context.Background(),
			Options{Path: filepath.Join(dir, c.path), Types: testTypes(t)})
		var got []string
		var problems diag.Problems
		if errors.As(err, &problems) {
			for _, p := range problems {
				got = append(got, p.String()+" | "+p.Hint)
			}
		} else if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Errorf("%s: kind %q", c.why, fault.KindOf(err))
			}
			got = append(got, err.Error()+" | "+fault.HintOf(err))
		}
		for i := range got {
			got[i] = strings.ReplaceAll(got[i], dir, "$DIR")
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
	}
}

// endless gives zeros for ever.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

// TestBounds reads what is too large, deep or long in little time of the processor, and in little
// memory.
func TestBounds(t *testing.T) {
	if testing.Short() {
		return
	}
	dir := t.TempDir()
	large := filepath.Join(dir, "large.yaml")
	write(t, large, "")
	if err := os.Truncate(large, maxDocument+1); err != nil {
		t.Fatal(err)
	}
	file := func(name, text string) Options {
		write(t, filepath.Join(dir, name), text)
		return Options{Path: filepath.Join(dir, name)}
	}
	for _, c := range []struct {
		why  string
		opts Options
		want string // "" when it is read
	}{
		{"a file that is too large is not read at all", Options{Path: large},
			"it is larger than 100 MiB"},
		{"standard input without end", Options{Path: "-", Stdin: endless{}},
			"it is larger than 100 MiB"},
		{"standard input that breaks", Options{Path: "-", Stdin: broken{}}, "the pipe is broken"},
		{"a device given by name", Options{Path: "/dev/zero"}, "it is larger than 100 MiB"},
		{"a long line of text", file("text.yaml",
			head+"  - {type: std::Null, attributes: {name: x, a: \""+strings.Repeat("x", 2<<20)+
				"\"}}\n"), ""},
		{"a long line of resources", file("line.yaml",
			"southbound: 1\nresources: ["+
				strings.Repeat("{type: std::Null, agent: a, attributes: {name: x}}, ", 5_000)+
				"]\n"), ""},
		{"a long number", file("number.yaml",
			head+"  - {type: std::Null, attributes: {name: x, a: "+strings.Repeat("7", 1<<20)+
				"}}\n"), "the number is too long"},
		{"a long name", file("name.yaml", "southbound: 1\n"+strings.Repeat("k", 1<<20)+": 1\n"),
			`unknown member "kkkk`},
		{"many open brackets", file("open.yaml", head+"  - "+strings.Repeat("[", 50_000)),
			"exceeded max depth"},
		{"many open brackets in JSON",
			file("open.json", `{"southbound": 1, "resources": `+strings.Repeat("[", 1<<20)),
			"nested too deeply"},
		{"many open maps in JSON", file("maps.json", strings.Repeat(`{"a":`, 1<<20)),
			"nested too deeply"},
		{"much nested by indentation", file("indent.yaml", indented(1000)),
			"nested deeper than 100"},
		{"many names twice", file("twice.yaml",
			head+"  - type: std::Null\n    attributes:\n      name: x\n      a:\n"+
				strings.Repeat("        k: 1\n", 20_000)), `"k" is there twice`},
		{"many names", file("names.yaml",
			head+"  - type: std::Null\n    attributes:\n      name: x\n      a:\n"+
				numbered("        k%d: 1\n", 20_000)), ""},
		{"many aliases", file("aliases.yaml",
			head+"  - {type: std::Null, attributes: {name: x, a: &a ["+strings.Repeat("x,", 20_000)+
				"], b: ["+strings.Repeat("*a,", 20_000)+"]}}\n"),
			"the aliases up to this one stand for more than"},
		{"many directives and comments",
			file("comments.yaml", strings.Repeat("# hi\n", 100_000)+
				"southbound: 1\nresources: []\n"), ""},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := busy(t)
		c.opts.Types = testTypes(t)
		_, _, err := Load(context.Background(), c.opts)
		took := busy(t) - began
		runtime.ReadMemStats(&after)
		if took > 20*time.Second {
			t.Errorf("%s: it takes %v", c.why, took)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Errorf("%s: it takes %d MB", c.why, used>>20)
		}
		var problems diag.Problems
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.why, err)
		case c.want != "" && (!errors.As(err, &problems) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %.300v, want %s", c.why, err, c.want)
		}
		for _, p := range problems {
			if len(p.String()) > 600 || p.Hint == "" {
				t.Errorf("%s: a message of %d bytes with the hint %q", c.why, len(p.String()),
					p.Hint)
			}
		}
	}
}

// busy returns the time that the processor has had for this process.
func busy(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func indented(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestCancel ends a reading early.
func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := Load(ctx, Options{Path: "-", Stdin: strings.NewReader(`{"southbound": 1}`),
		Types: testTypes(t)})
	if !fault.Is(err, fault.Canceled) {
		t.Errorf("got %v, want it canceled", err)
	}
}

// TestChangedFile pins that a file which is not what was hashed is named when it is read to be
// stored.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, want string
		change    func(path string) error
	}{
		{"other bytes", "has changed since its hash was taken", func(path string) error {
			return errors.Join(os.WriteFile(path, []byte(strings.Repeat("y", keepFile+1)), 0o600),
				os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)))
		}},
		{"fewer bytes", "has changed since its hash was taken",
			func(path string) error { return os.Truncate(path, keepFile) }},
		{"gone", "can no longer be read: no such file", os.Remove},
	} {
		dir := t.TempDir()
		large := filepath.Join(dir, "large")
		write(t, large, strings.Repeat("x", keepFile+1))
		write(t, filepath.Join(dir, "a.yaml"),
			"southbound: 1\nresources: [{type: fs::File, agent: a, attributes: {path: /x, "+
				"content: {file: large}}}]\n")
		m, _, err := Load(t.Context(), Options{Path: dir, Types: testTypes(t)})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.change(large); err != nil {
			t.Fatal(err)
		}
		for _, blob := range m.Files {
			r, err := blob.Open()
			if err == nil {
				_, err = io.Copy(io.Discard, r)
				_ = r.Close()
			}
			if !fault.Is(err, fault.Invalid) ||
				!strings.Contains(err.Error(), "the file "+large+" "+c.want) ||
				fault.HintOf(err) == "" {
				t.Errorf("%s: %v", c.why, err)
			}
		}
	}
}

// TestFingerprint holds the fingerprint of inputs: it changes with every byte and every file, and
// with nothing else.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := func(name, text string) { write(t, filepath.Join(dir, name), text) }
	file("a.yaml",
		"southbound: 1\nresources: [{type: fs::File, agent: a, attributes: {path: /x, content: "+
			"{file: f}}}]\n")
	file("f", "one")
	file("large", strings.Repeat("x", keepFile+1))
	file("b.yaml",
		"southbound: 1\nresources: [{type: fs::File, agent: a, attributes: {path: /y, content: "+
			"{file: large}}}]\n")
	opts := Options{Path: dir, Types: testTypes(t)}
	m, in, err := Load(context.Background(), opts)
	if err != nil {
		t.Fatal(err)
	}
	for hash, blob := range m.Files {
		var r io.ReadCloser = io.NopCloser(strings.NewReader(string(blob.Data)))
		if blob.Data == nil {
			if r, err = blob.Open(); err != nil {
				t.Fatal(err)
			}
		}
		content, err := io.ReadAll(r)
		if err != nil || sumOf(content) != hash || int64(len(content)) != blob.Size {
			t.Errorf("file %s: %d bytes, %v", hash, len(content), err)
		}
		_ = r.Close()
	}
	if sum, ok := fingerprintOf(in, opts); !ok || sum != m.Fingerprint {
		t.Errorf("nothing has changed, and the fingerprint is %q, %v; want %q", sum, ok,
			m.Fingerprint)
	}
	for _, c := range []struct {
		why    string
		change func()
		undo   func()
	}{
		{"a byte of a document", func() {
			file("a.yaml",
				"southbound: 1\nresources: [{type: fs::File, agent: b, attributes: {path: /x, "+
					"content: {file: f}}}]\n")
		},
			func() {
				file("a.yaml",
					"southbound: 1\nresources: [{type: fs::File, agent: a, attributes: {path: "+
						"/x, content: {file: f}}}]\n")
			}},
		{"a byte of a file", func() { file("f", "two") }, func() { file("f", "one") }},
		{"the size of a file", func() { file("f", "three") }, func() { file("f", "one") }},
		{"a new document", func() { file("c.yaml", doc("c")) },
			func() { _ = os.Remove(filepath.Join(dir, "c.yaml")) }},
		{"a document gone", func() { _ = os.Remove(filepath.Join(dir, "b.yaml")) },
			func() {
				file("b.yaml",
					"southbound: 1\nresources: [{type: fs::File, agent: a, attributes: {path: "+
						"/y, content: {file: large}}}]\n")
			}},
		{"a file gone", func() { _ = os.Remove(filepath.Join(dir, "f")) },
			func() { file("f", "one") }},
	} {
		c.change()
		if sum, ok := fingerprintOf(in, opts); ok && sum == m.Fingerprint {
			t.Errorf("%s has changed, and the fingerprint has not", c.why)
		}
		c.undo()
		if sum, ok := fingerprintOf(in, opts); !ok || sum != m.Fingerprint {
			t.Errorf("%s is as it was, and the fingerprint is not", c.why)
		}
	}
	if _, ok := fingerprintOf(in, Options{Path: "-"}); ok {
		t.Error("standard input has a fingerprint")
	}
	if _, ok := fingerprintOf(in, Options{Path: filepath.Join(dir, "gone")}); ok {
		t.Error("a path that is not there has a fingerprint")
	}
}

// TestPipe reads a pipe once: what it holds is gone then.
func TestPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	opts := Options{Path: pipe, Types: testTypes(t)}
	send := func(text string) chan error {
		done := make(chan error)
		go func() { done <- os.WriteFile(pipe, []byte(text), 0o600) }()
		return done
	}
	sent := send(doc("x"))
	m, in, err := Load(context.Background(), opts)
	if err != nil || len(m.Resources) != 1 {
		t.Fatal(err)
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if _, ok := fingerprintOf(in, opts); ok { // would wait for somebody to write
		t.Error("a pipe has a fingerprint")
	}
}

// fingerprintOf returns the fingerprint of what is there now, if Changes tells it.
func fingerprintOf(in Inputs, opts Options) (string, bool) {
	c, ok := in.Changes(context.Background(), opts)
	return c.Fingerprint, ok
}
