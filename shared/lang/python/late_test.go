package python

import (
	"errors"
	"strings"
	"testing"
	"time"

	"southbound/shared/provider"
)

// TestTooLate holds that a call begins only if its time limit is left, and that the error of another
// one names the cure.
func TestTooLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		left   time.Duration // 0: calls may end at any time
		late   bool
	}{
		"NoEnd":  {"a runner has no end", 0, false},
		"Enough": {"the call ends before the function", 24 * time.Hour, false},
		"Short":  {"the call may outlive the function", time.Minute, true},
		"Over":   {"the function should have ended", -time.Minute, true},
	} {
		p := NewPack(PackOptions{Call: time.Hour})
		if c.left != 0 {
			p.Until(time.Now().Add(c.left))
		}
		err := p.tooLate("web1")
		if !c.late && err == nil {
			continue
		}
		if !c.late || !errors.Is(err, provider.ErrUnavailable) ||
			!strings.Contains(err.Error(), "`southbound agent run web1`") {
			t.Errorf("%s: %s: %v", name, c.reason, err)
		}
	}
}
