package python

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStartReadsNothing holds that a process that never reads its pipe delays no caller: the end of
// the context and the time limit stop it. The host is larger than a pipe.
func TestStartReadsNothing(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(program, []byte("#!/bin/sh\nkill -STOP $$\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	canceled, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the function ends")
	time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
	for name, c := range map[string]struct {
		reason string
		ctx    context.Context
		call   time.Duration
		wrong  func(error) bool
	}{
		"Context": {"the cause is that of the context", canceled, time.Hour, func(err error) bool {
			return !errors.Is(err, cause)
		}},
		"Limit": {"the error names the limit", t.Context(), 50 * time.Millisecond, func(err error) bool {
			return err == nil || !strings.Contains(err.Error(), "had not ended after 50ms")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, err := Start(c.ctx, Options{Python: program, Dir: t.TempDir(), Call: c.call})
			if err == nil {
				defer h.Close()
				_, err = h.Load()
			}
			if c.wrong(err) {
				t.Errorf("%s: %v", c.reason, err)
			}
		})
	}
}
