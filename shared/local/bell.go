package local

import (
	"context"
	"sync"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/resource"
)

// Bell is the doorbell within one process. Rings of a lane that nobody has answered yet are merged into one. Rings do not reach other
// processes; those find work in the state.
type Bell struct {
	mu    sync.Mutex
	lanes map[laneKey]*rung
	any   chan struct{} // closed and replaced at every ring
}

type laneKey struct{ env, lane string }

type rung struct {
	all  bool // the hints do not name all that may have changed
	done []resource.ID
}

// mostHints bounds the hints kept for a lane. If there are more, whoever answers reads everything again.
const mostHints = 10000

// NewBell returns a doorbell that nobody has rung.
func NewBell() *Bell {
	return &Bell{lanes: map[laneKey]*rung{}, any: make(chan struct{})}
}

// Ring implements deploy.Doorbell.
func (b *Bell) Ring(_ context.Context, env string, rings []deploy.Ring) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range rings {
		key := laneKey{env, r.Lane}
		have := b.lanes[key]
		if have == nil {
			have = &rung{}
			b.lanes[key] = have
		}
		if have.all = have.all || len(r.Done) == 0 || len(have.done) > mostHints; !have.all {
			have.done = append(have.done, r.Done...)
		}
	}
	if len(rings) > 0 {
		close(b.any)
		b.any = make(chan struct{})
	}
	return nil
}

// Rung returns the lanes of env that were rung, without answering them, and a channel that is closed at the next ring.
func (b *Bell) Rung(env string) ([]string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var lanes []string
	for key := range b.lanes {
		if key.env == env {
			lanes = append(lanes, key.lane)
		}
	}
	return lanes, b.any
}

// Answer takes the ring of a lane and returns its hints; false if there is none.
func (b *Bell) Answer(env, lane string) ([]resource.ID, bool) {
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

// Await waits up to d until a lane is rung, and answers that. It is a deploy.Config.Await.
func (b *Bell) Await(ctx context.Context, env, lane string, d time.Duration) ([]resource.ID, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		_, next := b.Rung(env)
		if ids, ok := b.Answer(env, lane); ok {
			return ids, true
		}
		select {
		case <-next:
		case <-timer.C:
			return nil, false
		case <-ctx.Done():
			return nil, false
		}
	}
}
