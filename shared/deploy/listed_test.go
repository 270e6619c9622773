package deploy_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
)

// catalogue is a handler that reads from a list which the session keeps.
type catalogue struct {
	handler
	builds atomic.Int64
	before func(build int64) // called before the list is made
}

// CallTimeout implements provider.Timeouter.
func (c *catalogue) CallTimeout(provider.Resource) time.Duration { return 20 * time.Millisecond }

// Read implements provider.Handler.
func (c *catalogue) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	list, err := provider.Listed(ctx, provider.Key{Name: "all"},
		func(*provider.Context) (map[string]string, int, error) {
			if n := c.builds.Add(1); c.before != nil {
				c.before(n)
			}
			c.w.mu.Lock()
			defer c.w.mu.Unlock()
			return maps.Clone(c.w.things), 100, nil
		})
	name := nameOf(req.Resource)
	value, exists := list[name]
	if err != nil || !exists {
		return provider.Observation{}, err
	}
	return provider.Observation{Exists: true,
		Attributes: map[string]any{"name": name, "value": value}}, nil
}

// ReadBatch implements provider.BatchReader: all side by side.
func (c *catalogue) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	var wg sync.WaitGroup
	for i := range items {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					out[i].Err = fmt.Errorf("%v", p)
				}
			}()
			out[i].Observation, out[i].Err = c.Read(items[i].Context, items[i].ReadRequest)
		})
	}
	wg.Wait()
	return out
}

// TestListedIsWhole has lists that take their time, and that are never finished. What reads from
// one has all of it or an error: of what a list is said to lack another would be made.
func TestListedIsWhole(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	for _, tc := range []struct {
		name   string
		before func(build int64)
		builds int64
		failed int
	}{
		{"side by side", nil, 1, 0},
		{"the first ends with a panic", func(n int64) {
			if n == 1 {
				panic("out of paper")
			}
		}, 2, 1},
		{"one that hangs is left behind", func(int64) { <-release }, 1, 30},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			c := &catalogue{handler: handler{r.w}, before: tc.before}
			r.e.Handlers["t::T"] = c
			const n = 30
			for _, x := range many(n, "n#") {
				r.w.things[nameOfID(x.ID)] = "v"
			}
			r.export(deploy.Export{Model: modelOf(many(n, "n#")...)})
			r.drain()
			if calls := r.took("create", "update"); len(calls) > 0 {
				t.Errorf("what is there is made: %v", calls)
			}
			counts, err := r.home.Counts(t.Context(), "e")
			if err != nil || counts[state.StatusFailed] != tc.failed ||
				counts[state.StatusDeployed] != n-tc.failed {
				t.Errorf("%v: %v", err, counts)
			}
			if c.builds.Load() != tc.builds {
				t.Errorf("the list was made %d times", c.builds.Load())
			}
		})
	}
}
