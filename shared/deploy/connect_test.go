package deploy_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// slowly is a connector that takes as long as it may, and looks at how long the lane is held
// meanwhile.
type slowly struct {
	r     *rig
	err   error
	calls int
	least time.Duration // by which the lane was held longer than connecting may take
}

func (s *slowly) Connect(ctx context.Context, _ resource.Agent) (any, error) {
	s.calls++
	left, limited := patience.Left(ctx)
	leases, err := s.r.home.Leases(ctx, "e")
	if err != nil || !limited {
		s.r.t.Errorf("connecting is not limited, or %v", err)
	}
	s.least = time.Hour
	for _, l := range leases {
		if l.Holder != "" && l.Key != state.PlanKey {
			s.least = min(s.least, l.Until.Sub(s.r.clock.Now())-left)
		}
	}
	return nil, s.err
}

// places connects to where the options of an agent say.
type places struct{}

func (places) Connect(_ context.Context, a resource.Agent) (any, error) {
	return a.Options["host"], nil
}

// TestConnectionFollowsTheAgent changes where an agent is while its lane is served: what runs from
// then on is to run there.
func TestConnectionFollowsTheAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Connector = places{}
	at := map[string]any{}
	export := func(host string) {
		m := modelOf(res("a"), res("b<a"))
		m.Agents = []resource.Agent{{Name: "a", Transport: "local",
			Options: map[string]any{"host": host}}}
		if _, err := r.e.Export(t.Context(), "e", deploy.Export{Model: m}); err != nil {
			t.Error(err)
		}
	}
	once := false
	r.e.Handlers["t::T"] = &asking{clever{handler: handler{r.w}}, func(c *provider.Context) error {
		at[nameOf(c.Desired())] = c.Transport()
		if !once {
			once = true
			export("new")
		}
		return nil
	}}
	export("old")
	r.drain()
	if at["a"] != "new" || at["b"] != "new" {
		t.Errorf("they were last checked in %v", at)
	}
}

// TestConnectingKeepsTheLane pins that nobody takes a lane while its worker is connecting to the
// agent, and that an agent that cannot be reached is waited for once a batch.
func TestConnectingKeepsTheLane(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason string
		run    func(r *rig)
	}{
		{"a deploy", func(r *rig) { r.drain() }},
		{"a dry run", func(r *rig) {
			if _, err := r.e.DryRun(context.Background(), "e", 1); err != nil {
				r.t.Error(err)
			}
		}},
	} {
		r := newRig(t)
		s := &slowly{r: r, err: fault.New(fault.Unavailable, "connect", "nobody is there")}
		r.e.Connector = s
		r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c"))})
		c.run(r)
		if s.calls != 1 || s.least <= 0 {
			t.Errorf(
				"%s: %d tries to connect, and the lane is held for %v longer than one may take",
				c.reason, s.calls, s.least)
		}
	}
}

// cutShort is a connector whose caller gives up while it connects.
type cutShort struct {
	giveUp context.CancelCauseFunc
	err    error // that it returns; nil: that of its context
}

func (c *cutShort) Connect(ctx context.Context, _ resource.Agent) (any, error) {
	c.giveUp(errors.New("interrupt signal received"))
	<-ctx.Done()
	if c.err != nil {
		return nil, c.err
	}
	return nil, fault.Wrap(fault.Unavailable, "connect", context.Cause(ctx))
}

// TestInterruptedWhileConnecting pins that nothing is recorded about resources whose agent was being
// connected when the caller gave up: they have not run, and run next time.
func TestInterruptedWhileConnecting(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"the connection is cut off": nil,
		"it fails at that time":     fault.New(fault.Denied, "connect", "who are you?"),
	} {
		r := newRig(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		r.e.Connector = &cutShort{cancel, err}
		r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c<a"))})
		before := r.row("a")
		for _, lane := range must(r.e.AgentsWithWork(t.Context(), "e"))(t) {
			if _, err := r.e.RunAgent(ctx, "e", lane, r.clock.Now().Add(time.Hour)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		actions := must(r.home.Actions(t.Context(), "e", state.ActionQuery{}))(t)
		if after := r.row("a"); after.Status() != before.Status() || len(actions) > 0 {
			t.Errorf("%s: it is %s (%s), with actions %+v", name, after.Status(), after.Reason,
				actions)
		}
		r.e.Connector = places{}
		r.drain()
		for _, n := range []string{"a", "b", "c"} {
			r.want(n, state.StatusDeployed)
		}
	}
}
