package logs

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"southbound/shared/deploy/state"
)

// Gatherer collects agents that ran, and notifies the log of several at a time. Any number of
// goroutines may use it.
type Gatherer struct {
	Notifier *Notifier // nil: no notices are sent
	Clock    state.Clock
	Log      *slog.Logger

	mu      sync.Mutex
	agents  map[string]map[string]bool // by environment
	waiting *waiting                   // nil: no goroutine collects agents
}

// waiting is a goroutine that collects agents for a while, and then notifies the log.
type waiting struct {
	end  context.CancelFunc
	done chan struct{}
}

// gather is how long agents are collected. It delays the log by that much.
const gather = time.Second

// Add records that an agent ran. The log is notified a second later, or by Flush.
func (g *Gatherer) Add(ctx context.Context, env, agent string) {
	if g.Notifier == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.agents == nil {
		g.agents = map[string]map[string]bool{}
	}
	if g.agents[env] == nil {
		g.agents[env] = map[string]bool{}
	}
	g.agents[env][agent] = true
	if g.waiting == nil {
		wait, end := context.WithCancel(ctx)
		g.waiting = &waiting{end, make(chan struct{})}
		go g.wait(wait, g.waiting)
	}
}

// wait notifies the log while agents are added. If ctx ends, wait returns without a notice.
func (g *Gatherer) wait(ctx context.Context, w *waiting) {
	defer close(w.done)
	defer w.end()
	for {
		if g.Clock.Sleep(ctx, gather) == nil {
			g.notice(context.WithoutCancel(ctx))
		}
		g.mu.Lock()
		over := ctx.Err() != nil || len(g.agents) == 0
		if over {
			g.waiting = nil
		}
		g.mu.Unlock()
		if over {
			return
		}
	}
}

// Flush notifies the log of all recorded agents, and returns after that.
func (g *Gatherer) Flush(ctx context.Context) {
	g.mu.Lock()
	w := g.waiting
	g.mu.Unlock()
	if w != nil {
		w.end()
		<-w.done
	}
	g.notice(context.WithoutCancel(ctx))
}

func (g *Gatherer) notice(ctx context.Context) {
	g.mu.Lock()
	agents := g.agents
	g.agents = nil
	g.mu.Unlock()
	for env, of := range agents {
		// the sweep logs the agents instead
		if err := g.Notifier.Notify(ctx, env, slices.Sorted(maps.Keys(of))...); err != nil {
			g.Log.WarnContext(ctx, "the log was not notified", "environment", env, "lanes", len(of),
				"error", err.Error())
		}
	}
}
