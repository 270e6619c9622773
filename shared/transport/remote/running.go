package remote

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"southbound/shared/fault"
	"southbound/shared/patience"
)

// Running is a program that was started on a machine. The next connection names the program of the
// previous one, and the new program ends it. The old program may not have noticed that its
// connection was lost, and its work must not overlap with the next calls.
type Running struct {
	PID   int    `cbor:"1,keyasint,omitempty"`
	Began string `cbor:"2,keyasint,omitempty"` // distinguishes processes that reuse a PID; "": unknown
}

// current is this process.
func current() Running { return Running{PID: os.Getpid(), Began: began(os.Getpid())} }

// began returns when a process was started, in the system's unit; "" if there is none, if it has
// ended, or if the time is unknown.
func began(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name of the program, in brackets, may contain any characters.
	const state, start = 0, 19 // fields behind the name
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= start || fields[state] == "Z" || fields[state] == "X" {
		return ""
	}
	return fields[start]
}

const (
	// endLimit is how long a program may take to end its handlers: their own time limit, and a
	// little more.
	endLimit = 6 * time.Second
	endPoll  = 5 * time.Millisecond
)

// end ends a program and waits for it. Busy: it did not end.
func (r Running) end(ctx context.Context) error {
	if r.PID <= 1 || r.PID == os.Getpid() || r.Began == "" {
		return nil
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if began(r.PID) != r.Began || !isOurs(r.PID) {
			return nil
		}
		if err := syscall.Kill(r.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fault.Wrap(fault.Busy, "end the program of the connection before", err)
		}
		_ = syscall.Kill(r.PID, syscall.SIGCONT) // a stopped process does not handle the signal
		limit, release := patience.WithTimeout(ctx, endLimit)
		for limit.Err() == nil && began(r.PID) == r.Began {
			_ = patience.Sleep(limit, endPoll)
		}
		release()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if began(r.PID) != r.Began {
		return nil
	}
	return fault.New(fault.Busy, "end the program of the connection before",
		"process %d does not end", r.PID)
}

// isOurs reports whether a process was started as the far end of a connection.
func isOurs(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && strings.HasSuffix(string(text), "\x00remote\x00")
}
