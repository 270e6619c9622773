package main_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestStart bounds what the packages of the program allocate before it does anything: every command
// waits for that. Tables and regular expressions are made when they are first needed
// (shared/pattern).
func TestStart(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(build(t), "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	all := 0
	for line := range strings.Lines(string(out)) {
		// init NAME @5.5 ms, 2.7 ms clock, 1427224 bytes, 7861 allocs
		words := strings.Fields(line)
		if len(words) != 11 || words[0] != "init" {
			continue
		}
		bytes, err := strconv.Atoi(words[7])
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all += bytes
		if strings.HasPrefix(words[1], "southbound/") && bytes > 12<<10 {
			t.Errorf("%s allocates %d bytes when the program starts; at most 12 KiB", words[1],
				bytes)
		}
	}
	if all == 0 || all > 6<<20 {
		t.Errorf("all packages allocate %d bytes when the program starts; at most 6 MiB, of which "+
			"the SDK of AWS takes half for its schemas", all)
	}
}
