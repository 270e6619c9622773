package local

import (
	"context"
	"sync"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Notifier works within one process. It merges notices of the same lane until they are answered.
// Notices do not reach other processes; those find their work in the state.
type Notifier struct {
	mu    sync.Mutex
	lanes map[laneKey]*unanswered
	wait  map[laneKey]chan bool // waiting workers; false: the worker's slot is needed
	any   chan struct{}         // closed and replaced at each notice without a waiting worker
}

type laneKey struct{ env, lane string }

// unanswered holds the merged notices of a lane that are not answered yet.
type unanswered struct {
	all  bool // the hints are incomplete: other resources may have changed
	done []resource.ID
}

// maxHints is the maximum number of hints kept for a lane. If there are more, the worker that
// answers reads everything again.
const maxHints = 10000

// NewNotifier returns a notifier without notices.
func NewNotifier() *Notifier {
	return &Notifier{lanes: map[laneKey]*unanswered{}, wait: map[laneKey]chan bool{},
		any: make(chan struct{})}
}

// Notify implements state.Notifier.
func (b *Notifier) Notify(_ context.Context, env string, notices []state.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	others := false
	for _, r := range notices {
		key := laneKey{env, r.Agent}
		have := b.lanes[key]
		if have == nil {
			have = &unanswered{}
			b.lanes[key] = have
		}
		if have.all = have.all || len(r.Done) == 0 || len(have.done) > maxHints; !have.all {
			have.done = append(have.done, r.Done...)
		}
		others = !b.wake(key, true) || others
	}
	if others {
		close(b.any)
		b.any = make(chan struct{})
	}
	return nil
}

// wake wakes the worker that awaits a notice of a lane, and reports whether there is one.
func (b *Notifier) wake(key laneKey, notified bool) bool {
	waiter, waits := b.wait[key]
	if waits {
		delete(b.wait, key)
		waiter <- notified
	}
	return waits
}

// Notified returns up to limit lanes of env that were notified and are not busy, without answering
// them. It also returns a channel that is closed at the next notice without a waiting worker.
func (b *Notifier) Notified(
	env string, limit int, busy map[string]bool,
) ([]string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lanes []string
	for key := range b.lanes {
		if len(lanes) >= limit {
			break
		}
		if key.env == env && !busy[key.lane] {
			lanes = append(lanes, key.lane)
		}
	}
	return lanes, b.any
}

// Spare stops up to n workers that await a notice of a lane of env, because other lanes need their
// slots.
func (b *Notifier) Spare(env string, n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for key := range b.wait {
		if n == 0 {
			return
		}
		if key.env == env {
			b.wake(key, false)
			n--
		}
	}
}

// Answer removes the notice of a lane and returns its hints. It returns false if there is no
// notice.
func (b *Notifier) Answer(env, lane string) ([]resource.ID, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	key := laneKey{env, lane}
	r := b.lanes[key]
	if r == nil {
		return nil, false
	}
	delete(b.lanes, key)
	if r.all {
		return nil, true
	}
	return r.done, true
}

// Await waits up to d until a lane is notified, and answers the notice. It implements
// deploy.Config.Await.
func (b *Notifier) Await(
	ctx context.Context, env, lane string, d time.Duration,
) ([]resource.ID, bool) {
	key, waiter := laneKey{env, lane}, make(chan bool, 1)
	b.mu.Lock()
	if b.lanes[key] == nil {
		b.wait[key] = waiter
	} else {
		waiter <- true
	}
	b.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-waiter:
	case <-timer.C:
	case <-ctx.Done():
	}
	b.mu.Lock()
	if b.wait[key] == waiter {
		delete(b.wait, key)
	}
	b.mu.Unlock()
	return b.Answer(env, lane)
}
