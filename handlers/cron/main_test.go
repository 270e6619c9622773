package cron

import (
	"os"
	"testing"

	"southbound/handlers/internal/roottest"
)

func TestMain(m *testing.M) { os.Exit(roottest.Main(m)) }
