package cli

import (
	"bytes"
	"strings"
	"syscall"
	"testing"

	"southbound/handlers"
	"southbound/shared/cli/output"
)

// fullDisk is where nothing can be written any more.
type fullDisk struct{}

// Write implements io.Writer.
func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestLostOutput pins that a command whose result did not reach standard output has not done what
// it was asked for.
func TestLostOutput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"version"}, {"version", "--json"}, {"types"},
		{"types", "--json"}, {"schema"}, {"help"}, {"types", "--help"}, {"completion", "bash"}} {
		var said bytes.Buffer
		if code := Main(handlers.All(), args, strings.NewReader(""), fullDisk{},
			&said); code != output.Fault ||
			!strings.Contains(said.String(), "write to standard output: no space left on device") {
			t.Errorf("%q: exit code %d, %q", args, code, &said)
		}
	}
}
