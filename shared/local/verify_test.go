package local

import (
	"bytes"
	"os"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/deploytest"
)

// TestVerifyAgain pins what is found of a file that was verified: whatever is done to it at once, a
// bit that flips without a trace a minute later, and where the file is used at any time.
func TestVerifyAgain(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	data := []byte("what is wanted")
	wrong := bytes.ToUpper(data)
	hash := deploytest.HashOf(data)
	blobs := []state.Blob{{Hash: hash, Size: int64(len(data)), Data: data}}
	f := h.Files()
	path := f.path(hash)
	began := time.Now().Add(-time.Hour)
	// verified stores the file anew, as of an hour ago, and verifies it.
	verified := func() {
		t.Helper()
		_ = os.Remove(path)
		if err := f.Put(t.Context(), blobs); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, began, began); err != nil {
			t.Fatal(err)
		}
		if err := f.verify(hash, began.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	at := began.Add(2 * time.Second)
	verified()
	if err := os.WriteFile(path, wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.verify(hash, at); !fault.Is(err, fault.Damaged) {
		t.Errorf("it was written: %v", err)
	}
	if err := os.Chtimes(path, began, began); err != nil {
		t.Fatal(err)
	}
	if err := h.Files().verify(hash, at); err != nil {
		t.Errorf("it was read again without a trace of a change: %v", err)
	}
	if err := f.verify(hash, at.Add(verifyAgain)); !fault.Is(err, fault.Damaged) {
		t.Errorf("a minute later: %v", err)
	}
	if _, err := f.Get(t.Context(), []string{hash}); !fault.Is(err, fault.Damaged) {
		t.Errorf("it is used: %v", err)
	}
	verified()
	if err := os.Rename(path, path+".old"); err != nil {
		t.Fatal(err)
	}
	if err := f.verify(hash, at); !fault.Is(err, fault.NotFound) {
		t.Errorf("it was removed: %v", err)
	}
	if err := os.WriteFile(path, wrong, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, began, began); err != nil {
		t.Fatal(err)
	}
	if err := f.verify(hash, at); !fault.Is(err, fault.Damaged) {
		t.Errorf("another file took its place: %v", err)
	}
	if err := f.Verify(t.Context(), []string{"../" + hash}); !fault.Is(err, fault.Invalid) {
		t.Errorf("no hash: %v", err)
	}
}
