package exec

import "testing"

// TestWhy pins which line of an output an error quotes.
func TestWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		output []string
		want   string
	}{
		{"nothing was said", nil, ""},
		{"the first error, not what follows from it",
			[]string{"building\nmain.c:3: error: no semicolon\nmake: *** stopped"},
			": main.c:3: error: no semicolon"},
		{"in a later piece", []string{"fine\nfine", "E: Unable to locate package nginxx\nbye"},
			": E: Unable to locate package nginxx"},
		{"nothing reads like one", []string{"one\ntwo"}, ": two"},
		{"a word within a word does not count", []string{"the: end"}, ": the: end"},
	} {
		if got := (ended{output: c.output}).why(); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}
