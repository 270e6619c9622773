//go:build servers

package pysource_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/lang/pysource"
)

// TestDataclassesAsPythonReadsThem holds that the dataclasses of the files of published packages
// are those that Python's own parser sees.
func TestDataclassesAsPythonReadsThem(t *testing.T) {
	t.Parallel()
	env, err := server.InstallModules(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	err = filepath.WalkDir(env, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "dataclass") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	python := exec.CommandContext(t.Context(), filepath.Join(env, "bin", "python"),
		"testdata/dataclasses.py")
	python.Stdin = strings.NewReader(strings.Join(paths, "\n"))
	said, err := python.Output()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, line := range strings.Split(strings.TrimSpace(string(said)), "\n") {
		var path string
		var want [][3]any
		if err := json.Unmarshal([]byte(line), &[]any{&path, &want}); err != nil {
			t.Fatal(err)
		}
		n += sameClasses(t, path, want)
	}
	if n < 100 {
		t.Errorf("only %d dataclasses in %d files", n, len(paths))
	}
}

// sameClasses compares the dataclasses of a file, and returns how many there are. Classes that only
// may be one are none for Python's parser.
func sameClasses(t *testing.T, path string, want [][3]any) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	got := pysource.Read(string(text)).Classes
	for _, w := range want {
		i := slices.IndexFunc(got, func(c pysource.Class) bool { return c.Name == w[0] })
		if i < 0 {
			t.Errorf("%s: %v is not seen", path, w)
			continue
		}
		c := got[i]
		got = slices.Delete(got, i, i+1)
		fields := []any{}
		for _, f := range c.Fields {
			fields = append(fields, f.Name)
		}
		known, sure := w[1].([]any)
		if c.Sure && c.Frozen != w[2] || c.Sure != sure || sure && !slices.Equal(fields, known) {
			t.Errorf("%s: it is %+v, and should be %v", path, c, w)
		}
	}
	for _, c := range got {
		if c.Sure {
			t.Errorf("%s: %+v is none", path, c)
		}
	}
	return len(want)
}
