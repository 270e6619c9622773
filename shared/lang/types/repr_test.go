package types_test

import (
	"math"
	"strings"
	"testing"

	"southbound/shared/lang/types"
)

// TestReprOfTexts holds how texts are quoted, and that no more than a little is written beyond what
// is asked for.
func TestReprOfTexts(t *testing.T) {
	for text, want := range map[string]string{
		"": "''", "plain text": "'plain text'", "it's": `"it's"`, `"it's"`: `'"it\'s"'`,
		`a\b`: `'a\\b'`, "a\nb\tc\r": `'a\nb\tc\r'`, "é\u00a0\x7f": "'é\\xa0\\x7f'",
		"\u2028\U000e0001😀": `'\u2028\U000e0001😀'`,
	} {
		if got, within := types.ReprWithin(text, math.MaxInt); got != want || !within {
			t.Errorf("%q is written as %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{strings.Repeat("a", 1000), strings.Repeat("\n", 1000)} {
		if got, within := types.ReprWithin(text, 100); within || len(got) > 110 {
			t.Errorf("%d bytes are written, and only 100 were asked for: %t", len(got), within)
		}
	}
}
