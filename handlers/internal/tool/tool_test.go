package tool_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"southbound/handlers/internal/tool"
)

func TestRun(t *testing.T) {
	t.Parallel()
	out, err := tool.Run(t.Context(), []string{"X=y"}, "sh", "-c", "echo $X $LC_ALL")
	if out != "y C\n" || err != nil {
		t.Error(out, err)
	}
	_, err = tool.Run(t.Context(), nil, "sh", "-c", "head -c 9999 /dev/zero | tr '\\0' a >&2; echo the end >&2; exit 7")
	if tool.Code(err) != 7 || !strings.HasSuffix(err.Error(), "the end") || len(err.Error()) > 1200 {
		t.Error(tool.Code(err), err)
	}
	if _, err = tool.Run(t.Context(), nil, "no-such-program"); tool.Code(err) != -1 || tool.Code(errors.New("x")) != -1 {
		t.Error(err)
	}
}

func TestRunEndsWithItsChildren(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := tool.Run(ctx, nil, "sh", "-c", "sleep 60 & wait"); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 20*time.Second {
		t.Error(err, time.Since(began))
	}
}
