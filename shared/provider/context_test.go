package provider_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/provider"
)

// said are the lines as text: level, message, block, duration and error.
func (w *world) said() []string {
	var out []string
	for _, l := range w.lines {
		s := fmt.Sprintf("%s %s", l.Level, l.Msg)
		for _, key := range []string{"in", "duration_ms", "error"} {
			if v, ok := l.Kwargs[key]; ok {
				s += fmt.Sprintf(" %s=%v", key, v)
			}
		}
		out = append(out, s)
	}
	w.lines = nil
	return out
}

func TestBlocks(t *testing.T) {
	t.Parallel()
	w := newWorld()
	c := w.context(1)
	err := c.Creating("the user", func(c *provider.Context) error {
		w.pass(time.Second)
		return c.Updating("its groups", func(c *provider.Context) error {
			w.pass(2 * time.Second)
			c.Info("joined", "odd")
			return nil
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"DEBUG creating the user", "DEBUG updating its groups in=creating the user",
		"INFO joined in=creating the user / updating its groups",
		"INFO updated its groups in=creating the user duration_ms=2000",
		"INFO created the user duration_ms=3000"}
	if d := cmp.Diff(want, w.said()); d != "" {
		t.Error(d)
	}
}

func TestBlocksFail(t *testing.T) {
	t.Parallel()
	gone := errors.New("gone")
	for name, tc := range map[string]struct {
		f     func(c *provider.Context) error
		err   string
		class provider.Class
		lines []string
	}{
		"by an error": {
			func(c *provider.Context) error {
				return c.Deleting("x", func(*provider.Context) error {
					return gone
				})
			}, "gone", provider.Retryable,
			[]string{"DEBUG deleting x", "ERROR deleting x failed duration_ms=0 error=gone"}},
		"when told, though nothing is returned": {func(c *provider.Context) error {
			return c.Processing("x", func(c *provider.Context) error {
				_ = c.Fail(provider.Terminal, "disk %d is full", 3)
				_ = c.Fail(provider.Retryable, "and another")
				return nil
			})
		}, "disk 3 is full", provider.Terminal,
			[]string{"DEBUG processing x",
				"ERROR processing x failed duration_ms=0 error=disk 3 is full"}},
		"when told, by that very error": {func(c *provider.Context) error {
			return c.Processing("x", func(c *provider.Context) error {
				return fmt.Errorf("so: %w", c.Fail(provider.Terminal, "full"))
			})
		}, "so: full", provider.Terminal,
			[]string{"DEBUG processing x",
				"ERROR processing x failed duration_ms=0 error=so: full"}},
		"when told, and by an error": {func(c *provider.Context) error {
			return c.Processing("x", func(c *provider.Context) error {
				_ = c.Fail(provider.Terminal, "full")
				return gone
			})
		}, "gone (before that: full)", provider.Terminal,
			[]string{"DEBUG processing x",
				"ERROR processing x failed duration_ms=0 error=gone (before that: full)"}},
		"inside, and something else is tried": {func(c *provider.Context) error {
			return c.Creating("x", func(c *provider.Context) error {
				_ = c.Processing("one way", func(*provider.Context) error { return gone })
				return c.Processing("another", func(*provider.Context) error { return nil })
			})
		}, "", provider.Retryable, []string{"DEBUG creating x",
			"DEBUG processing one way in=creating x",
			"ERROR processing one way failed in=creating x duration_ms=0 error=gone",
			"DEBUG processing another in=creating x",
			"INFO processed another in=creating x duration_ms=0", "INFO created x duration_ms=0"}},
		"outside of any": {
			func(c *provider.Context) error { return c.Fail(provider.NeedsChange, "no") }, "no",
			provider.NeedsChange, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			err := tc.f(w.context(1))
			if text := fmt.Sprint(err); tc.err == "" && err != nil ||
				tc.err != "" && text != tc.err || provider.ClassOf(err) != tc.class {
				t.Errorf("%v, class %s", err, provider.ClassOf(err))
			}
			if d := cmp.Diff(tc.lines, w.said()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestBlockThatPanics(t *testing.T) {
	t.Parallel()
	w := newWorld()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was kept from the engine")
			}
		}()
		_ = w.context(1).Creating("x", func(*provider.Context) error { panic("broken") })
	}()
	if d := cmp.Diff([]string{"DEBUG creating x", "ERROR creating x panicked duration_ms=0"},
		w.said()); d != "" {
		t.Error(d)
	}
}
