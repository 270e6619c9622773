// Package child starts programs whose processes do not outlive this process.
//
// Each program leads a process group of its own. The group is in the Table of the context from
// before the program runs until the program has ended. If the program was ended early, the group
// stays in the table until all processes of the group and all descendants have ended. The leader of
// a group in the table is not reaped, so its number belongs to no other process. A program that is
// about to end calls Table.End. See docs/design/processes.md.
package child

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
)

// Table holds the groups that a process has started. A nil Table starts programs as well, but does
// not hold them.
type Table struct {
	mu     sync.Mutex
	over   bool
	groups map[*Group]bool
	starts chan func()
}

// ErrOver reports that no program is started, as this process is about to end.
var ErrOver = errors.New("nothing more is started: the program is about to end")

type tableKey struct{}

// With returns a context whose programs are held in a table.
func With(ctx context.Context, t *Table) context.Context {
	return context.WithValue(ctx, tableKey{}, t)
}

// Of returns the table of a context, or nil.
func Of(ctx context.Context) *Table {
	t, _ := ctx.Value(tableKey{}).(*Table)
	return t
}

// Options are properties of a group.
type Options struct {
	// Last is the signal that the leader receives when this process is killed, on systems that
	// support it; 0: none.
	Last syscall.Signal
	// Guard, when not nil, requests that the leader ends all processes that it has started, and
	// then itself. Kill waits until the leader has ended before it kills the remaining processes.
	Guard func()
	// Spared, when not nil, reports whether a process may outlive the group of a leader.
	Spared func(leader int, p Process) bool
}

// Group is a program with all processes that it has started.
type Group struct {
	Cmd *exec.Cmd

	o      Options
	table  *Table
	out    outputs
	exited chan struct{} // closed: the leader has ended; it is not reaped yet
	err    error         // from Cmd.Wait

	mu     sync.RWMutex // held for reading while the group is being terminated
	reaped bool

	seen  sync.Mutex
	known map[int]Process // all processes of the group found while it was being terminated
}

// Start starts cmd as the leader of a group. The caller calls Wait.
func (t *Table) Start(cmd *exec.Cmd, o Options) (*Group, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	g := &Group{Cmd: cmd, o: o, table: t, exited: make(chan struct{})}
	if err := g.out.take(cmd); err != nil {
		return nil, err
	}
	var err error
	if t == nil {
		err = cmd.Start()
	} else {
		lastSignal(cmd.SysProcAttr, o.Last)
		err = t.start(g)
	}
	g.out.begin()
	if err != nil {
		g.out.end()
		return nil, err
	}
	go func() {
		defer close(g.exited)
		g.awaitExit()
	}()
	return g, nil
}

// start starts a program in the table. One thread starts all programs and never ends, because the
// system treats the end of the starting thread as the end of the parent.
func (t *Table) start(g *Group) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return ErrOver
	}
	if t.starts == nil {
		t.groups, t.starts = map[*Group]bool{}, make(chan func())
		go func() {
			runtime.LockOSThread()
			for start := range t.starts {
				start()
			}
			select {} // the goroutine keeps its thread
		}()
	}
	done := make(chan error)
	t.starts <- func() { done <- g.Cmd.Start() }
	if err := <-done; err != nil {
		return err
	}
	t.groups[g] = true
	return nil
}

func (t *Table) remove(g *Group) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.groups, g)
}

// End ends all groups, and returns when all of their processes have ended. Later starts are
// rejected. End returns the processes that remain because a disk or a driver blocks them. They have
// been killed, and end without running any further code.
func (t *Table) End() []int {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	t.over = true
	all := make([]*Group, 0, len(t.groups))
	for g := range t.groups {
		all = append(all, g)
	}
	t.mu.Unlock()
	var wg sync.WaitGroup
	left := make([][]int, len(all))
	for i, g := range all {
		wg.Go(func() { left[i] = g.Kill() })
	}
	wg.Wait()
	return slices.Concat(left...)
}

// Exited returns a channel that is closed when the leader has ended.
func (g *Group) Exited() <-chan struct{} { return g.exited }

// PID returns the process id of the leader, which is also the id of the group.
func (g *Group) PID() int { return g.Cmd.Process.Pid }

// Wait waits until the leader has ended and its output has been read, and removes the group from
// the table.
func (g *Group) Wait() error {
	<-g.exited
	g.out.end()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reaped = true
	g.table.remove(g)
	if g.Cmd.ProcessState == nil {
		g.err = g.Cmd.Wait()
	}
	return g.err
}
