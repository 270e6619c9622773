package ssh

import (
	"slices"
	"testing"

	"southbound/shared/transport/internal/options"
)

// TestPasswordsAreOneLine pins that each secret option is a password, and so without the line end of
// the file that it was read from, or a key, which is taken as it is.
func TestPasswordsAreOneLine(t *testing.T) {
	t.Parallel()
	for _, o := range declared() {
		if o.Secret && o.OneLine == slices.Contains([]string{"key"}, o.Name) {
			t.Errorf("%s: one line is %t", o.Name, o.OneLine)
		}
		if !o.OneLine {
			continue
		}
		for text, want := range map[string]string{"a": "a", "a\n": "a", "a\r\n": "a", "a\n\n": "a\n"} {
			r := options.Read("ssh", declared(), map[string]any{"host": "a", o.Name: text})
			if got := r.Text(o.Name); got != want {
				t.Errorf("%s: %q of %q", o.Name, got, text)
			}
		}
	}
}
