package api

import (
	"os"
	"runtime/debug"
	"testing"

	"southbound/shared/deploy/deploytest"
)

// TestMain has homes in memory. Where no memory is measured, it collects garbage less often.
func TestMain(m *testing.M) {
	if raced {
		debug.SetGCPercent(400)
	}
	os.Exit(deploytest.InMemory(m))
}
