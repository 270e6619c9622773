package providertest_test

import (
	"os"
	"testing"

	"southbound/shared/internal/simtest/deploytest"
)

// TestMain keeps the directories of checks in memory.
func TestMain(m *testing.M) {
	os.Exit(deploytest.InMemory(m))
}
