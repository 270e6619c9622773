package serve

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Bell is the doorbell of a process that serves lanes: what is rung for an agent that is served in
// this process is told to it here, everything else goes to the queues. So a chain that runs through
// the lanes of one agent has no queue between its links. It may be used by any number of
// goroutines.
type Bell struct {
	// Log, when not nil, is told of rings that could not be sent: the engine leaves those to the
	// sweep without a word.
	Log *slog.Logger
	out state.Doorbell

	mu    sync.Mutex
	desks map[place]*desk
}

// place is an agent of an environment.
type place struct{ env, agent string }

var _ state.Doorbell = (*Bell)(nil)

// NewBell returns a doorbell before another one.
func NewBell(out state.Doorbell) *Bell { return &Bell{out: out, desks: map[place]*desk{}} }

// Ring implements deploy.Doorbell.
func (b *Bell) Ring(ctx context.Context, env string, rings []state.Ring) error {
	var far []state.Ring
	for _, r := range rings {
		if d := b.desk(env, state.AgentOf(r.Lane)); d == nil || !d.told(r.Lane, r.Done) {
			far = append(far, r)
		}
	}
	if len(far) == 0 {
		return nil
	}
	err := b.out.Ring(ctx, env, far)
	if err != nil && b.Log != nil {
		b.Log.WarnContext(ctx, "lanes were not rung", "environment", env, "lanes", len(far), "error", err.Error())
	}
	return err
}

// Await is deploy.Config.Await: a worker with nothing ready waits here as long as another lane of
// its agent works in this process.
func (b *Bell) Await(ctx context.Context, env, lane string, d time.Duration) ([]resource.ID, bool) {
	if desk := b.desk(env, state.AgentOf(lane)); desk != nil {
		return nil, desk.await(ctx, lane, d)
	}
	return nil, false
}

func (b *Bell) desk(env, agent string) *desk {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.desks[place{env, agent}]
}

// box is what was told of a lane and not heard yet.
type box struct {
	rung bool
	all  bool // everything has to be looked at
	done []resource.ID
}

func (b *box) add(done []resource.ID) {
	b.rung = true
	b.all = b.all || len(done) == 0
	b.done = append(b.done, done...)
}

// take empties the box.
func (b *box) take() (done []resource.ID, rung bool) {
	out := *b
	*b = box{}
	if out.all {
		return nil, out.rung
	}
	return out.done, out.rung
}
