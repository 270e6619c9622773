package remote

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"southbound/shared/fault"
)

// TestPrograms pins what is taken from a directory of programs.
func TestPrograms(t *testing.T) {
	t.Parallel()
	other := map[string]string{"amd64": "arm64"}[runtime.GOARCH]
	if other == "" {
		other = "amd64"
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why, name string
		script    bool
		takes     []string // the platforms
		text      string   // of the error
	}{
		{"nothing", "", false, []string{runtime.GOARCH}, ""},
		{"this program in place of itself", "southbound-linux-" + runtime.GOARCH, false,
			[]string{runtime.GOARCH}, ""},
		{"this program under the name of another", "southbound-linux-" + other, false, nil,
			"is for " + other + " by its name"},
		{"a script", "southbound-linux-" + other, true, []string{other, runtime.GOARCH}, ""},
		{"another name", "southbound-notes.txt", true, []string{runtime.GOARCH}, ""},
	} {
		dir := filepath.Join(t.TempDir(), "[not a pattern]*")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		switch at := filepath.Join(dir, c.name); {
		case c.script:
			err = os.WriteFile(at, []byte("#!/bin/sh\n"), 0o600)
		case c.name != "":
			err = os.Symlink(self, at)
		}
		if err != nil {
			t.Fatal(err)
		}
		all, err := (&Programs{Dir: dir}).all()
		var got []string
		for _, p := range all {
			got = append(got, p.arch)
		}
		if strings.Join(got, " ") != strings.Join(c.takes, " ") && c.text == "" ||
			(err == nil) != (c.text == "") || err != nil &&
			(!fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v, %v; expected %v, %q", c.why, got, err, c.takes, c.text)
		}
	}
}
