package platform_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/fault"
	"southbound/shared/platform"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	a, b := platform.NewIDs(), platform.NewIDs()
	if a.Holder == b.Holder {
		t.Error("two have one holder")
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	var wg sync.WaitGroup
	for _, ids := range []*platform.IDs{a, a, b} {
		wg.Go(func() {
			var mine []string
			for range 5000 {
				mine = append(mine, ids.NewID())
			}
			if !slices.IsSorted(mine) {
				t.Error("ids do not grow")
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range mine {
				seen[id] = true
			}
		})
	}
	wg.Wait()
	if len(seen) != 15000 {
		t.Errorf("%d ids of 15000 are different", len(seen))
	}
}

func TestCaller(t *testing.T) {
	t.Parallel()
	hang := func(context.Context) { select {} }
	itself := map[string]any{}
	itself["itself"] = itself
	for _, c := range []struct {
		reason string
		f      func(ctx context.Context)
		kind   fault.Kind
	}{
		{"what ends in time is not an error", func(context.Context) {}, fault.Unknown},
		{"a panic is an error", func(context.Context) { panic("broken") }, fault.Internal},
		{"what holds itself, too", func(context.Context) { panic(itself) }, fault.Internal},
		{"what minds its context has time to say so", func(ctx context.Context) { <-ctx.Done() },
			fault.Unknown},
		{"what hangs is left behind", hang, fault.Timeout},
	} {
		err := platform.Caller{}.Call(t.Context(), 20*time.Millisecond, c.f)
		if fault.KindOf(err) != c.kind || (err == nil) != (c.kind == fault.Unknown) {
			t.Errorf("%s: %v", c.reason, err)
		}
		if c.kind == fault.Internal && !strings.Contains(err.Error(), "platform_test.go") {
			t.Errorf("%s, with the place: %v", c.reason, err)
		}
	}
}

// TestCallsEnd ends the calls of a process: they are cancelled, none of them returns to the engine,
// and who ends them is told when the last handler has returned.
func TestCallsEnd(t *testing.T) {
	t.Parallel()
	calls := platform.NewCalls()
	caller := platform.Caller{Calls: calls}
	if err := caller.Call(t.Context(), time.Hour, func(context.Context) {}); err != nil {
		t.Fatal(err)
	}
	running, cleaned := make(chan struct{}), make(chan struct{})
	var last atomic.Bool
	call := func(f func(ctx context.Context)) {
		_ = caller.Call(t.Context(), time.Hour, f)
		t.Error("a call that is ended returns")
	}
	go call(func(ctx context.Context) {
		close(running)
		<-ctx.Done()
		<-cleaned
		last.Store(true)
	})
	<-running
	ended := calls.End()
	select {
	case <-ended:
		t.Error("it says that all have ended while one runs")
	default:
	}
	begun := make(chan struct{})
	go func() {
		close(begun)
		call(func(context.Context) { t.Error("one begins when all are ended") })
	}()
	<-begun
	close(cleaned)
	<-ended
	if <-calls.End(); !last.Load() {
		t.Error("it does not wait for the last one")
	}
	<-platform.NewCalls().End() // none has run
}

func TestSleep(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (platform.Clock{}).Sleep(ctx, time.Hour); err == nil {
		t.Error("it slept on")
	}
	if err := (platform.Clock{}).Sleep(t.Context(), time.Microsecond); err != nil {
		t.Error(err)
	}
}

// TestCallRenewing pins that renewals go on while a call runs, and no longer, and that a failed one
// cancels the call and is the last.
func TestCallRenewing(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]int{"Renewed": 0, "Lost": 2} {
		renewed := make(chan int, 1000)
		n := 0
		err := platform.Caller{}.CallRenewing(t.Context(), time.Hour, time.Millisecond,
			func(context.Context) error {
				n++
				renewed <- n
				if n == fails {
					return errors.New("lost")
				}
				return nil
			}, func(ctx context.Context) {
				if fails > 0 {
					<-ctx.Done()
					return
				}
				for <-renewed < 3 {
				}
			})
		after := n // CallRenewing has waited for the renewals
		if err != nil || fails > 0 && n != fails || fails == 0 && n < 3 {
			t.Errorf("%s: %d renewals, %v", name, n, err)
		}
		if time.Sleep(5 * time.Millisecond); n != after {
			t.Errorf("%s: renewed after the call", name)
		}
	}
}
