package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"southbound/handlers"
)

var (
	testFence   = regexp.MustCompile("(?ms)^```(\\w+) (\\S+)\n(.*?)^```$")
	testConsole = regexp.MustCompile("(?ms)^```console\n\\$ southbound module test\n(.*?)^```$")
	testTime    = regexp.MustCompile(`\(\d+\.\d s\)`)
)

// pageModule writes the module that a page of docs/language shows, and makes its folder the working
// directory.
func pageModule(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/language", page))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, m := range testFence.FindAllStringSubmatch(string(text), -1) {
		if err := os.MkdirAll(filepath.Dir(m[2]), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m[2], []byte(m[3]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return string(text)
}

// TestTestingPage runs the tests of the module that docs/language/testing.md shows.
func TestTestingPage(t *testing.T) {
	text := pageModule(t, "testing.md")
	t.Setenv("VIRTUAL_ENV", "")
	var out bytes.Buffer
	args := []string{"module", "test", "tests/page.txtar"}
	if code := Main(handlers.All(), args, strings.NewReader(""), &out, &out); code != 0 {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
	want := testConsole.FindStringSubmatch(text)
	if want == nil ||
		testTime.ReplaceAllString(want[1], "") != testTime.ReplaceAllString(out.String(), "") {
		t.Errorf("it says\n%s", out.String())
	}
}
