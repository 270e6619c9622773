package run_test

import (
	"strings"
	"testing"

	"southbound/shared/deploy/run"
)

// TestCut pins which values and diffs in the record of an action count as cut.
func TestCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 512)
	for name, c := range map[string]struct {
		value any
		size  int
	}{
		"Cut":          {long + "… (600 bytes)", 600},
		"InACharacter": {long[3:] + "… (600 bytes)", 600},
		"Whole":        {long, 0},
		"Short":        {"log … (600 bytes)", 0},
		"Smaller":      {long + "… (12 bytes)", 0},
		"MoreBehind":   {long + "… (600 bytes) more", 0},
		"NoNumber":     {long + "… (many bytes)", 0},
		"List":         {[]any{long + "… (600 bytes)"}, 0},
		"Nothing":      {nil, 0},
	} {
		if kept, size, is := run.Cut(c.value); is != (c.size > 0) ||
			is && (size != c.size || kept != strings.Repeat("x", len(kept))) {
			t.Errorf("%s: Cut = %q, %d, %v", name, kept, size, is)
		}
	}
	for diff, want := range map[string]int{
		"@@ -1 +1 @@\n-a\n\\ 12 more lines\n":                 12,
		"@@ -1 +1 @@\n-a\n 12 more lines\n":                   0,
		"@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n": 0,
		"": 0,
	} {
		if got := run.CutLines(diff); got != want {
			t.Errorf("CutLines(%q) = %d, want %d", diff, got, want)
		}
	}
}
