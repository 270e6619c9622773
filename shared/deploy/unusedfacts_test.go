package deploy_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

// reporting is the test's handler that reports a fact with each create.
type reporting struct{ handler }

func (h reporting) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	ctx.Fact("v", nameOf(req.Resource))
	return h.handler.Create(ctx, req)
}

// laneReads counts the reads of the rows of lanes.
type laneReads struct {
	state.State
	n atomic.Int32
}

// AgentRows implements state.State.
func (r *laneReads) AgentRows(
	ctx context.Context, env, lane string, all bool,
) ([]state.Row, error) {
	r.n.Add(1)
	return r.State.AgentRows(ctx, env, lane, all)
}

// TestUnusedFacts pins that facts to which nothing refers leave the schedule as it is, and that a
// worker does not read its lane again after each commit that stores such facts.
func TestUnusedFacts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	reads := &laneReads{State: r.home}
	r.e = deploy.New(deploy.Config{State: reads, Files: r.home.Files(), Notifier: r.home.Notifier,
		Clock: r.clock, Connector: &transport.Connector{Local: true}, Types: r.types, Pack: "test",
		Handlers: map[string]provider.Handler{"t::T": reporting{handler{r.w}}},
		Caller:   local.Caller{}, Holder: r.home.Holder(), NewID: r.home.NewID,
		Jitter: func() float64 { return 0.5 }, Sizes: deploy.Sizes{Claim: 4}})
	var all []resource.Resource
	for i := range 40 {
		all = append(all, res(fmt.Sprintf("r%02d", i)))
	}
	schedule := func() int64 {
		s, err := r.home.Schedule(t.Context(), "e", "a")
		if err != nil {
			t.Fatal(err)
		}
		return s.PlanSeq
	}
	r.export(deploy.Export{Model: modelOf(all...)})
	before := schedule()
	r.drain()
	if after := schedule(); after != before {
		t.Errorf("the schedule is %d, and was %d", after, before)
	}
	if n := reads.n.Load(); n > 2 {
		t.Errorf("%d reads of a lane with 10 batches, want one or two", n)
	}
	facts, err := r.home.Parameters(t.Context(), "e", state.ParameterQuery{Facts: true, Of: id("r07")})
	if err != nil || len(facts) != 1 {
		t.Errorf("%v, %v", facts, err)
	}
	left, err := r.home.Outbox(t.Context(), "e", 100)
	if err != nil || len(left) > 0 {
		t.Errorf("left in the outbox: %v, %v", left, err)
	}
}
