package source

import (
	"context"
	"io"
	"strings"
	"testing"

	"southbound/shared/fault"
)

// TestLoadIsInterrupted pins that a program which waits for documents on standard input can be
// stopped.
func TestLoadIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	go func() {
		_, _ = io.WriteString(out, "{") // it is being read
		cancel()
	}()
	if _, _, err := Load(ctx, Options{Path: "-", Stdin: in, Types: testTypes(t)}); !fault.Is(err,
		fault.Canceled) {
		t.Errorf("got %v", err)
	}
}

// cancelOnRead is an input that is interrupted when it has been read to its end.
type cancelOnRead struct {
	io.Reader
	cancel context.CancelFunc
}

// Read implements io.Reader.
func (r *cancelOnRead) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	if err != nil {
		r.cancel()
	}
	return n, err
}

// TestParsingIsInterrupted pins that a long input can be stopped when it has been read and is being
// parsed.
func TestParsingIsInterrupted(t *testing.T) {
	t.Parallel()
	line := `{"southbound": 1, "resources": [{"type": "std::Null", "agent": "a", "attributes": {"name": "x"}}]}` + "\n"
	ctx, cancel := context.WithCancel(t.Context())
	in := &cancelOnRead{strings.NewReader(strings.Repeat(line, 1000)), cancel}
	if _, _, err := Load(ctx, Options{Path: "-", Stdin: in, Types: testTypes(t)}); !fault.Is(err, fault.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestMark pins that an input that is wrong everywhere is not noted everywhere.
func TestMark(t *testing.T) {
	t.Parallel()
	l := &loader{types: testTypes(t)}
	text := []byte(`{"southbound": 1, "resources": [` + strings.Repeat("1,", 10*maxProblems) +
		"1]}")
	p := l.parse(t.Context(), document{name: "x", format: formatJSON}, text)
	if marks, room := len(p.spans), cap(p.resources); marks > 2*maxProblems || room > maxProblems {
		t.Errorf("%d places noted, and room for %d resources", marks, room)
	}
}
