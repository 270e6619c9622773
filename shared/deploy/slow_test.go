package deploy_test

import (
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
)

// TestRecordedBeforeWhatTakesLong pins that what was changed is recorded before something begins
// that may take long: whoever interrupts that would lose it.
func TestRecordedBeforeWhatTakesLong(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, value := range []string{"1", "2"} {
		seen := state.Status("")
		r.w.hook = func(call, name string) {
			if call == "read" && name == "hang" {
				row := r.row("a")
				seen = row.Status()
			}
		}
		r.export(deploy.Export{Model: modelOf(valued("a", value), valued("hang<a", value))})
		r.drain()
		if seen != state.StatusDeployed {
			t.Errorf("a is %s when what requires it begins", seen)
		}
		r.want("hang", state.StatusDeployed)
	}
}
