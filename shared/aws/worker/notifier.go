package worker

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Notifier is the notifier of a process that serves agents. It passes a notice to the agent's
// dispatcher in this process, if there is one, and sends other notices to the queues. So a notice
// between agents that are being served needs no queue. Any number of goroutines may use it.
type Notifier struct {
	// Log, if not nil, receives a warning if notices could not be sent. The engine leaves such
	// notices to Resend and to the sweep, and does not log them.
	Log *slog.Logger
	out state.Notifier

	mu          sync.Mutex
	dispatchers map[place]*dispatcher
	unsent      map[string]map[string]bool // agents whose notices could not be sent, by environment
}

// place is an agent of an environment.
type place struct{ env, agent string }

var _ state.Notifier = (*Notifier)(nil)

// NewNotifier returns a notifier that sends remote notices with out.
func NewNotifier(out state.Notifier) *Notifier {
	return &Notifier{out: out, dispatchers: map[place]*dispatcher{}}
}

// Notify implements state.Notifier.
func (n *Notifier) Notify(ctx context.Context, env string, notices []state.Notice) error {
	var remote []state.Notice
	for _, r := range notices {
		if d := n.dispatcher(env, r.Agent); d == nil || !d.accept(r.Done) {
			remote = append(remote, r)
		}
	}
	if len(remote) == 0 {
		return nil
	}
	err := n.out.Notify(ctx, env, remote)
	if err == nil {
		return nil
	}
	n.keep(env, remote)
	if n.Log != nil {
		n.Log.WarnContext(ctx, "agents were not notified", "environment", env, "agents",
			len(remote), "error", err.Error())
	}
	return err
}

// maxUnsent limits the agents of an environment that are kept for Resend.
const maxUnsent = 10_000

// keep records agents for Resend.
func (n *Notifier) keep(env string, notices []state.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.unsent == nil {
		n.unsent = map[string]map[string]bool{}
	}
	if n.unsent[env] == nil {
		n.unsent[env] = map[string]bool{}
	}
	for _, r := range notices {
		if len(n.unsent[env]) < maxUnsent {
			n.unsent[env][r.Agent] = true
		}
	}
}

// Resend sends the notices again whose sending failed, without hints. It returns the number of
// agents whose notices failed again; they are kept for the next call.
func (n *Notifier) Resend(ctx context.Context) (left int) {
	n.mu.Lock()
	unsent := n.unsent
	n.unsent = nil
	n.mu.Unlock()
	for _, env := range slices.Sorted(maps.Keys(unsent)) {
		notices := state.NoticesOf(slices.Sorted(maps.Keys(unsent[env])))
		if err := n.out.Notify(context.WithoutCancel(ctx), env, notices); err != nil {
			n.keep(env, notices)
			left += len(notices)
		}
	}
	return left
}

// Await implements deploy.Config.Await. It takes the notices that arrived in this process, and does
// not wait: an invocation should not wait for agents that other processes serve.
func (n *Notifier) Await(
	_ context.Context, env, agent string, _ time.Duration,
) ([]resource.ID, bool) {
	d := n.dispatcher(env, agent)
	return nil, d != nil && d.notice()
}

func (n *Notifier) dispatcher(env, agent string) *dispatcher {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dispatchers[place{env, agent}]
}

// inbox holds the notices that no run has taken yet.
type inbox struct {
	notified bool
	all      bool // all resources of the agent have to be checked
	done     []resource.ID
}

func (b *inbox) add(done []resource.ID) {
	b.notified = true
	b.all = b.all || len(done) == 0
	b.done = append(b.done, done...)
}

// take empties the inbox.
func (b *inbox) take() (done []resource.ID, notified bool) {
	out := *b
	*b = inbox{}
	if out.all {
		return nil, out.notified
	}
	return out.done, out.notified
}
