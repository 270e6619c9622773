package providertest_test

import (
	"os"
	"runtime/debug"
	"testing"

	"southbound/shared/deploy/deploytest"
)

// TestMain has the many directories of checks in memory, and collects garbage less often: what a
// check leaves behind is garbage as a whole.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(deploytest.InMemory(m))
}
