package source

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// TestClosed holds what is told of lines against expressions for the same, on lines that are put
// together of what they know.
func TestClosed(t *testing.T) {
	t.Parallel()
	surelyClosed := regexp.MustCompile(
		`^(---|\.\.\.)?\r?$|^ *(#|\r?$)|^ *(- +)*[\w.-]+:( +([\w/.~$+][^"'\\\[\]{}#&*!|>%@` + "`" +
			`\r]*|"[^"\\\r]*"|'[^'\r]*'|` +
			`\[ *"[^"\\\r]*"( *, *"[^"\\\r]*")* *\]))? *\r?$`)
	beforeKey := regexp.MustCompile(`^ *(- +)*`)
	blockScalar := regexp.MustCompile(`^ *(- +)*[\w.-]+: +[|>][0-9+-]{0,2} *\r?$`)
	parts := []string{" ", " ", "  ", "-", "- ", "---", "...", "a", "a", "é", "\xff", "b1",
		"_.-", ":",
		": ", ": ", "\r", "|", ">", "|2-", ">+", "1", "#", "\"", "\"x\"", "\"x\", \"y\"", "''", "'", "[",
		"[\"", "\"]", "]", ",", " , ", "{", "\\", "/", "~", "$", "+", "&", "*", "!", "%", "@", "`"}
	random := rand.New(rand.NewPCG(1, 2))
	var closed, blocks int
	for range 5000 {
		var b strings.Builder
		if random.IntN(2) == 0 { // most are nothing, otherwise
			b.WriteString(strings.Repeat(" ", random.IntN(2)) + "a: ")
		}
		for range random.IntN(8) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		line := []byte(b.String())
		indent, value, keyed := valueOf(line)
		block := keyed && beginsBlock(value)
		if block != blockScalar.Match(line) || block && indent != len(beforeKey.Find(line)) {
			t.Fatalf("%q: a block scalar: %v, behind %d", line, block, indent)
		}
		is := keyed && closedValue(value) || closedLine(line)
		if is != surelyClosed.Match(line) {
			t.Fatalf("%q: surely closed: %v", line, is)
		}
		if block {
			blocks++
		}
		if is {
			closed++
		}
	}
	if closed < 500 || blocks < 25 {
		t.Errorf("%d closed lines, %d that begin a block scalar", closed, blocks)
	}
}
