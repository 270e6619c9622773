package python

import (
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"
	"time"
)

// TestEager holds that a reader which looks before it sleeps reads what any other would, knows the
// end and deadlines, and gives up looking where that is in vain.
func TestEager(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	conn, err := r.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	reader := &eager{conn: conn}
	sent := bytes.Repeat([]byte("0123456789"), 100_000) // more than a pipe holds
	go func() {
		_, _ = w.Write(sent)
	}()
	got := make([]byte, len(sent))
	if _, err := io.ReadFull(reader, got); err != nil || !bytes.Equal(got, sent) {
		t.Fatalf("what was read is not what was sent: %v", err)
	}
	reader.pause, reader.patience = 0, 0
	var pauses []int
	for range 12 {
		_ = r.SetReadDeadline(time.Now().Add(time.Millisecond))
		if n, err := reader.Read(got); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(n, err)
		}
		pauses = append(pauses, reader.pause)
	}
	// In vain, then one read without looking, in vain, then three, in vain.
	if want := []int{1, 0, 3, 2, 1, 0, 7, 6, 5, 4, 3, 2}; !slices.Equal(pauses, want) {
		t.Errorf("reads that sleep at once: %v, want %v", pauses, want)
	}
	for range 3000 {
		_ = r.SetReadDeadline(time.Now())
		_, _ = reader.Read(got)
	}
	if reader.patience > maxPatience || reader.pause > maxPatience {
		t.Errorf("it looks no more: %d, %d", reader.pause, reader.patience)
	}
	_ = r.SetReadDeadline(time.Time{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := reader.Read(got); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %d, %v", n, err)
	}
}
