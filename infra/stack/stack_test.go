package stack

import (
	"os"
	"path/filepath"
	"testing"

	"southbound/localstack/server"
)

// TestBuildLeavesNothing pins that what the SAM CLI leaves among temporary files is removed.
func TestBuildLeavesNothing(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	sam := filepath.Join(t.TempDir(), "sam")
	script := "#!/bin/sh\nmktemp -d && touch \"$TMPDIR/ran\"\n"
	if err := os.WriteFile(sam, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	s := Stack{Root: t.TempDir(), Tools: server.Tools{SAM: sam}}
	if err := s.Build(t.Context(), Architecture()); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(temporary)
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
