package local

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestSecretInAPipe pins that a named pipe, to which nobody may ever write, is refused at once,
// also one below /dev, and that what a shell hands on is read.
func TestSecretInAPipe(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"/tmp", "/dev/shm"} {
		dir, err := os.MkdirTemp(place, "southbound-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		pipe := filepath.Join(dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = readSource(resource.Secret{Source: "file:" + pipe})
		if !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", pipe, err)
		}
	}
	for _, form := range []string{"/dev/fd/%d", "/proc/self/fd/%d"} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		if _, err := in.WriteString("handed on\n"); err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		path := fmt.Sprintf(form, out.Fd())
		got, err := readSource(resource.Secret{Source: "file:" + path})
		if err != nil || got != "handed on\n" {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}
