package run

import (
	"cmp"
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Session is the connection to an agent that runs share, and the data about it. Concurrent runs may
// use it. Connect and Close must not be called concurrently, nor Close while a run uses the session.
type Session struct {
	mu        sync.Mutex
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lists == nil {
		s.lists = &Lists{}
	}
	return s.lists
}

// Tried reports whether the session is connected, or has failed to connect.
func (s *Session) Tried() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected
}

// failure returns why the agent cannot be reached.
func (s *Session) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connErr
}

// Close ends the connection, if there is one, and discards the data about it.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closeLocked()
}

func (s *Session) closeLocked() {
	if c, ok := s.transport.(io.Closer); ok && s.connected {
		_ = c.Close()
	}
	s.transport, s.connected, s.connErr, s.lists = nil, false, nil, nil
}

// Fits reports whether the session can be used for an agent as it is described now. If the agent is
// reached in another way, the session has to be closed.
func (s *Session) Fits(agent resource.Agent) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	agent.Lanes = s.agent.Lanes
	return !s.connected || state.SameAgents([]resource.Agent{s.agent}, []resource.Agent{agent})
}

// ForgetFailure allows another attempt to connect after a failure. It does so only after a pause
// that is long compared with the time of the failed attempt: an unreachable agent costs one wait,
// and not one for each of its resources or batches.
func (s *Session) ForgetFailure(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.connErr != nil && now.Sub(s.failedAt) >= max(2*s.waited, minBetweenTries) {
		s.closeLocked()
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
	transport, err := s.open(ctx, n, agent)
	if err != nil {
		r.absent = unreachable(err) == state.ClassUnavailable
		r.End(state.StatusUnavailable, unreachable(err), "agent "+agent.Name+": "+hinted(err))
		return
	}
	r.host.cache = n.caches.of(r.host.env, r.res.Agent, n.Clock.Now)
	remote, ok := transport.(provider.Remote)
	if !ok || r.typ == nil {
		return
	}
	h, err := remote.Handler(r.typ.Type, r.handler)
	if err != nil {
		r.End(state.StatusUnavailable, unreachable(err), "agent "+agent.Name+": "+hinted(err))
		return
	}
	if p, ok := transport.(provider.Programmed); ok {
		r.Pack = cmp.Or(p.Program(), n.Pack)
	}
	r.handler = h
}

// open connects a session, unless it is connected or has failed to connect, and returns its
// transport. It verifies the connection if the transport supports that.
func (s *Session) open(ctx context.Context, n *Runner, agent resource.Agent) (any, error) {
	if s.Tried() {
		return s.transport, s.failure()
	}
	began := n.Clock.Now()
	limited, cancel := patience.WithTimeout(ctx, n.ConnectLimit(agent))
	defer cancel()
	transport, err := n.Connector.Connect(limited, agent)
	if err != nil {
		transport = nil
	} else if v, ok := transport.(provider.Verifier); ok {
		err = v.Verify(limited)
	}
	ended := n.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transport, s.connErr, s.connected, s.agent = transport, err, true, agent
	s.failedAt, s.waited = ended, ended.Sub(began)
	return transport, err
}

// unreached verifies a connection after a failed call, and returns the error if the connection is
// lost. Then no other run makes calls over it.
func (x *Executor) unreached(r *Run) error {
	s := r.host.session
	v, agent, err := s.verifier()
	if v == nil || err != nil {
		return err
	}
	began, said := x.Runner.Clock.Now(), make(chan error, 1)
	if x.within(r.ctx.Context, x.Runner.ConnectLimit(agent),
		func(ctx context.Context) { said <- v.Verify(ctx) }) != nil {
		return nil // the state of the connection is unknown
	}
	if err = <-said; err != nil {
		s.lose(err, began, x.Runner.Clock.Now())
	}
	return err
}

// verifier returns how to verify the connection, nil if the transport does not support that, and the
// error of a connection that is lost.
func (s *Session) verifier() (provider.Verifier, resource.Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, _ := s.transport.(provider.Verifier)
	return v, s.agent, s.connErr
}

// lose records that a verification of the connection has failed.
func (s *Session) lose(err error, began, ended time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connErr, s.failedAt, s.waited = err, ended, ended.Sub(began)
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
