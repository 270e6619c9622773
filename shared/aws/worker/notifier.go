package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Notifier is that of a process that serves lanes: a notice to an agent that is served in
// this process is told to it here, everything else goes to the queues. So a chain that runs through
// the lanes of one agent has no queue between its links. It may be used by any number of
// goroutines.
type Notifier struct {
	// Log, when not nil, is told of notices that could not be sent: the engine leaves those to the
	// sweep without a word.
	Log *slog.Logger
	out state.Notifier

	mu          sync.Mutex
	dispatchers map[place]*dispatcher
}

// place is an agent of an environment.
type place struct{ env, agent string }

var _ state.Notifier = (*Notifier)(nil)

// NewNotifier returns a notifier before another one.
func NewNotifier(out state.Notifier) *Notifier {
	return &Notifier{out: out, dispatchers: map[place]*dispatcher{}}
}

// Notify implements state.Notifier.
func (n *Notifier) Notify(ctx context.Context, env string, notices []state.Notice) error {
	var remote []state.Notice
	for _, r := range notices {
		if d := n.dispatcher(env, state.AgentOf(r.Lane)); d == nil || !d.accept(r.Lane, r.Done) {
			remote = append(remote, r)
		}
	}
	if len(remote) == 0 {
		return nil
	}
	err := n.out.Notify(ctx, env, remote)
	if err != nil && n.Log != nil {
		n.Log.WarnContext(ctx, "lanes were not notified", "environment", env, "lanes", len(remote),
			"error", err.Error())
	}
	return err
}

// Await is deploy.Config.Await: a worker with nothing ready waits here as long as another lane of
// its agent works in this process.
func (n *Notifier) Await(
	ctx context.Context, env, lane string, wait time.Duration,
) ([]resource.ID, bool) {
	if d := n.dispatcher(env, state.AgentOf(lane)); d != nil {
		return nil, d.await(ctx, lane, wait)
	}
	return nil, false
}

func (n *Notifier) dispatcher(env, agent string) *dispatcher {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dispatchers[place{env, agent}]
}

// inbox is what a lane was notified of and has not taken yet.
type inbox struct {
	notified bool
	all      bool // everything has to be looked at
	done     []resource.ID
}

func (b *inbox) add(done []resource.ID) {
	b.notified = true
	b.all = b.all || len(done) == 0
	b.done = append(b.done, done...)
}

// take empties the box.
func (b *inbox) take() (done []resource.ID, notified bool) {
	out := *b
	*b = inbox{}
	if out.all {
		return nil, out.notified
	}
	return out.done, out.notified
}
