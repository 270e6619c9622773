package local

import (
	"os"
	"testing"

	"southbound/shared/internal/simtest/deploytest"
)

func TestMain(m *testing.M) { os.Exit(deploytest.InMemory(m)) }
