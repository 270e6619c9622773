package local

import (
	"strings"
	"testing"

	"southbound/shared/fault"

	"zombiezen.com/go/sqlite"
)

// TestDamagedHint pins that who reads that the database is damaged learns what an apply does not
// bring back.
func TestDamagedHint(t *testing.T) {
	t.Parallel()
	err := storeError("read", sqlite.ResultCorrupt.ToError())
	hint := fault.HintOf(err)
	if !fault.Is(err, fault.Damaged) || !strings.Contains(hint, "backup") ||
		!strings.Contains(hint, "no instances of services") {
		t.Errorf("%v: %s", err, hint)
	}
}
