package bundle

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/fault"
	"southbound/shared/lang/project"
)

// files makes files in a folder, by their names. A text that begins with -> makes a link.
func files(t *testing.T, dir string, texts map[string]string) string {
	t.Helper()
	for name, text := range texts {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		var err error
		if target, ok := strings.CutPrefix(text, "->"); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// model returns what is packed of a folder.
func model(t *testing.T, main string) Model {
	t.Helper()
	p, err := project.Load(main, project.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return Model{Main: p.Main, Modules: p.Modules}
}

func packed(t *testing.T, m Model) *Packed {
	t.Helper()
	p, err := Pack(m)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func names(t *testing.T, p *Packed) []string {
	t.Helper()
	var out []string
	in := tar.NewReader(bytes.NewReader(p.Data))
	for h, err := in.Next(); err == nil; h, err = in.Next() {
		out = append(out, h.Name)
	}
	return out
}

const projectYML = "name: shop\nmodulepath: [libs, ../more]\n"

// plain is a project without Python code.
func plain(t *testing.T, dir string) string {
	t.Helper()
	return files(t, dir, map[string]string{
		"shop/main.cf": "import a\nimport b\n", "shop/project.yml": projectYML,
		"shop/libs/a/model/_init.cf": "", "shop/libs/a/templates/t.j2": "t",
		"shop/libs/a/.git/config": "hidden", "shop/libs/unused/model/_init.cf": "",
		"more/b/model/_init.cf": "", "shop/templates/page.j2": "page", "shop/huge.iso": "much",
		"shop/files/cycle": "->.", "shop/files/gone": "->nowhere", "shop/files/x": "->../huge.iso",
		"shop/data/std/passwordfile.txt": "secret=word",
	})
}

// TestPack packs what a compile reads, and no more, the same way each time.
func TestPack(t *testing.T) {
	t.Parallel()
	dir := plain(t, t.TempDir())
	p := packed(t, model(t, filepath.Join(dir, "shop")))
	want := []string{
		"bundle.json", "modules/b/model/_init.cf", "project/files/x",
		"project/libs/a/model/_init.cf", "project/libs/a/templates/t.j2", "project/main.cf",
		"project/project.yml", "project/templates/page.j2",
	}
	if d := cmp.Diff(want, names(t, p)); d != "" {
		t.Error(d)
	}
	if again := packed(t, model(t, filepath.Join(dir, "shop"))); again.Digest != p.Digest {
		t.Error("the same files give another bundle")
	}
	if bytes.Contains(p.Data, []byte("secret=word")) {
		t.Error("a password travels")
	}
	files(t, dir, map[string]string{"shop/templates/page.j2": "another"})
	if p.Digest == packed(t, model(t, filepath.Join(dir, "shop"))).Digest {
		t.Error("other files give the same bundle")
	}
}

// TestPackCode packs all of a project that has Python code, which may read anything.
func TestPackCode(t *testing.T) {
	t.Parallel()
	dir := files(t, t.TempDir(), map[string]string{
		"main.cf": "import a\n", "prices.csv": "1", "libs/a/model/_init.cf": "",
		"libs/a/plugins/__init__.py": "x = 1\n", "libs/a/plugins/__pycache__/x.pyc": "c",
		".env/bin/python": "", "state/southbound.db": "db",
	})
	m := model(t, dir)
	m.Env, m.Skip = filepath.Join(dir, ".env"), []string{filepath.Join(dir, "state")}
	p := packed(t, m)
	want := []string{
		"bundle.json", "project/libs/a/model/_init.cf", "project/libs/a/plugins/__init__.py",
		"project/main.cf", "project/prices.csv",
	}
	if d := cmp.Diff(want, names(t, p)); d != "" {
		t.Error(d)
	}
	o, err := Unpack(p.Data, filepath.Join(t.TempDir(), "m"), filepath.Join(t.TempDir(), "data"))
	if err != nil || o.Env != m.Env {
		t.Errorf("the environment is %s: %v", o.Env, err)
	}
}

// TestUnpack finds a model again that can be compiled, with the data of its project.
// TestPackFiles holds that named files are packed once, also hidden ones and where the whole folder is
// packed, and that a missing one is an error.
func TestPackFiles(t *testing.T) {
	t.Parallel()
	dir := files(t, t.TempDir(), map[string]string{
		"main.cf": "x = 1\n", "southbound.lock": "l", ".southbound/types/demo": "d", "other": "o",
	})
	m := model(t, dir)
	m.Files = []string{".southbound/types/demo", "southbound.lock"}
	p := packed(t, m)
	if diff := cmp.Diff([]string{"bundle.json", "project/.southbound/types/demo", "project/main.cf",
		"project/southbound.lock"}, names(t, p)); diff != "" {
		t.Error(diff)
	}
	at := filepath.Join(t.TempDir(), "m")
	if _, err := Unpack(p.Data, at, filepath.Join(t.TempDir(), "data")); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(at, "project", ".southbound", "types", "demo")); err != nil ||
		string(b) != "d" {
		t.Errorf("%q, %v", b, err)
	}
	m.Files = []string{"missing"}
	if _, err := Pack(m); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	dir := plain(t, t.TempDir())
	p := packed(t, model(t, filepath.Join(dir, "shop")))
	to := filepath.Join(t.TempDir(), "models", p.Digest)
	for range 2 { // the second time it is there
		o, err := Unpack(p.Data, to, filepath.Join(t.TempDir(), "data"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := project.Load(o.Main, project.Options{Beside: o.Beside})
		if err != nil || len(got.Modules) != 2 {
			t.Fatalf("%+v: %v", got, err)
		}
		word, err := os.ReadFile(filepath.Join(got.Dir, "data/std/passwordfile.txt"))
		if err != nil || string(word) != "secret=word" {
			t.Errorf("%s: %v", word, err)
		}
		const file = "libs/a/model/_init.cf"
		if at := o.Shown(filepath.Join(got.Dir, file)); at != file {
			t.Error(at)
		}
		made := "made at " + filepath.Join(got.Dir, "main.cf") + ":2"
		if text := o.Text(made); text != "made at main.cf:2" {
			t.Error(text)
		}
	}
}

// TestUnpackData gives a model without data a folder that stays when the next one is unpacked; also
// one whose project has data elsewhere, as it was uploaded, or is not there any more.
func TestUnpackData(t *testing.T) {
	t.Parallel()
	away := files(t, t.TempDir(), map[string]string{"main.cf": "", "data/kept": "theirs"})
	for _, p := range []*Packed{
		packed(t, model(t, files(t, t.TempDir(), map[string]string{"main.cf": ""}))),
		packed(t, model(t, away)),
	} {
		if err := os.RemoveAll(filepath.Join(away, "data")); err != nil {
			t.Fatal(err)
		}
		at := t.TempDir()
		o, err := Unpack(p.Data, filepath.Join(at, "m"), filepath.Join(at, "data"))
		if err != nil {
			t.Fatal(err)
		}
		files(t, filepath.Dir(o.Main), map[string]string{"data/kept": "word"})
		if _, err := os.Stat(filepath.Join(at, "data/kept")); err != nil {
			t.Error(err)
		}
	}
}

// TestBad refuses what is too large, and what is not a bundle.
func TestBad(t *testing.T) {
	t.Parallel()
	// As many files as there may be, and main.cf: links to one folder, whose files travel with each.
	const links, each = 80, 125
	if links*each != MaxFiles {
		t.Fatal("links are for another bound")
	}
	many, linked := map[string]string{}, map[string]string{"main.cf": ""}
	for n := range each {
		many[fmt.Sprint(n)] = ""
	}
	folder := files(t, t.TempDir(), many)
	for n := range links {
		linked[fmt.Sprintf("files/%d", n)] = "->" + folder
	}
	_, err := Pack(model(t, files(t, t.TempDir(), linked)))
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "10000 files") {
		t.Error(err)
	}
	dir := files(t, t.TempDir(), map[string]string{"main.cf": "", "files/large": ""})
	if err := os.Truncate(filepath.Join(dir, "files/large"), MaxBytes+1); err != nil {
		t.Fatal(err)
	}
	_, err = Pack(model(t, dir))
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "64 MiB") {
		t.Error(err)
	}
	_, err = Unpack([]byte(strings.Repeat("x", 600)), filepath.Join(t.TempDir(), "m"), t.TempDir())
	if fault.KindOf(err) != fault.Damaged {
		t.Error(err)
	}
	var later bytes.Buffer
	w := tar.NewWriter(&later)
	if err := put(w, manifestFile, []byte(`{"format":9}`)); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	for _, packed := range [][]byte{nil, later.Bytes()} {
		_, err = Unpack(packed, filepath.Join(t.TempDir(), "m"), t.TempDir())
		if fault.KindOf(err) != fault.Damaged {
			t.Error(err)
		}
	}
}

// TestUnpackInside holds that nothing is written outside of the folder.
func TestUnpackInside(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := put(w, "../escaped", []byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	at := t.TempDir()
	if _, err := Unpack(out.Bytes(), filepath.Join(at, "m"), filepath.Join(at, "d")); err == nil {
		t.Error("it is taken")
	}
	if _, err := os.Stat(filepath.Join(at, "escaped")); err == nil {
		t.Error("it is written outside")
	}
}

// TestCheck holds that what is packed passes, and that what could not be unpacked is said to be
// broken before it is stored as a model.
func TestCheck(t *testing.T) {
	t.Parallel()
	whole := packed(t, model(t, filepath.Join(plain(t, t.TempDir()), "shop"))).Data
	if err := Check(bytes.NewReader(whole)); err != nil {
		t.Error(err)
	}
	archive := func(texts ...string) []byte {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for i := 0; i < len(texts); i += 2 {
			if err := put(w, texts[i], []byte(texts[i+1])); err != nil {
				t.Fatal(err)
			}
		}
		_ = w.Close()
		return out.Bytes()
	}
	const says = `{"format":1,"main":"main.cf"}`
	for _, c := range []struct {
		reason, want string
		data         []byte
	}{
		{"empty", "it has no bundle.json", nil},
		{"something else", "not a model", []byte(strings.Repeat("x", 600))},
		{"cut off", "not a model", whole[:700]},
		{"no manifest", "it has no bundle.json", archive("project/main.cf", "")},
		{"a later one", "is not one that this program knows",
			archive(manifestFile, `{"format":9}`)},
		{"no main file", "is not there", archive(manifestFile, says)},
		{"a way out", "leads out", archive(manifestFile, says, "../x", "")},
		{"large manifest", "larger than",
			archive(manifestFile, strings.Repeat(" ", maxManifest+1))},
	} {
		err := Check(bytes.NewReader(c.data))
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
	large := &bytes.Buffer{}
	w := tar.NewWriter(large)
	_ = w.WriteHeader(&tar.Header{Name: "project/x", Size: MaxBytes + 1, Typeflag: tar.TypeReg})
	in := &counted{Reader: io.MultiReader(large, zeros{})}
	err := Check(in)
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "64 MiB") ||
		in.n > 4096 {
		t.Errorf("after %d bytes: %v", in.n, err)
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// zeros has no end.
type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(b []byte) (int, error) { return len(b), nil }
