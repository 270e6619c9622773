//go:build servers

package packages

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/fault"
)

// index is a package index with wheels and source distributions, by file name.
type index map[string][]byte

// ServeHTTP implements http.Handler, as in PEP 503.
func (x index) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 2 && parts[0] == "simple":
		w.Header().Set("Content-Type", "text/html")
		found := false
		for name, data := range x {
			if normal(strings.Split(name, "-")[0]) == parts[1] {
				found = true
				sum := sha256.Sum256(data)
				fmt.Fprintf(w, "<a href=\"/files/%s#sha256=%s\">%s</a>\n", name,
					hex.EncodeToString(sum[:]), name)
			}
		}
		if !found {
			w.WriteHeader(http.StatusNotFound)
		}
	case len(parts) == 2 && x[parts[1]] != nil:
		_, _ = w.Write(x[parts[1]])
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// wheel adds a wheel with one module.
func (x index) wheel(t *testing.T, name, version, tag, text string) {
	t.Helper()
	info := name + "-" + version + ".dist-info/"
	files := [][2]string{{name + "/__init__.py", text}, {name + "/data.txt", "data"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: " + tag + "\n"},
		{info + "entry_points.txt", "[console_scripts]\n" + name + " = " + name + ":main\n"}}
	record := ""
	for _, f := range files {
		sum := sha256.Sum256([]byte(f[1]))
		record += fmt.Sprintf("%s,sha256=%s,%d\n", f[0],
			base64.RawURLEncoding.EncodeToString(sum[:]), len(f[1]))
	}
	files = append(files, [2]string{info + "RECORD", record + info + "RECORD,,\n"})
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		out, err := w.Create(f[0])
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(out, f[1])
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	x[name+"-"+version+"-"+tag+".whl"] = b.Bytes()
}

// world is an environment, an index and the options of a bundle.
type world struct {
	index index
	o     Options
	t     *testing.T
}

func newWorld(t *testing.T) *world {
	t.Helper()
	uv, err := server.InstallUV(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(uv)+":"+os.Getenv("PATH"))
	_, program, err := server.Environment(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	version, err := exec.Command(program, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").Output()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{index: index{}, t: t}
	s := httptest.NewServer(w.index)
	t.Cleanup(s.Close)
	env := environment(t, map[string]string{})
	if err := os.MkdirAll(filepath.Join(env, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program, filepath.Join(env, "bin", "python")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("UV_DEFAULT_INDEX", s.URL+"/simple")
	t.Setenv("UV_CACHE_DIR", t.TempDir())
	w.o = Options{Env: env, Cache: t.TempDir(),
		Platform: Platform{"x86_64", strings.TrimSpace(string(version))}}
	return w
}

// installs makes the environment name distributions.
func (w *world) installs(pins ...pin) {
	w.t.Helper()
	site := filepath.Join(w.o.Env, "lib", "python3.13", "site-packages")
	_ = os.RemoveAll(site)
	for _, p := range pins {
		dir := filepath.Join(site, p.name+"-"+p.version+".dist-info")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "METADATA"),
			[]byte("Name: "+p.name+"\nVersion: "+p.version+"\n"), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestBuild pins what a bundle has, that equal environments give equal bytes, that an unchanged one
// needs no index, and that other platforms get their own wheels.
func TestBuild(t *testing.T) {
	w := newWorld(t)
	w.index.wheel(t, "pure", "1.0", "py3-none-any", "x = 1\n")
	w.index.wheel(t, "pure", "2.0", "py3-none-any", "x = 2\n")
	cp := "cp" + strings.ReplaceAll(w.o.Platform.Python, ".", "")
	w.index.wheel(t, "native", "1.0", cp+"-"+cp+"-manylinux_2_28_x86_64", "on = 'x86_64'\n")
	w.index.wheel(t, "native", "1.0", cp+"-"+cp+"-manylinux_2_28_aarch64", "on = 'arm64'\n")
	w.installs(pin{"pure", "1.0"}, pin{"native", "1.0"})
	first, err := Build(t.Context(), w.o)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Packages) != 2 || first.Packages[0].Name != "native" || !first.Compiled ||
		first.Packages[0].Bytes == 0 || first.Unpacked == 0 {
		t.Errorf("%+v", first)
	}
	has := contents(t, first.Path)
	if has["native/__init__.py"] != "on = 'x86_64'\n" || has["pure/__init__.py"] != "x = 1\n" {
		t.Errorf("%q", has)
	}
	compiled := false
	for name := range has {
		compiled = compiled || strings.HasPrefix(name, "pure/__pycache__/__init__.cpython-")
		if strings.HasPrefix(name, "bin/") || strings.HasSuffix(name, "/RECORD") {
			t.Errorf("it has %s", name)
		}
	}
	if !compiled {
		t.Errorf("without compiled code: %v", has)
	}
	again := w.o
	again.Cache = t.TempDir()
	if b, err := Build(t.Context(), again); err != nil || b.Hash != first.Hash {
		t.Errorf("made again: %v, %v, want %s", b, err, first.Hash)
	}
	arm := w.o
	arm.Platform.Architecture = "arm64"
	other, err := Build(t.Context(), arm)
	if err != nil || contents(t, other.Path)["native/__init__.py"] != "on = 'arm64'\n" {
		t.Errorf("%v", err)
	}
	w.installs(pin{"pure", "2.0"}, pin{"native", "1.0"})
	if b, err := Build(t.Context(), w.o); err != nil || b.Hash == first.Hash {
		t.Errorf("%v, %v", b, err)
	}
	w.installs(pin{"pure", "1.0"}, pin{"native", "1.0"})
	for name := range w.index { // the index is away
		delete(w.index, name)
	}
	b, err := Build(t.Context(), w.o)
	if err != nil || b.Hash != first.Hash {
		t.Fatalf("%v, %v", b, err)
	}
	if err := os.WriteFile(b.Path, make([]byte, b.Size), 0o600); err != nil { // damaged in the cache
		t.Fatal(err)
	}
	if _, err := Build(t.Context(), w.o); err == nil {
		t.Error("a damaged bundle was taken from the cache")
	}
}

// TestBuildPure pins that a package which the index has as source only comes from the environment,
// with a lock and without, unless it is changed or has compiled parts.
func TestBuildPure(t *testing.T) {
	w := newWorld(t)
	w.index.wheel(t, "pure", "1.0", "py3-none-any", "x = 1\n")
	w.index["built-1.0.tar.gz"] = []byte("x")
	w.installs(pin{"pure", "1.0"}, pin{"built", "1.0"})
	site := filepath.Join(w.o.Env, "lib", "python3.13", "site-packages")
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(site, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sum := sha256.Sum256([]byte("y = 1\n"))
	write("built/__init__.py", "y = 1\n")
	write("built-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
	write("built-1.0.dist-info/RECORD", "built/__init__.py,sha256="+
		base64.RawURLEncoding.EncodeToString(sum[:])+",6\nbuilt-1.0.dist-info/WHEEL,,\n../../../bin/b,,\n")
	for _, lock := range []string{"", "pure==1.0 \\\n    --hash=sha256:" + digest(w.index["pure-1.0-py3-none-any.whl"]) +
		"\nbuilt==1.0 \\\n    --hash=sha256:" + digest([]byte("x")) + "\n"} {
		o := w.o
		if lock != "" {
			o.Lock = filepath.Join(t.TempDir(), LockName)
			if err := os.WriteFile(o.Lock, []byte(lock), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		b, err := Build(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		has := contents(t, b.Path)
		if has["built/__init__.py"] != "y = 1\n" || has["pure/__init__.py"] != "x = 1\n" ||
			!strings.Contains(has["built-1.0.dist-info/METADATA"], "Name: built\n") || len(b.Packages) != 2 {
			t.Errorf("%q, %+v", has, b)
		}
	}
	for _, test := range [][3]string{
		{"built/__init__.py", "y = 2\n", "built/__init__.py was changed after its installation"},
		{"built-1.0.dist-info/WHEEL", "Tag: cp313-cp313-linux_x86_64\n", "package built 1.0"},
	} {
		write(test[0], test[1])
		o := w.o
		o.Cache = t.TempDir()
		if _, err := Build(t.Context(), o); err == nil || !strings.Contains(err.Error(), test[2]) {
			t.Errorf("%v, want %q", err, test[2])
		}
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// TestBuildRefuses pins that errors name the package, and what to do.
func TestBuildRefuses(t *testing.T) {
	w := newWorld(t)
	w.index.wheel(t, "pure", "1.0", "py3-none-any", strings.Repeat("# long\n", 10000))
	w.index.wheel(t, "mac", "1.0", "py3-none-macosx_11_0_arm64", "")
	w.index["source-1.0.tar.gz"] = []byte("x")
	lock := filepath.Join(t.TempDir(), LockName)
	if err := os.WriteFile(lock, []byte("pure==1.0 --hash=sha256:"+strings.Repeat("0", 64)+"\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		pins   []pin
		change func(o *Options)
		want   []string
	}{
		{"a wheel for another platform only", []pin{{"pure", "1.0"}, {"mac", "1.0"}}, nil,
			[]string{"no wheel for Python", "linux x86_64", "package mac 1.0", "agent run"}},
		{"a source distribution only", []pin{{"pure", "1.0"}, {"source", "1.0"}}, nil,
			[]string{"no wheel for Python", "package source 1.0"}},
		{"too large", []pin{{"pure", "1.0"}}, func(o *Options) { o.Limit = 50_000 },
			[]string{"the largest are pure 1.0", "PythonStorage"}},
		{"a hash that does not fit", nil, func(o *Options) { o.Lock = lock },
			[]string{"uv: ", "pure"}},
		{"a processor that does not exist", nil, func(o *Options) { o.Platform.Architecture = "arm" },
			[]string{`no architecture "arm"`, "arm64 or x86_64"}},
		{"an old Python", nil, func(o *Options) { o.Platform.Python = "3.6" }, []string{"3.6"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.installs(test.pins...)
			o := w.o
			if test.change != nil {
				test.change(&o)
			}
			b, err := Build(t.Context(), o)
			if err == nil {
				t.Fatalf("%+v", b)
			}
			text := err.Error() + " " + fault.HintOf(err)
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s\nlacks %q", text, want)
				}
			}
			if strings.Contains(text, "package pure") && test.name != "too large" {
				t.Errorf("it names another package: %s", text)
			}
		})
	}
}

// contents returns the files of a zip.
func contents(t *testing.T, path string) map[string]string {
	t.Helper()
	r, err := openZip(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	out := map[string]string{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(in)
		_ = in.Close()
		out[f.Name] = string(text)
	}
	return out
}
