package http

import (
	"testing"
	"time"

	"southbound/shared/provider"
)

// TestSettle pins that the time for an API to show a change is the sum of the pauses between
// questions, whatever the clock says.
func TestSettle(t *testing.T) {
	t.Parallel()
	for settle, asks := range map[int64]int{0: 0, 1: 1, 2: 2, 3: 2, 4: 3, 30: 8, 55: 10, 56: 11, 600: 65} {
		a := &api{reader{caller{want: provider.Resource{Attributes: map[string]any{"settle": settle}}}}}
		p := a.begin(didCreate)
		for n := 0; ; n++ {
			if over := a.over(p); over != (n >= asks) {
				t.Errorf("settle %d: over after %d questions: %t", settle, n, over)
			}
			if n > asks {
				break
			}
			p.Asked++
		}
	}
	if got := pauseAfter(3); got != 3*time.Second {
		t.Errorf("the third pause is %s", got)
	}
}
