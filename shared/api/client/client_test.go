// Package client sends requests to a server over HTTP. It signs them, retries them after temporary
// errors, and turns answers back into results and errors.
package client

import (
	"maps"
	"slices"
	"testing"

	"southbound/shared/api/problem"
	"southbound/shared/fault"
)

// TestFailures are the same error again on the other side.
func TestFailures(t *testing.T) {
	t.Parallel()
	kinds := map[fault.Kind]int{}
	for _, kind := range []fault.Kind{fault.Usage, fault.Invalid, fault.NotFound, fault.Conflict,
		fault.Fenced, fault.Busy, fault.Unavailable, fault.Timeout, fault.Full,
		fault.Denied, fault.Damaged, fault.Foreign, fault.Unsupported, fault.Canceled,
		fault.Internal} {
		was := fault.New(kind, "do it", "it is wrong").WithHint("do it right")
		p := problem.Of(was)
		is := ServerError{p.Err}
		if fault.KindOf(is) != kind || is.Error() != was.Error() || fault.HintOf(is) != was.Hint ||
			p.Status < 400 {
			t.Errorf("%s: %s, %v (%s), status %d", kind, fault.KindOf(is), is, fault.HintOf(is),
				p.Status)
		}
		kinds[kind] = p.Status
	}
	if len(slices.Compact(slices.Sorted(maps.Values(kinds)))) < 8 {
		t.Errorf("statuses: %v", kinds)
	}
}
