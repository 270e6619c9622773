package fulfil_test

import (
	"os"
	"testing"

	"southbound/shared/deploy/deploytest"
)

func TestMain(m *testing.M) { os.Exit(deploytest.InMemory(m)) }
