package batch

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"southbound/shared/cli/output"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// TestFirstWaveIsRefused pins that who has seen a plan of all waves is told why the first of them is
// refused all the same, and nobody else is.
func TestFirstWaveIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		err    error
		told   bool
	}{
		{"by a limit", fault.New(fault.Refused, "", "too much would be deleted"), true},
		{"by the documents", diag.Problems{{Message: "x"}}.Err(), true},
		{"not refused", errors.New("the network is down"), false},
	} {
		var out bytes.Buffer
		w := &Waves{Console: &output.Console{Err: &out}}
		w.RefusedFirst(c.err)
		if told := strings.Contains(out.String(), "since: run the command again"); told != c.told {
			t.Errorf("%s: %q", c.reason, out.String())
		}
	}
}
