package tool_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/redact"
)

func TestRun(t *testing.T) {
	t.Parallel()
	out, err := tool.Run(t.Context(), []string{"X=y"}, "sh", "-c", "echo $X $LC_ALL")
	if out != "y C\n" || err != nil {
		t.Error(out, err)
	}
	_, err = tool.Run(t.Context(), nil, "sh", "-c",
		"head -c 9999 /dev/zero | tr '\\0' a >&2; echo the end >&2; exit 7")
	if tool.Code(err) != 7 || !strings.HasSuffix(err.Error(), "the end") ||
		len(err.Error()) > 1200 {
		t.Error(tool.Code(err), err)
	}
	if _, err = tool.Run(t.Context(), nil, "no-such-program"); tool.Code(err) != -1 ||
		tool.Code(errors.New("x")) != -1 {
		t.Error(err)
	}
}

// TestCutsAreRedacted pins that where what a program said was cut in the middle of a secret, the
// rest of the secret is still taken out: of what is kept, and of the shorter message.
func TestCutsAreRedacted(t *testing.T) {
	t.Parallel()
	const secret = "correct horse battery staple"
	var hidden redact.Set
	hidden.Add(secret)
	for name, behind := range map[string]int{"what is kept": 4<<10 - 10, "the message": 1000 - 10} {
		// After its thousands of zeros, ten bytes of the secret are within the bound.
		script := fmt.Sprintf("printf '%%05000d%s' 0 >&2; printf '%%0%dd' 0 >&2; exit 1", secret,
			behind)
		_, err := tool.Run(t.Context(), nil, "sh", "-c", script)
		var failed *tool.Error
		if !errors.As(err, &failed) {
			t.Fatal(err)
		}
		if len(failed.Stderr) > 4<<10+len("… ") {
			t.Errorf("%s: %d bytes of standard error are kept", name, len(failed.Stderr))
		}
		for _, text := range []string{failed.Stderr, err.Error()} {
			if clean := hidden.Clean(text, "***"); strings.Contains(clean, "staple") {
				t.Errorf("%s is cut: %.60q", name, clean)
			}
		}
	}
}

// TestTooMuchOutput pins that a program's output is either whole or an error.
func TestTooMuchOutput(t *testing.T) {
	t.Parallel()
	const limit = 64 << 20
	write := fmt.Sprintf("head -c %d /dev/zero", limit)
	if out, err := tool.Run(t.Context(), nil, "sh", "-c", write); err != nil || len(out) != limit {
		t.Errorf("%d bytes, %.200v", len(out), err)
	}
	out, err := tool.Run(t.Context(), nil, "sh", "-c", write+"; echo x")
	if err == nil || len(out) != limit || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("%d bytes, %.200v", len(out), err)
	}
	if err != nil && !strings.HasSuffix(err.Error(), "…") {
		t.Error("nothing says that the output was cut")
	}
}

func TestRunEndsWithItsChildren(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := tool.Run(ctx, nil, "sh", "-c", "sleep 3600 & wait"); !errors.Is(err,
		context.DeadlineExceeded) || time.Since(began) > 5*time.Minute {
		t.Error(err, time.Since(began))
	}
}
