package deploytest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// DoorbellHarness is one fresh doorbell that nobody has rung.
type DoorbellHarness struct {
	Bell state.Doorbell
	// Heard takes what whoever serves a lane hears: the resources named by the rings since the last
	// call, or none when one of the rings named none. It reports false when the lane was not rung,
	// or when the rings were lost.
	Heard func(ctx context.Context, env, lane string) (done []resource.ID, rung bool)
	// Lossy says that rings may be lost in this harness; otherwise each is heard.
	Lossy bool
	// Serial says that the doorbell must not be used concurrently.
	Serial bool
}

// TestDoorbell runs the conformance suite for Doorbell. open returns a new doorbell for each
// subtest.
func TestDoorbell(t *testing.T, open func(t *testing.T) DoorbellHarness) {
	t.Helper()
	for _, c := range doorbellChecks() {
		t.Run(c.name, func(t *testing.T) { c.run(t.Context(), t, open(t)) })
	}
}

type doorbellCheck struct {
	name string
	run  func(ctx context.Context, t *testing.T, h DoorbellHarness)
}

// expect pins what a lane hears: exactly want; where rings may be lost, only that it hears nothing
// unless it was rung.
func (h DoorbellHarness) expect(ctx context.Context, t *testing.T, env, lane string, rung bool, want ...resource.ID) {
	t.Helper()
	got, heard := h.Heard(ctx, env, lane)
	if !heard {
		if rung && !h.Lossy {
			t.Errorf("%s %s: not heard", env, lane)
		}
		return
	}
	slices.Sort(got)
	got = slices.Compact(got) // a ring may be doubled
	switch {
	case !rung:
		t.Errorf("%s %s: heard, and was not rung", env, lane)
	case !h.Lossy && !slices.Equal(got, want):
		t.Errorf("%s %s: heard of %v, want %v", env, lane, got, want)
	}
}

func doorbellChecks() []doorbellCheck {
	return []doorbellCheck{
		{"SilentUntilRung", func(ctx context.Context, t *testing.T, h DoorbellHarness) {
			noError(t, h.Bell.Ring(ctx, env, nil))
			h.expect(ctx, t, env, lane, false)
		}},
		{"HeardOnceByItsLane", func(ctx context.Context, t *testing.T, h DoorbellHarness) {
			noError(t, h.Bell.Ring(ctx, env, []state.Ring{{Lane: "a/0"}, {Lane: "b/0", Done: []resource.ID{id(1)}}}))
			h.expect(ctx, t, env, "a/1", false)
			h.expect(ctx, t, other, "a/0", false)
			h.expect(ctx, t, env, "a/0", true)
			h.expect(ctx, t, env, "b/0", true, id(1))
			h.expect(ctx, t, env, "b/0", false)
		}},
		{"HintsAreMerged", func(ctx context.Context, t *testing.T, h DoorbellHarness) {
			noError(t, h.Bell.Ring(ctx, env, []state.Ring{{Lane: lane, Done: []resource.ID{id(2)}}}))
			noError(t, h.Bell.Ring(ctx, env, []state.Ring{{Lane: lane, Done: []resource.ID{id(1), id(3)}}}))
			h.expect(ctx, t, env, lane, true, id(1), id(2), id(3))
		}},
		{"ARingWithoutHintIsNotNarrowed", func(ctx context.Context, t *testing.T, h DoorbellHarness) {
			for _, rings := range [][]state.Ring{
				{{Lane: lane}, {Lane: lane, Done: []resource.ID{id(1)}}},
				{{Lane: lane, Done: []resource.ID{id(1)}}, {Lane: lane}},
				{{Lane: lane, Done: []resource.ID{id(1)}}, {Lane: lane}, {Lane: lane, Done: []resource.ID{id(2)}}},
			} {
				noError(t, h.Bell.Ring(ctx, env, rings))
				h.expect(ctx, t, env, lane, true)
			}
			noError(t, h.Bell.Ring(ctx, env, []state.Ring{{Lane: lane, Done: []resource.ID{id(3)}}}))
			h.expect(ctx, t, env, lane, true, id(3))
		}},
		{"ManyAndLarge", manyAndLarge},
		{"ConcurrentRings", func(ctx context.Context, t *testing.T, h DoorbellHarness) {
			const n = 16
			errs := make(chan error, n)
			for i := range n {
				ring := func() { errs <- h.Bell.Ring(ctx, env, []state.Ring{{Lane: lane, Done: []resource.ID{id(i)}}}) }
				if h.Serial {
					ring()
				} else {
					go ring()
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

// manyAndLarge rings many lanes at once, one of them with very many hints.
func manyAndLarge(ctx context.Context, t *testing.T, h DoorbellHarness) {
	const lanes, hints = 300, 20000
	rings := make([]state.Ring, lanes)
	for i := range rings {
		rings[i].Lane = fmt.Sprintf("a/%d", i)
	}
	for i := range hints {
		rings[7].Done = append(rings[7].Done, id(i))
	}
	noError(t, h.Bell.Ring(ctx, env, rings))
	for i := range rings {
		got, rung := h.Heard(ctx, env, rings[i].Lane)
		if !rung && !h.Lossy {
			t.Fatalf("lane %d was not heard", i)
		}
		// So many hints may be given up for none, which says "look at everything", but never for
		// some.
		if n := len(slices.Compact(slices.Sorted(slices.Values(got)))); i == 7 && rung && n != 0 && n != hints {
			t.Errorf("%d of %d hints were heard", n, hints)
		}
	}
}
