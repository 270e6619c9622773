package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSilentService pins that a name service that does not answer leaves open whether there is a
// user, while one that has no such user does not.
func TestSilentService(t *testing.T) {
	for script, silent := range map[string]bool{
		"exec /bin/sleep 1000": true, "exit 2": false, "exit 1": false,
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "getent")
		if err := os.WriteFile(file, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		limit := time.Hour
		if silent {
			limit = 100 * time.Millisecond
		}
		f, err := getentWithin(limit, "passwd", "somebody")
		if f != nil || Silent(err) != silent || !silent && err != nil {
			t.Errorf("%s: %v, %v", script, f, err)
		}
	}
}

// TestGetent asks the real name service: entries by name and by number, and nothing for what is
// unknown or no name.
func TestGetent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, database, key string
		name, number       string
	}{
		{"a user by name", "passwd", "root", "root", "0"},
		{"a user by number", "passwd", "0", "root", "0"},
		{"a group by name", "group", "root", "root", "0"},
		{"nobody", "passwd", "no-such-user", "", ""},
		{"an option", "passwd", "-s", "", ""},
		{"all of them", "passwd", "", "", ""},
		{"a line of the database", "passwd", "root:x", "", ""},
	} {
		f, err := getent(c.database, c.key)
		switch {
		case err != nil:
			t.Errorf("%s: %v", c.why, err)
		case c.name == "" && f != nil:
			t.Errorf("%s: found %q", c.why, f)
		case c.name != "" && (len(f) < 3 || f[0] != c.name || f[2] != c.number):
			t.Errorf("%s: found %q", c.why, f)
		}
	}
}
