package worker

import (
	"context"
	"maps"
	"slices"
	"sync"

	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

// Monitor protects the state of a worker, which its lanes share. A lane holds the monitor except
// while handlers run and while it waits.
type Monitor interface {
	sync.Locker
	// Go runs f in a new goroutine, which does not hold the monitor.
	Go(f func())
	// Wait releases the monitor until done returns true. It calls done with the monitor held.
	Wait(done func() bool)
}

// monitor is the Monitor of a process.
type monitor struct {
	sync.Mutex
	released *sync.Cond
}

// newMonitor returns a Monitor that no goroutine holds.
func newMonitor() Monitor {
	m := &monitor{}
	m.released = sync.NewCond(&m.Mutex)
	return m
}

// Unlock implements Monitor.
func (m *monitor) Unlock() {
	m.released.Broadcast()
	m.Mutex.Unlock()
}

// Go implements Monitor.
func (m *monitor) Go(f func()) { go f() }

// Wait implements Monitor.
func (m *monitor) Wait(done func() bool) {
	for !done() {
		m.released.Wait()
	}
}

// lanes are the goroutines of a worker. Each runs one batch at a time; together they run as many
// resources at a time as the agent has lanes.
type lanes struct {
	Monitor
	active int   // lanes that have not ended
	err    error // the first error of a lane, which ends all lanes
	// wake ends the wait of the lane that waits for a notice beside others; nil: no lane waits.
	wake context.CancelFunc
	// drains means that the agent is reached in another way now: lanes begin no batch until all have
	// ended, and the worker connects again.
	drains bool
	// open are the claims whose results are not recorded yet.
	open map[resource.ID]*claim
}

// crew is the part of a worker that serves its lanes.
type crew struct{ *worker }

// laneLimit returns how many lanes the agent has.
func (s *schedule) laneLimit() int { return max(s.agent.Lanes, 1) }

// serveLanes runs ready rows in lanes until none is ready. The caller holds the monitor; its
// goroutine becomes the first lane.
func (w crew) serveLanes(ctx context.Context) error {
	for {
		w.active = 1
		w.serveLane(ctx)
		w.Wait(func() bool { return w.active == 0 })
		if w.err != nil || !w.drains || ctx.Err() != nil {
			return w.err
		}
		w.drains = false
		if err := w.reload(ctx); err != nil {
			return err
		}
	}
}

// serveLane is one lane.
func (w crew) serveLane(ctx context.Context) {
	if err := w.runBatches(ctx); err != nil && w.err == nil {
		w.err = err
	}
	w.active--
	w.wakeWaiting()
}

// goesOn reports whether a lane may begin another batch.
func (w crew) goesOn() bool {
	return w.err == nil && !w.drains && w.active <= w.laneLimit()
}

// runBatches loops: claim, run, commit.
func (w crew) runBatches(ctx context.Context) error {
	for w.goesOn() {
		if err := ctx.Err(); err != nil {
			return nil // stopping is not a failure: the rest stays scheduled
		}
		claims := w.begun
		if w.begun = nil; len(claims) == 0 {
			var ends bool
			var err error
			if claims, ends, err = claiming(w).next(ctx); ends || err != nil {
				return err
			}
		}
		if len(claims) == 0 {
			continue
		}
		w.noticeTaken = false // otherwise the claim would have been refused
		w.startLanes(ctx)
		if err := (&batch{worker: w.worker, claims: claims}).work(ctx); err != nil {
			return err
		}
	}
	return nil
}

// startLanes starts more lanes if rows are ready for them.
func (w crew) startLanes(ctx context.Context) {
	w.wakeWaiting()
	for n := len(w.ready); n > 0 && w.active < w.laneLimit(); n-- {
		w.active++
		w.Go(func() {
			w.Lock()
			defer w.Unlock()
			w.serveLane(ctx)
		})
	}
}

// wakeWaiting ends the wait of the lane that waits for a notice.
func (l *lanes) wakeWaiting() {
	if l.wake != nil {
		l.wake()
	}
}

// share returns how many ready rows a lane takes at most, so that rows are left for idle lanes.
func (w crew) share() int {
	idle := max(w.laneLimit()-w.active, 0) + 1
	return max((len(w.ready)+idle-1)/idle, 1)
}

// openIDs returns the ids of the open claims, but for those that are being recorded.
func (l *lanes) openIDs() []resource.ID {
	var out []resource.ID
	for _, id := range slices.Sorted(maps.Keys(l.open)) {
		if !l.open[id].recording {
			out = append(out, id)
		}
	}
	return out
}

// settle removes claims from the open claims.
func (l *lanes) settle(claims []*claim) {
	for _, c := range claims {
		if l.open[c.row.ID] == c {
			delete(l.open, c.row.ID)
		}
	}
}

// release returns claims that do not run now to the queue.
func (w crew) release(claims []*claim) {
	w.settle(claims)
	for _, c := range claims {
		// a claim that was made in an earlier schedule may have left the graph
		if c.node >= 0 && w.frontier.ready(c.node) {
			w.push(c.node)
		}
	}
}

// findOpen finds the nodes of the open claims in the part of the graph that was read.
func (l *lanes) findOpen(g *version.Graph) {
	for id, c := range l.open {
		c.node = g.Node(id)
	}
}

// waitBeside waits for a notice while other lanes run. It returns false if the lane has to end,
// because another lane waits already. Without a notice, it checks the schedule: the process that
// serves an agent does not receive all its notices while it works.
func (w crew) waitBeside(ctx context.Context) (bool, error) {
	if w.wake != nil || w.Await == nil || !w.Clock.Now().Before(w.until) {
		return false, nil
	}
	waits, cancel := context.WithCancel(ctx)
	defer cancel()
	w.wake = cancel
	w.Unlock()
	began := w.Clock.Now()
	ids, notified := w.Await(waits, w.env, w.agentName, lookEvery)
	if rest := lookEvery - w.Clock.Now().Sub(began); !notified && rest > 0 && waits.Err() == nil {
		_ = w.Clock.Sleep(waits, rest) // a home may not wait for one agent only
	}
	w.Lock()
	w.wake = nil
	switch {
	case notified:
		w.noticeTaken = true
		return w.notified(ctx, ids)
	case waits.Err() != nil || len(w.ready) > 0:
		return true, nil
	}
	w.noticeTaken = true
	if again, err := w.replanned(ctx); again || err != nil {
		return true, err
	}
	done, err := w.finishedOf(ctx, w.waitsFor())
	if err != nil || len(done) == 0 {
		return err == nil, err
	}
	return w.notified(ctx, done)
}
