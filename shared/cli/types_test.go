package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/examples/keys/handlers/keys"
	"southbound/handlers"
	"southbound/shared/cli/home"
	"southbound/shared/internal/typefile"
	"southbound/shared/schema"
)

func registryOf(t *testing.T) *schema.Registry {
	t.Helper()
	r, err := (&home.Program{Definitions: handlers.All()}).Registry(".")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTypeShowsTheTransport pins that the options of a transport that a pack brings are shown with
// the types that are reached over it.
func TestTypeShowsTheTransport(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code := Main(append(handlers.All(), keys.Entry()), []string{"type", "keys::Entry"},
		strings.NewReader(""), &out, io.Discard)
	want := []string{"Options of agents with the transport keys"}
	for _, o := range keys.Entry().Transport.Options {
		want = append(want, "\n  "+o.Name+"  "+o.Type)
	}
	for _, w := range want {
		if code != 0 || len(want) < 3 || !strings.Contains(out.String(), w) {
			t.Errorf("%d: there is no %q in\n%s", code, w, out.String())
		}
	}
}

// TestTypePagesAreFresh fails when a declaration has changed and docs/types has not.
func TestTypePagesAreFresh(t *testing.T) {
	t.Parallel()
	want := typefile.Pages(registryOf(t))
	got := map[string]string{}
	files, err := filepath.Glob("../../docs/types/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		got[filepath.Base(f)] = string(text)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("docs/types is stale; run `make docs`\n%s", d)
	}
}

// TestTypesAreWellDeclared allows nothing doubtful in the types of this program, and takes each
// through data and back.
func TestTypesAreWellDeclared(t *testing.T) {
	t.Parallel()
	r := registryOf(t)
	if doubtful := r.Doubtful(); len(doubtful) > 0 {
		t.Error(strings.Join(doubtful, "\n"))
	}
	for _, name := range r.Names() {
		c, _ := r.Type(name)
		for format, write := range map[string]func(*schema.Type) ([]byte, error){
			"yaml": typefile.YAML, "json": typefile.JSON} {
			text, err := write(&c.Type)
			if err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
				continue
			}
			again := typefile.One(name, text)
			if _, err := schema.NewRegistry(again); err != nil {
				t.Errorf("%s as %s: %v", name, format, err)
			}
			if second, err := write(&again); err != nil || !bytes.Equal(text, second) {
				t.Errorf("%s as %s comes back as something else, %v: %s", name, format, err,
					cmp.Diff(string(text), string(second)))
			}
		}
	}
}

// TestWritePages removes pages of types that are gone, and nothing else.
func TestWritePages(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "types")
	run := func() {
		t.Helper()
		var errs bytes.Buffer
		if code := Main(handlers.All(), []string{"types", "--markdown", dir}, strings.NewReader(""),
			io.Discard, &errs); code != 0 {
			t.Fatalf("exit code %d: %s", code, errs.String())
		}
	}
	run()
	for name, text := range map[string]string{"gone-Type.md": typefile.Generated +
		"\n# gone::Type\n", "mine.md": "# mine\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if _, err := os.Stat(filepath.Join(dir, "gone-Type.md")); err == nil {
		t.Error("the page of a type that is gone is there")
	}
	for _, name := range []string{"mine.md", "fs-File.md", "README.md"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}
