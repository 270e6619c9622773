package deploy_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// line is a connection that takes long to say that nobody answers, while it is cut.
type line struct {
	r      *rig
	cut    error
	tried  int // how often it was tried out
	closed int
}

const longWait = 30 * time.Second

func (l *line) Connect(context.Context, resource.Agent) (any, error) { return l, nil }

func (l *line) Verify(ctx context.Context) error {
	l.tried++
	if l.cut != nil {
		_ = l.r.clock.Sleep(ctx, longWait)
	}
	return l.cut
}

func (l *line) Close() error {
	l.closed++
	return nil
}

// caller is the test's handler over a line.
type caller struct {
	handler
	*line
}

func (c caller) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	if c.cut != nil {
		_ = c.r.clock.Sleep(ctx, longWait)
		return provider.Observation{}, fmt.Errorf("read: %w", c.cut)
	}
	return c.handler.Read(ctx, req)
}

// TestUnreachableAgentCostsOneWait has 300 resources, several batches, on an agent that nobody
// answers for, from the beginning or from some moment on: they are unavailable, not failed, and the
// wait is paid once (twice when it is lost in the middle). When it answers again, they are deployed
// by themselves.
func TestUnreachableAgentCostsOneWait(t *testing.T) {
	t.Parallel()
	const n = 300
	for _, c := range []struct {
		why   string
		err   error
		after int // resources that are deployed before
		waits int
		again bool
	}{
		{"never there", fault.New(fault.Unavailable, "call the API", "connection refused"), 0, 1,
			true},
		{"lost in the middle", fault.New(fault.Unavailable, "call the API", "connection refused"),
			100, 2, true},
		{"lets nobody in", provider.Errorf(provider.Terminal, "no: %w",
			fault.New(fault.Unavailable, "", "permission denied")), 0, 1, false},
		{"refuses the login", fault.New(fault.Denied, "log in", "wrong password"), 0, 1, false},
	} {
		r := newRig(t)
		l := &line{r: r}
		r.e.Connector = l
		r.e.Handlers["t::T"] = caller{handler{r.w}, l}
		m := modelOf()
		for i := range n {
			m.Resources = append(m.Resources, res(fmt.Sprintf("r%03d", i)))
		}
		r.export(deploy.Export{Model: m})
		if c.after == 0 {
			l.cut = c.err
		}
		ran := 0
		r.e.Ran = func(k int) {
			if ran += k; ran >= c.after {
				l.cut = c.err
			}
		}
		began := r.clock.Now()
		lane, err := r.e.RunAgent(context.Background(), "e", "a", began.Add(time.Hour))
		r.e.Ran = nil
		took := r.clock.Now().Sub(began)
		p, err2 := r.e.Progress(context.Background(), "e")
		if err != nil || err2 != nil || lane.Ran != n ||
			took > time.Duration(c.waits)*longWait+time.Second {
			t.Errorf("%s: %+v after %s, %v, %v", c.why, lane, took, err, err2)
		}
		counts := p.Counts
		if counts[state.StatusUnavailable] < n-ran+1 && c.after > 0 ||
			c.after == 0 && counts[state.StatusUnavailable] != n || counts[state.StatusFailed] > 0 {
			t.Errorf("%s: %v", c.why, counts)
		}
		last := r.row(fmt.Sprintf("r%03d", n-1))
		if !strings.HasPrefix(last.Reason, "agent a: ") || last.NextAt.IsZero() == c.again {
			t.Errorf("%s: %q, tried again at %s", c.why, last.Reason, last.NextAt)
		}
		if l.closed == 0 {
			t.Errorf("%s: the connection was not closed", c.why)
		}
		l.cut = nil
		r.clock.advance(time.Hour)
		if _, err := r.e.Sweep(context.Background(), "e"); err != nil {
			t.Fatal(err)
		}
		r.drain()
		want := state.StatusDeployed
		if !c.again {
			want = state.StatusUnavailable
		}
		r.want(fmt.Sprintf("r%03d", n-1), want)
	}
}
