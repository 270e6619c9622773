package fulfil_test

import (
	"os"
	"runtime/debug"
	"testing"

	"southbound/shared/deploy/deploytest"
)

// TestMain has homes in memory, and collects garbage less often: what a compile makes is garbage as
// a whole.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(deploytest.InMemory(m))
}
