package local

import (
	"path/filepath"
	"syscall"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestSecretInAPipe pins that a named pipe, to which nobody may ever write, is refused at once.
func TestSecretInAPipe(t *testing.T) {
	t.Parallel()
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSecret(resource.Secret{Source: "file:" + pipe}); !fault.Is(err, fault.Invalid) {
		t.Errorf("a named pipe: %v", err)
	}
}
