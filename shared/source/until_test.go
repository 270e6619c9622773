package source

import (
	"context"
	"io"
	"testing"

	"southbound/shared/fault"
)

// TestLoadIsInterrupted pins that a program which waits for documents on standard input can be stopped.
func TestLoadIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	go func() {
		_, _ = io.WriteString(out, "{") // it is being read
		cancel()
	}()
	if _, _, err := Load(ctx, Options{Path: "-", Stdin: in, Types: testTypes(t)}); !fault.Is(err, fault.Canceled) {
		t.Errorf("got %v", err)
	}
}
