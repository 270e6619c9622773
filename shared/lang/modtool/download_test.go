package modtool_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/lang/modtool"
)

// under returns the files of a folder, by their paths.
func under(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[name] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDownload gets sources as their author has them: the best version that is allowed, where the
// project says, and never over what is there.
func TestDownload(t *testing.T) {
	t.Parallel()
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "net", "1.0", "x = 1\n")
	s.add(t, "net", "1.2", "x = 2\n", "inmanta-module-std")
	s.add(t, "net", "2.0.dev1", "")
	s.add(t, "flat", "1.0", "x = 3\n")
	delete(s.wheels, "inmanta_module_flat-1.0.tar.gz") // as most that are published
	s.wheels["inmanta_module_bad-1.0-py3-none-any.whl"] = []byte("no archive")
	dir := tree(t, "main.cf", "import net\n", "project.yml",
		"name: p\nmodulepath: libs\npip: {index-url: '"+serve(t, s, "ann:"+secret+"@")+"'}\n")
	tool, said := newTool(t, dir)
	got, err := tool.Download(context.Background(), "net", modtool.DownloadOptions{})
	if err != nil {
		t.Fatal(everything(err))
	}
	if want := filepath.Join(dir, "libs", "net"); got != want {
		t.Errorf("it is in %s, want %s", got, want)
	}
	files := under(t, got)
	if files["model/_init.cf"] != "entity NET:\nend\n" ||
		files["inmanta_plugins/net/__init__.py"] != "x = 2\n" ||
		!strings.Contains(files["setup.cfg"], "version = 1.2") {
		t.Errorf("got %v", files)
	}
	for name := range files {
		if name == "PKG-INFO" || strings.HasPrefix(name, "inmanta_plugins/net/model") ||
			name == "inmanta_plugins/net/setup.cfg" {
			t.Errorf("%s is left of the build", name)
		}
	}
	if _, err := tool.Build(got,
		modtool.BuildOptions{Output: t.TempDir()}); err != nil {
		t.Errorf("what was downloaded cannot be built: %v", err)
	}
	for _, c := range []struct{ what, requirement, want string }{
		{"it is there", "net", "is there already"},
		{"there is none", "nothing", "no index has it"},
		{"it is damaged", "bad", "it is not a wheel"},
		{"it cannot be a name", "1st", ""},
	} {
		if _, err := tool.Download(context.Background(), c.requirement,
			modtool.DownloadOptions{}); err == nil ||
			!strings.Contains(everything(err), c.want) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	flat, err := tool.Download(context.Background(), "flat", modtool.DownloadOptions{})
	if err != nil {
		t.Fatal(everything(err))
	}
	if files := under(t, flat); len(files) != 4 ||
		files["inmanta_plugins/flat/__init__.py"] != "x = 3\n" ||
		files["model/_init.cf"] == "" || files["setup.cfg"] == "" ||
		files["pyproject.toml"] == "" {
		t.Errorf("from a wheel: %v", files)
	}
	_, err = tool.Download(
		context.Background(),
		"net >5",
		modtool.DownloadOptions{Dir: t.TempDir()},
	)
	if fault.KindOf(err) != fault.NotFound || !strings.Contains(everything(err), "the index has") {
		t.Errorf("none is allowed: %v", err)
	}
	old, err := tool.Download(
		context.Background(),
		"net <1.2",
		modtool.DownloadOptions{Dir: t.TempDir()},
	)
	if err != nil || under(t, old)["inmanta_plugins/net/__init__.py"] != "x = 1\n" {
		t.Errorf("%s: %v", old, err)
	}
	if strings.Contains(said.String(), secret) {
		t.Errorf("the password is shown: %s", said)
	}
	s.wrong = true
	_, err = tool.Download(context.Background(), "net", modtool.DownloadOptions{Dir: t.TempDir()})
	if fault.KindOf(err) != fault.Damaged {
		t.Errorf("a wrong digest: %v", err)
	}
}

// TestDownloadAll gets the sources of what a project imports, installs them in editable form where
// that is asked for, and leaves what is there as it is.
func TestDownloadAll(t *testing.T) {
	t.Parallel()
	s := &shelf{wheels: map[string][]byte{}, json: true}
	s.add(t, "app", "1.0", "", "inmanta-module-net <2")
	s.add(t, "net", "1.0", "")
	s.add(t, "net", "2.0", "")
	dir := tree(t, "main.cf", "import app\nimport net\n", "project.yml",
		"name: p\npip: {index-url: '"+serve(t, s, "ann:"+secret+"@")+"'}\n")
	tool, _ := newTool(t, dir)
	if err := tool.Install(context.Background(), modtool.InstallOptions{}); err != nil {
		t.Fatal(everything(err))
	}
	got, err := tool.DownloadAll(context.Background(), modtool.DownloadOptions{Install: true})
	if err != nil || len(got) != 2 {
		t.Fatalf("%v: %v", got, everything(err))
	}
	if text := under(t, filepath.Join(dir, "libs", "net"))["setup.cfg"]; !strings.Contains(
		text,
		"version = 1.0",
	) {
		t.Errorf("another version than the one that is installed: %s", text)
	}
	all, err := tool.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if !l.Editable {
			t.Errorf("%s is not installed in editable form", l.Name)
		}
	}
	if got, err := tool.DownloadAll(context.Background(), modtool.DownloadOptions{}); err != nil ||
		len(got) != 0 {
		t.Errorf("again: %v, %v", got, err)
	}
}

// TestDownloadHostile refuses archives that lead elsewhere or are not modules, and leaves nothing.
func TestDownloadHostile(t *testing.T) {
	t.Parallel()
	pack := func(headers ...tar.Header) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		archive := tar.NewWriter(z)
		for _, h := range headers {
			h.Mode = 0o644
			if err := archive.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
		}
		if err := archive.Close(); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for what, body := range map[string][]byte{
		"no archive": []byte("text"),
		"cut off": pack(tar.Header{Name: "x-1/inmanta_plugins/x/a",
			Typeflag: tar.TypeReg})[:20],
		"leads out": pack(tar.Header{Name: "x-1/../../a", Typeflag: tar.TypeReg}),
		"absolute":  pack(tar.Header{Name: "x-1//etc/a", Typeflag: tar.TypeReg}),
		"a link":    pack(tar.Header{Name: "x-1/a", Linkname: "/etc", Typeflag: tar.TypeSymlink}),
		"no module": pack(tar.Header{Name: "x-1/setup.cfg", Typeflag: tar.TypeReg}),
		"twice": pack(tar.Header{Name: "x-1/a", Typeflag: tar.TypeReg},
			tar.Header{Name: "x-1/a", Typeflag: tar.TypeReg}),
		"no folder":   pack(tar.Header{Name: "a", Typeflag: tar.TypeReg}),
		"an old file": pack(tar.Header{Name: "x-1/a", Typeflag: tar.TypeChar}),
	} {
		s := &shelf{wheels: map[string][]byte{"inmanta_module_x-1.0.tar.gz": body}}
		dir := tree(
			t,
			"project.yml",
			"name: p\npip: {index-url: '"+serve(t, s, "ann:"+secret+"@")+"'}\n",
		)
		tool, _ := newTool(t, dir)
		if _, err := tool.Download(context.Background(), "x",
			modtool.DownloadOptions{}); err == nil {
			t.Errorf("%s is taken", what)
		}
		if left, _ := os.ReadDir(filepath.Join(dir, "libs")); len(left) > 0 {
			t.Errorf("%s leaves %v", what, left)
		}
	}
}
