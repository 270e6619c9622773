package run

import (
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Session is the connection to an agent that runs share, and the data about it.
type Session struct {
	transport any
	connected bool
	connErr   error
	failedAt  time.Time     // when connErr occurred
	waited    time.Duration // how long the failed attempt took
	agent     resource.Agent
	lists     *Lists // while it is connected
}

// Lists returns the lists of the session.
func (s *Session) Lists() *Lists {
	if s.lists == nil {
		s.lists = &Lists{}
	}
	return s.lists
}

// Tried reports whether the session is connected, or has failed to connect.
func (s *Session) Tried() bool { return s.connected }

// Close ends the connection, if there is one, and discards the data about it.
func (s *Session) Close() {
	if c, ok := s.transport.(io.Closer); ok && s.connected {
		_ = c.Close()
	}
	s.transport, s.connected, s.connErr, s.lists = nil, false, nil, nil
}

// Follow ends the connection if the agent is now reached in another way.
func (s *Session) Follow(agent resource.Agent) {
	now := agent
	now.Lanes = s.agent.Lanes
	if s.connected && !state.SameAgents([]resource.Agent{s.agent}, []resource.Agent{now}) {
		s.Close()
	}
}

// ForgetFailure allows another attempt to connect after a failure. It does so only after a pause
// that is long compared with the time of the failed attempt: an unreachable agent costs one wait,
// and not one for each of its resources or batches.
func (s *Session) ForgetFailure(now time.Time) {
	if s.connErr != nil && now.Sub(s.failedAt) >= max(2*s.waited, minBetweenTries) {
		s.Close()
	}
}

// minBetweenTries is the least time between two attempts to connect within one run of a lane.
const minBetweenTries = 15 * time.Second

// DefaultConnectLimit is how long connecting may take if the Connector has no limit of its own.
const DefaultConnectLimit = time.Minute

// ConnectLimit returns how long connecting to an agent may take.
func (n *Runner) ConnectLimit(a resource.Agent) time.Duration {
	if c, says := n.Connector.(state.ConnectLimiter); says {
		return c.ConnectLimit(a)
	}
	return DefaultConnectLimit
}

// Connect opens the agent's connection, unless the run's session has opened it or has failed to. If
// the connection runs handlers remotely, it replaces the handler. The run ends if the agent cannot
// be reached.
func (n *Runner) Connect(ctx context.Context, r *Run, agent resource.Agent) {
	s := r.host.session
	if agent.Name == "" {
		agent = model.LocalAgent(r.res.Agent)
	}
	if r.typ != nil &&
		!r.typ.Reached(agent.Transport) { // a version that was stored before this check existed
		r.End(
			state.StatusUnavailable,
			state.ClassRefused,
			model.UnreachedText(r.typ, agent.Name, agent.Transport)+
				"; it is over "+model.TransportsText(r.typ),
		)
		return
	}
	r.agent = agent
	if s.open(ctx, n, agent); s.connErr != nil {
		r.absent = unreachable(s.connErr) == state.ClassUnavailable
		r.End(
			state.StatusUnavailable,
			unreachable(s.connErr),
			"agent "+agent.Name+": "+hinted(s.connErr),
		)
		return
	}
	r.host.cache = n.caches.of(r.host.env, r.res.Agent, n.Clock.Now)
	remote, ok := s.transport.(provider.Remote)
	if !ok || r.typ == nil {
		return
	}
	h, err := remote.Handler(r.typ.Type, r.handler)
	if err != nil {
		r.End(state.StatusUnavailable, unreachable(err), "agent "+agent.Name+": "+hinted(err))
		return
	}
	if p, ok := s.transport.(provider.Programmed); ok {
		r.Pack = cmp.Or(p.Program(), n.Pack)
	}
	r.handler = h
}

// open connects a session, unless it is connected or has failed to connect. It verifies the
// connection if the transport supports that.
func (s *Session) open(ctx context.Context, n *Runner, agent resource.Agent) {
	if s.connected {
		return
	}
	began := n.Clock.Now()
	limited, cancel := patience.WithTimeout(ctx, n.ConnectLimit(agent))
	defer cancel()
	s.transport, s.connErr = n.Connector.Connect(limited, agent)
	s.connected, s.agent = true, agent
	if s.connErr != nil {
		s.transport = nil
	} else if v, ok := s.transport.(provider.Verifier); ok {
		s.connErr = v.Verify(limited)
	}
	s.failedAt = n.Clock.Now()
	s.waited = s.failedAt.Sub(began)
}

// unreached verifies a connection after a failed call, and returns the error if the connection is
// lost. Then no other run makes calls over it.
func (x *Executor) unreached(r *Run) error {
	s := r.host.session
	v, ok := s.transport.(provider.Verifier)
	if !ok || s.connErr != nil {
		return s.connErr
	}
	began, said := x.Runner.Clock.Now(), make(chan error, 1)
	if x.within(r.ctx.Context, x.Runner.ConnectLimit(s.agent),
		func(ctx context.Context) { said <- v.Verify(ctx) }) != nil {
		return nil // the state of the connection is unknown
	}
	if s.connErr = <-said; s.connErr != nil {
		s.failedAt = x.Runner.Clock.Now()
		s.waited = s.failedAt.Sub(began)
	}
	return s.connErr
}

// unreachable returns the class of a run whose agent cannot be reached: refused if a retry cannot
// help.
func unreachable(err error) provider.Class {
	class := provider.ClassOf(err)
	refused := class == state.ClassTerminal || class == state.ClassNeedsChange ||
		fault.Is(err, fault.Denied) // to try again might lock an account
	if refused && !fault.Is(err, fault.Unsupported) {
		return state.ClassRefused
	}
	return state.ClassUnavailable
}

// hinted returns the text of an error and its hint.
func hinted(err error) string {
	text, hint := err.Error(), fault.HintOf(err)
	if hint == "" || strings.HasSuffix(text, hint) { // the handler may have added the hint already
		return text
	}
	return text + "; " + hint
}
