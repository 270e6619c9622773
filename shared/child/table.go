// Package child starts programs of which nothing outlives this one.
//
// Each program leads a process group of its own. The group stands in the Table of the context from
// before the program runs until the program has ended and, if it was ended early, all of its group
// and its descendants have. As long as a group stands in the table, its leader is not reaped, so
// its number belongs to no other process. A program that is about to end calls Table.End. See
// docs/design/processes.md.
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

// Table holds the groups that a process has started. A nil Table holds nothing, and starts
// programs all the same.
type Table struct {
	mu     sync.Mutex
	over   bool
	groups map[*Group]bool
	starts chan func()
}

// ErrOver says that nothing more is started, as this process is about to end.
var ErrOver = errors.New("nothing more is started: the program is about to end")

type tableKey struct{}

// With returns a context whose programs stand in a table.
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
	// Last is the signal that the leader gets when this process is killed, where the system can do
	// that; 0: none.
	Last syscall.Signal
	// Guard, when not nil, asks the leader to end all that it has started and then itself. Kill
	// waits until the leader has ended before it ends the rest.
	Guard func()
	// Spared, when not nil, reports whether a process may outlive the group of a leader.
	Spared func(leader int, p Process) bool
}

// Group is a program with all that it has started.
type Group struct {
	Cmd *exec.Cmd

	o      Options
	table  *Table
	out    outputs
	exited chan struct{} // closed: the leader has ended; it is not reaped yet
	err    error         // of waiting for it

	mu     sync.RWMutex // held for reading while the group is being ended
	reaped bool

	seen  sync.Mutex
	known map[int]Process // all that was found of it while it was being ended
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

// start starts a program in the table. One thread starts all of them, and never ends: the system
// takes the end of the thread that has started a program for the end of its parent.
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
			select {} // it keeps its thread
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

// End ends all groups, and returns when all of their processes have ended. Nothing can be started
// afterwards. It returns the processes that are left, as a disk or a driver holds them: they were
// killed, and end without running any further.
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

// PID returns the number of the leader, and so of the group.
func (g *Group) PID() int { return g.Cmd.Process.Pid }

// Wait waits until the leader has ended and its output was read, and takes the group out of the
// table.
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
