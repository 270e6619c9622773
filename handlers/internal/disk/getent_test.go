package disk

import (
	"testing"
)

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
		f := getent(c.database, c.key)
		switch {
		case c.name == "" && f != nil:
			t.Errorf("%s: found %q", c.why, f)
		case c.name != "" && (len(f) < 3 || f[0] != c.name || f[2] != c.number):
			t.Errorf("%s: found %q", c.why, f)
		}
	}
}
