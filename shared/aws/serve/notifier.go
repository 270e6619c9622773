package serve

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

	mu    sync.Mutex
	desks map[place]*desk
}

// place is an agent of an environment.
type place struct{ env, agent string }

var _ state.Notifier = (*Notifier)(nil)

// NewNotifier returns a notifier before another one.
func NewNotifier(out state.Notifier) *Notifier {
	return &Notifier{out: out, desks: map[place]*desk{}}
}

// Notify implements state.Notifier.
func (b *Notifier) Notify(ctx context.Context, env string, notices []state.Notice) error {
	var far []state.Notice
	for _, r := range notices {
		if d := b.desk(env, state.AgentOf(r.Lane)); d == nil || !d.told(r.Lane, r.Done) {
			far = append(far, r)
		}
	}
	if len(far) == 0 {
		return nil
	}
	err := b.out.Notify(ctx, env, far)
	if err != nil && b.Log != nil {
		b.Log.WarnContext(ctx, "lanes were not notified", "environment", env, "lanes", len(far), "error", err.Error())
	}
	return err
}

// Await is deploy.Config.Await: a worker with nothing ready waits here as long as another lane of
// its agent works in this process.
func (b *Notifier) Await(
	ctx context.Context, env, lane string, d time.Duration,
) ([]resource.ID, bool) {
	if desk := b.desk(env, state.AgentOf(lane)); desk != nil {
		return nil, desk.await(ctx, lane, d)
	}
	return nil, false
}

func (b *Notifier) desk(env, agent string) *desk {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.desks[place{env, agent}]
}

// box is what was told of a lane and not heard yet.
type box struct {
	notified bool
	all      bool // everything has to be looked at
	done     []resource.ID
}

func (b *box) add(done []resource.ID) {
	b.notified = true
	b.all = b.all || len(done) == 0
	b.done = append(b.done, done...)
}

// take empties the box.
func (b *box) take() (done []resource.ID, notified bool) {
	out := *b
	*b = box{}
	if out.all {
		return nil, out.notified
	}
	return out.done, out.notified
}
