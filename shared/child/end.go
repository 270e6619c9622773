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
	// stopLimit bounds the wait for processes to stop before they are killed. A process that waits
	// for a broken disk does not stop.
	stopLimit = time.Second
	// goneLimit bounds the wait for killed processes to end.
	goneLimit = 10 * time.Second
	// look is the first interval of polling whether a process has ended.
	look = 2 * time.Millisecond
)

// End requests the end of the group by SIGTERM, and kills the remaining processes after polite. If
// polite is 0, it kills the group immediately. End collects the descendants of the leader before
// the signal, since the leader may end before them. It returns the result of Kill.
func (g *Group) End(polite time.Duration) []int {
	if polite > 0 {
		g.ask()
		over, stop := patience.After(polite)
		defer stop()
		g.wait(over, g.empty)
	}
	return g.Kill()
}

// ask sends SIGTERM to the group, and then resumes the group and all descendants of its leader.
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

// wait polls until done returns true or over is closed.
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

// Kill kills the group and all descendants of its leader, and returns when all of them have ended.
// Descendants may be in groups of their own, which timeout(1) and setsid(1) create.
//
// Kill first stops all these processes. It repeats this until all are stopped and it finds no more,
// so that no process starts another one unseen. It kills children before their parents, because the
// system resumes a stopped group when its last parent outside the group ends.
//
// Kill does not find a process that has lost its parent and has left the group, as a daemon does on
// purpose, unless the leader adopts it. It returns the processes that do not end.
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

// stop stops the group and all descendants, and returns the depth of each process in the tree.
func (g *Group) stop() map[Process]int {
	found, stopped := map[Process]int{}, map[int]bool{}
	over, release := patience.After(stopLimit)
	defer release()
	calm := false // in the previous round, all processes were stopped and none was new
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

// descendants returns the group and all descendants that are not spared, each with its depth. It
// includes processes found by earlier calls, and their descendants, even if their parents have
// ended since.
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

// empty reports whether the whole group and its descendants have ended.
func (g *Group) empty() bool {
	select {
	case <-g.exited:
		return len(g.descendants()) == 0
	default:
		return false
	}
}

// gone waits until the group and all descendants have ended, and returns the processes that have
// not.
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

// Ended is the error of a program that was terminated because its context ended.
type Ended struct{ Cause error }

// Error implements error.
func (e *Ended) Error() string { return "it was ended: " + e.Cause.Error() }

// Unwrap returns the error of the context.
func (e *Ended) Unwrap() error { return e.Cause }

// Run runs cmd to its end and returns its error. If ctx ends first, Run ends cmd with all processes
// that it has started (see End), and the error is *Ended. A program that has ended by then keeps
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
		case <-g.exited: // the program ended before ctx, but this process noticed it late
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
