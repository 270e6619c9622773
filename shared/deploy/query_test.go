package deploy_test

import (
	"context"
	"errors"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
)

// between does something before what is scheduled is read for the first time.
type between struct {
	state.State
	do func()
}

// Schedule implements state.State.
func (b *between) Schedule(
	ctx context.Context, env string, agents ...string,
) (state.Schedule, error) {
	if do := b.do; do != nil {
		b.do = nil
		do()
	}
	return b.State.Schedule(ctx, env, agents...)
}

// TestDoneMeansCounted pins that who is told that nothing is left to do is not told the counts of a
// moment before: exit codes follow from them.
func TestDoneMeansCounted(t *testing.T) {
	r := newRig(t)
	r.w.fail["a"] = errors.New("it is broken")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"))})
	r.e.State = &between{r.home, r.drain}
	p, err := r.e.Progress(t.Context(), "e")
	if err != nil {
		t.Fatal(err)
	}
	if !p.Done() || p.Counts[state.StatusFailed] != 1 || p.Counts[state.StatusDeployed] != 1 {
		t.Errorf("done %v with %v", p.Done(), p.Counts)
	}
}
