package fulfil_test

import (
	"os"
	"testing"

	"southbound/shared/internal/simtest/deploytest"
)

// TestMain keeps homes in memory.
func TestMain(m *testing.M) {
	os.Exit(deploytest.InMemory(m))
}
