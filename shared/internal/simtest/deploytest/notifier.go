package deploytest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// NotifierHarness is one fresh, unused notifier.
type NotifierHarness struct {
	Notifier state.Notifier
	// Received takes the notices of a lane, as its worker receives them. It returns the resources
	// that the notices since the last call name, or none if one of the notices names none. It
	// returns false if the lane was not notified, or if the notices were lost.
	Received func(ctx context.Context, env, lane string) (done []resource.ID, notified bool)
	// Lossy allows this harness to lose notices; otherwise, each notice must arrive.
	Lossy bool
	// Serial means that the notifier must not be used concurrently.
	Serial bool
}

// TestNotifier runs the conformance suite for Notifier. open returns a new notifier for each
// subtest.
func TestNotifier(t *testing.T, open func(t *testing.T) NotifierHarness) {
	t.Helper()
	for _, c := range notifierChecks() {
		t.Run(c.name, func(t *testing.T) { c.run(t.Context(), t, open(t)) })
	}
}

type notifierCheck struct {
	name string
	run  func(ctx context.Context, t *testing.T, h NotifierHarness)
}

// expect pins the notices that a lane receives. They must equal want. If notices may be lost, the
// lane must only receive nothing without a notice.
func (h NotifierHarness) expect(
	ctx context.Context, t *testing.T, env, lane string, notified bool, want ...resource.ID,
) {
	t.Helper()
	got, heard := h.Received(ctx, env, lane)
	if !heard {
		if notified && !h.Lossy {
			t.Errorf("%s %s: not heard", env, lane)
		}
		return
	}
	slices.Sort(got)
	got = slices.Compact(got) // a notice may be duplicated
	switch {
	case !notified:
		t.Errorf("%s %s: heard, and was not notified", env, lane)
	case !h.Lossy && !slices.Equal(got, want):
		t.Errorf("%s %s: heard of %v, want %v", env, lane, got, want)
	}
}

func notifierChecks() []notifierCheck {
	return []notifierCheck{
		{"SilentUntilNotified", func(ctx context.Context, t *testing.T, h NotifierHarness) {
			noError(t, h.Notifier.Notify(ctx, env, nil))
			h.expect(ctx, t, env, lane, false)
		}},
		{"HeardOnceByItsLane", func(ctx context.Context, t *testing.T, h NotifierHarness) {
			noError(t, h.Notifier.Notify(ctx, env, []state.Notice{
				{Agent: "a"},
				{Agent: "b", Done: []resource.ID{id(1)}},
			}))
			h.expect(ctx, t, env, "a/1", false)
			h.expect(ctx, t, other, "a", false)
			h.expect(ctx, t, env, "a", true)
			h.expect(ctx, t, env, "b", true, id(1))
			h.expect(ctx, t, env, "b", false)
		}},
		{"HintsAreMerged", func(ctx context.Context, t *testing.T, h NotifierHarness) {
			noError(t, h.Notifier.Notify(ctx, env, []state.Notice{
				{Agent: lane, Done: []resource.ID{id(2)}},
			}))
			noError(t, h.Notifier.Notify(ctx, env, []state.Notice{
				{Agent: lane, Done: []resource.ID{id(1), id(3)}},
			}))
			h.expect(ctx, t, env, lane, true, id(1), id(2), id(3))
		}},
		{"ANoticeWithoutHintIsNotNarrowed",
			func(ctx context.Context, t *testing.T, h NotifierHarness) {
				for _, notices := range [][]state.Notice{
					{{Agent: lane}, {Agent: lane, Done: []resource.ID{id(1)}}},
					{{Agent: lane, Done: []resource.ID{id(1)}}, {Agent: lane}},
					{{Agent: lane, Done: []resource.ID{id(1)}}, {Agent: lane},
						{Agent: lane, Done: []resource.ID{id(2)}}},
				} {
					noError(t, h.Notifier.Notify(ctx, env, notices))
					h.expect(ctx, t, env, lane, true)
				}
				noError(t, h.Notifier.Notify(ctx, env, []state.Notice{
					{Agent: lane, Done: []resource.ID{id(3)}},
				}))
				h.expect(ctx, t, env, lane, true, id(3))
			}},
		{"ManyAndLarge", manyAndLarge},
		{"ConcurrentNotices", func(ctx context.Context, t *testing.T, h NotifierHarness) {
			const n = 16
			errs := make(chan error, n)
			for i := range n {
				notice := state.Notice{Agent: lane, Done: []resource.ID{id(i)}}
				notify := func() { errs <- h.Notifier.Notify(ctx, env, []state.Notice{notice}) }
				if h.Serial {
					notify()
				} else {
					go notify()
				}
			}
			var want []resource.ID
			for i := range n {
				noError(t, <-errs)
				want = append(want, id(i))
			}
			h.expect(ctx, t, env, lane, true, want...)
		}},
	}
}

// manyAndLarge notifies many agents in one call, one of them with very many hints.
func manyAndLarge(ctx context.Context, t *testing.T, h NotifierHarness) {
	const agents, hints = 300, 20000
	notices := make([]state.Notice, agents)
	for i := range notices {
		notices[i].Agent = fmt.Sprintf("a/%d", i)
	}
	for i := range hints {
		notices[7].Done = append(notices[7].Done, id(i))
	}
	noError(t, h.Notifier.Notify(ctx, env, notices))
	for i := range notices {
		got, notified := h.Received(ctx, env, notices[i].Agent)
		if !notified && !h.Lossy {
			t.Fatalf("agent %d was not heard", i)
		}
		// A notifier may replace so many hints by none, which means "read everything", but not by a
		// part of them.
		if n := len(slices.Compact(slices.Sorted(slices.Values(got)))); i == 7 && notified &&
			n != 0 && n != hints {
			t.Errorf("%d of %d hints were heard", n, hints)
		}
	}
}
