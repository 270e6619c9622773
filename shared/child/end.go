package child

import (
	"context"
	"maps"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"southbound/shared/patience"
)

const (
	// stopLimit bounds the wait for processes to stop before they are killed: one that waits for a
	// broken disk does not stop.
	stopLimit = time.Second
	// goneLimit bounds the wait for processes that were killed.
	goneLimit = 10 * time.Second
	// look is how often it is looked whether a process has ended.
	look = 2 * time.Millisecond
)

// End asks the group to end, with SIGTERM, and kills what is left of it after polite; 0: it kills
// the group immediately. What descends from the leader is found before, since that may end first.
// End returns what Kill does.
func (g *Group) End(polite time.Duration) []int {
	if polite > 0 {
		g.ask()
		over, stop := patience.After(polite)
		defer stop()
		g.wait(over, g.empty)
	}
	return g.Kill()
}

// ask sends SIGTERM to the group, and lets all that descends from its leader go on.
func (g *Group) ask() {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.reaped {
		return
	}
	found := g.stop()
	_ = syscall.Kill(-g.PID(), syscall.SIGTERM)
	_ = syscall.Kill(-g.PID(), syscall.SIGCONT)
	for p := range found {
		_ = syscall.Kill(p.PID, syscall.SIGCONT)
	}
}

// wait looks until done returns true or over is closed.
func (g *Group) wait(over <-chan struct{}, done func() bool) {
	for pause := look; ; pause = min(2*pause, 25*look) {
		if done() {
			return
		}
		select {
		case <-over:
			return
		case <-time.After(pause):
		}
	}
}

// Kill kills the group and all that descends from its leader, as timeout(1) and setsid(1) make
// groups of their own, and returns when all of these have ended. What stands between is stopped
// first, until all stand still and no more are found, so that none starts another one unseen.
// Children are killed before their parents: the system lets a stopped group go on when its last
// parent outside of it is gone. What has lost its parent and has left the group, as a daemon does on
// purpose, is not found, unless the leader adopts it. Kill returns the processes that do not end.
func (g *Group) Kill() []int {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.reaped {
		return nil
	}
	if g.o.Guard != nil {
		g.o.Guard()
		over, release := patience.After(goneLimit)
		defer release()
		select {
		case <-g.exited:
		case <-over:
		}
	}
	found := g.stop()
	order := slices.SortedFunc(maps.Keys(found),
		func(a, b Process) int { return found[b] - found[a] })
	for _, p := range order {
		if p.PID != g.PID() {
			_ = syscall.Kill(p.PID, syscall.SIGKILL)
		}
	}
	_ = syscall.Kill(-g.PID(), syscall.SIGKILL)
	return g.gone()
}

// stop stops the group and all that descends from it, and returns how deep each stands.
func (g *Group) stop() map[Process]int {
	found, stopped := map[Process]int{}, map[int]bool{}
	over, release := patience.After(stopLimit)
	defer release()
	calm := false // all that were found before stood still then
	g.wait(over, func() bool {
		more, moving := false, false
		for p, d := range g.descendants() {
			moving = moving || !p.still()
			p.State, p.Held = 0, 0
			if !stopped[p.PID] {
				more, stopped[p.PID] = true, true
				_ = syscall.Kill(p.PID, syscall.SIGSTOP)
			}
			found[p] = d
		}
		done := calm && !more && !moving
		calm = !more && !moving
		return done
	})
	return found
}

// descendants returns the group, all that descends from it and is not spared, and what that starts
// when its parents have ended, each with its depth.
func (g *Group) descendants() map[Process]int {
	all := map[int]Process{}
	for _, p := range Processes() {
		all[p.PID] = p
	}
	g.seen.Lock()
	defer g.seen.Unlock()
	out := map[Process]int{}
	for _, p := range all {
		ours, depth := false, 0
		for at := p; at.PID != 0 && depth <= len(all) && !g.spares(at); at = all[at.Parent] {
			ours = ours || at.Group == g.PID() || g.known[at.PID].Is(at)
			if at.PID == g.PID() {
				break
			}
			depth++
		}
		if ours && !p.Ended() {
			out[p] = depth
		}
	}
	for p := range out {
		if g.known == nil {
			g.known = map[int]Process{}
		}
		g.known[p.PID] = p
	}
	return out
}

func (g *Group) spares(p Process) bool { return g.o.Spared != nil && g.o.Spared(g.PID(), p) }

// empty reports whether all of the group and of its descendants have ended.
func (g *Group) empty() bool {
	select {
	case <-g.exited:
		return len(g.descendants()) == 0
	default:
		return false
	}
}

// gone waits until the group and all that descends from it have ended, and returns what has not.
func (g *Group) gone() (left []int) {
	over, stop := patience.After(goneLimit)
	defer stop()
	g.wait(over, func() bool {
		left = left[:0]
		for p := range g.descendants() {
			left = append(left, p.PID)
		}
		return len(left) == 0
	})
	if len(left) == 0 {
		<-g.exited
	}
	return left
}

// Ended is the error of a program that was ended because its context was.
type Ended struct{ Cause error }

// Error implements error.
func (e *Ended) Error() string { return "it was ended: " + e.Cause.Error() }

// Unwrap returns the error of the context.
func (e *Ended) Unwrap() error { return e.Cause }

// Run runs cmd to its end and returns its error. If ctx ends first, cmd is ended with all that it
// has started, see End, and the error is *Ended. A program that has come to its end by then has
// its own result. cmd must not come from exec.CommandContext.
func Run(ctx context.Context, cmd *exec.Cmd, polite time.Duration) error {
	if err := ctx.Err(); err != nil {
		return &Ended{err}
	}
	last := syscall.SIGKILL
	if polite > 0 {
		last = syscall.SIGTERM
	}
	g, err := Of(ctx).Start(cmd, Options{Last: last})
	if err != nil {
		return err
	}
	cut := false
	select {
	case <-g.exited:
	case <-ctx.Done():
		select {
		case <-g.exited: // what this process was too late to see
		default:
			cut = true
			g.End(polite)
		}
	}
	err = g.Wait()
	if cut {
		return &Ended{ctx.Err()}
	}
	return err
}
