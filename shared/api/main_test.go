package api

import (
	"os"
	"testing"

	"southbound/shared/internal/simtest/deploytest"
)

// TestMain keeps the files of homes in memory.
func TestMain(m *testing.M) {
	os.Exit(deploytest.InMemory(m))
}
