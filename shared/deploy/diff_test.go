package deploy_test

import (
	"context"
	"sync/atomic"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
)

// together reads and compares many things at once.
type together struct {
	differ
	compared *atomic.Int64
}

func (t together) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for i := range items {
		out[i].Observation.Exists = true
	}
	return out
}

func (t together) Diff(
	c *provider.Context, r provider.Resource, o provider.Observation,
) (map[string]diff.Diff, error) {
	t.compared.Add(1)
	return t.differ.Diff(c, r, o)
}

// TestOneComparisonSpoilsNoOther compares resources in one call. One whose comparison panics costs
// the others nothing but another comparison.
func TestOneComparisonSpoilsNoOther(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		diff     func() map[string]diff.Diff
		status   state.Status
		compared int64
	}{
		"All":    {func() map[string]diff.Diff { return nil }, state.StatusDeployed, 3},
		"Panics": {func() map[string]diff.Diff { panic("boom") }, state.StatusFailed, 5},
	} {
		r := newRig(t)
		h := together{differ{odd{handler: handler{r.w}, diff: c.diff}}, new(atomic.Int64)}
		r.e.Handlers["t::T"] = h
		r.export(deploy.Export{Model: modelOf(res("b"), res("odd"), res("z"))})
		r.drain()
		r.want("b", state.StatusDeployed)
		r.want("z", state.StatusDeployed)
		r.want("odd", c.status)
		if n := h.compared.Load(); n != c.compared {
			t.Errorf("%s: %d comparisons, want %d", name, n, c.compared)
		}
	}
}
