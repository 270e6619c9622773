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

// Session is the connection to an agent that runs share, with what is known of it.
type Session struct {
	transport any
	connected bool
	connErr   error
	failedAt  time.Time     // when connErr came
	waited    time.Duration // how long it was waited for that
	agent     resource.Agent
	lists     *Lists // while it is connected
}

// Lists returns what the session knows from lists.
func (s *Session) Lists() *Lists {
	if s.lists == nil {
		s.lists = &Lists{}
	}
	return s.lists
}

// Tried reports whether it is connected, or has failed to be.
func (s *Session) Tried() bool { return s.connected }

// Close ends the connection, if there is one, and forgets what is known of it.
func (s *Session) Close() {
	if c, ok := s.transport.(io.Closer); ok && s.connected {
		_ = c.Close()
	}
	s.transport, s.connected, s.connErr, s.lists = nil, false, nil, nil
}

// Follow ends a connection to where the agent is not any more.
func (s *Session) Follow(agent resource.Agent) {
	now := agent
	now.Lanes = s.agent.Lanes
	if s.connected && !state.SameAgents([]resource.Agent{s.agent}, []resource.Agent{now}) {
		s.Close()
	}
}

// ForgetFailure lets a connection that could not be made be tried once more, unless that was a
// short time ago compared with how long it took: an agent that cannot be reached costs one wait,
// and not one for each of its resources or batches.
func (s *Session) ForgetFailure(now time.Time) {
	if s.connErr != nil && now.Sub(s.failedAt) >= max(2*s.waited, minBetweenTries) {
		s.Close()
	}
}

// minBetweenTries is the time between two tries to connect within one run of a lane.
const minBetweenTries = 15 * time.Second

// DefaultConnectLimit is how long connecting may take where the Connector does not say.
const DefaultConnectLimit = time.Minute

// ConnectLimit returns how long connecting to an agent may take.
func (n *Runner) ConnectLimit(a resource.Agent) time.Duration {
	if c, says := n.Connector.(state.ConnectLimiter); says {
		return c.ConnectLimit(a)
	}
	return DefaultConnectLimit
}

// Connect opens the agent's connection, unless the session of the run has it or has failed to open
// it, and lets it replace the handler where it runs handlers elsewhere. The run ends if it cannot
// be.
func (n *Runner) Connect(ctx context.Context, r *Run, agent resource.Agent) {
	s := r.host.session
	if agent.Name == "" {
		agent = model.LocalAgent(r.res.Agent)
	}
	if r.typ != nil &&
		!r.typ.Reached(agent.Transport) { // of a version that was stored before that was checked
		r.End(
			state.StatusUnavailable,
			state.ClassRefused,
			model.UnreachedText(r.typ, agent.Name, agent.Transport)+
				"; it is over "+model.TransportsText(r.typ),
		)
		return
	}
	r.agent = agent
	if n.open(ctx, s, agent); s.connErr != nil {
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

// open connects a session, unless it is connected or has failed to, and tries the connection out
// where it can be.
func (n *Runner) open(ctx context.Context, s *Session, agent resource.Agent) {
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

// unreached tries a connection out with which a call has failed, and returns why it is lost. What
// else is to run with it is not called then.
func (x *Executor) unreached(r *Run) error {
	s := r.host.session
	v, ok := s.transport.(provider.Verifier)
	if !ok || s.connErr != nil {
		return s.connErr
	}
	began, said := x.Runner.Clock.Now(), make(chan error, 1)
	if x.within(r.ctx.Context, x.Runner.ConnectLimit(s.agent),
		func(ctx context.Context) { said <- v.Verify(ctx) }) != nil {
		return nil // nothing is known
	}
	if s.connErr = <-said; s.connErr != nil {
		s.failedAt = x.Runner.Clock.Now()
		s.waited = s.failedAt.Sub(began)
	}
	return s.connErr
}

// unreachable is the class of what cannot be run because its agent is not reached: refused when
// that will not pass by itself.
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
	if hint == "" || strings.HasSuffix(text, hint) { // a handler may have said it already
		return text
	}
	return text + "; " + hint
}
