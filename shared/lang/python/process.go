package python

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"southbound/shared/child"
	"southbound/shared/fault"
	"southbound/shared/patience"
)

//go:embed host/*.py
var program embed.FS

// process is a Python process with its pipes. Its parent is a guard, which leads the process group;
// see host/guard.py.
type process struct {
	python  string // its program
	most    int64  // limit of the bytes that it holds; 0: none
	group   *child.Group
	pid     atomic.Int64 // 0: not known yet
	in      *os.File
	out     *bufio.Reader
	outFile *os.File
	alive   *os.File // closing it, as the exit of this program does, makes the guard end all processes
	said    tail
	exited  chan struct{}
	why     atomic.Pointer[string] // why it was stopped; nil if it was not
	once    sync.Once              // guards close
	doing   atomic.Pointer[string] // the current task; nil: none
}

const (
	// afterExit is how long pipes are still read if a daemon holds them open after the exit.
	afterExit = time.Second
	// toFinish is how long the process may take to exit after its input is closed.
	toFinish = 2 * time.Second
	// toSay is how long the process may take to write its stack.
	toSay = 300 * time.Millisecond
)

// newProcess starts a process with the options.
func newProcess(ctx context.Context, o Options) (*process, error) {
	c := &process{python: o.Python, most: o.Memory, exited: make(chan struct{})}
	guard, err := program.ReadFile("host/guard.py")
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "read the host", err)
	}
	boot, err := program.ReadFile("host/boot.py")
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "read the host", err)
	}
	theirs, err := c.pipes()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(o.Python, "-X", "utf8", "-c", string(guard)+string(boot))
	cmd.Dir = o.Dir
	cmd.Env = o.Environment
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(slices.Clone(cmd.Env), "PYTHONHASHSEED=0", "PYTHONSAFEPATH=1")
	if path := o.Path; len(path) > 0 {
		if also := os.Getenv("PYTHONPATH"); also != "" && o.Environment == nil {
			path = append(slices.Clone(path), also)
		}
		cmd.Env = append(cmd.Env,
			"PYTHONPATH="+strings.Join(path, string(os.PathListSeparator)))
	}
	cmd.ExtraFiles = theirs
	cmd.Stdout, cmd.Stderr = &c.said, &c.said
	limits := child.Options{Guard: func() { _ = c.alive.Close() }}
	if o.Daemons {
		limits.Spared = func(leader int, p child.Process) bool { return p.Group != leader }
	}
	c.group, err = child.Of(ctx).Start(cmd, limits)
	closeAll(theirs)
	if err != nil {
		closeAll([]*os.File{c.in, c.outFile, c.alive})
		if errors.Is(err, child.ErrOver) {
			return nil, fault.Wrap(fault.Canceled, "run Python", err)
		}
		return nil, fault.New(fault.Invalid, "run Python", "%s cannot be started: %v; create the "+
			"virtual environment again, such as with `southbound project install`", o.Python, err)
	}
	go c.await()
	if o.Memory > 0 {
		go c.watch()
	}
	return c, nil
}

// await waits for the end of the process and of its descendants.
func (c *process) await() {
	<-c.group.Exited()
	c.group.Kill() // in case the guard was killed
	_ = c.group.Wait()
	patience.AfterFunc(afterExit, func() {
		past := time.Unix(1, 0)
		_, _ = c.outFile.SetReadDeadline(past), c.in.SetWriteDeadline(past)
	})
	close(c.exited)
}

// pipes creates the pipes to a process, and returns the child's ends.
func (c *process) pipes() (theirs []*os.File, err error) {
	var all []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(all)
			return nil, fault.Wrap(fault.Unavailable, "make a pipe", err)
		}
		all = append(all, r, w)
	}
	c.in, c.outFile, c.alive = all[1], all[2], all[5]
	c.out = bufio.NewReaderSize(c.outFile, 1<<16)
	return []*os.File{all[0], all[3], all[4]}, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// boot sends the modules of the host as the first frame.
func (c *process) boot() error {
	files := map[string]string{}
	entries, err := program.ReadDir("host")
	if err != nil {
		return fault.Wrap(fault.Internal, "read the host", err)
	}
	for _, e := range entries {
		text, err := program.ReadFile("host/" + e.Name())
		if err != nil {
			return fault.Wrap(fault.Internal, "read the host", err)
		}
		files[strings.TrimSuffix(e.Name(), ".py")] = string(text)
	}
	body, err := json.Marshal(files)
	if err != nil {
		return fault.Wrap(fault.Internal, "send the host", err)
	}
	_ = writeFrame(c.in, body) // if the process is gone, reading its first answer fails
	return nil
}

// close ends the process.
func (c *process) close() {
	c.once.Do(func() {
		_ = c.in.Close()
		c.endedWithin(toFinish)
		c.kill()
		_, _ = c.outFile.Close(), c.alive.Close()
	})
}

// endedWithin waits up to d for the end of the process.
func (c *process) endedWithin(d time.Duration) {
	over, release := patience.After(d)
	defer release()
	select {
	case <-c.exited:
	case <-over:
	}
}

// kill ends the process and its descendants, except daemons of calls that ended well.
func (c *process) kill() {
	c.group.Kill()
	<-c.exited
}

// stop ends the process early, and first makes it write its stack to standard error.
func (c *process) stop(why string) {
	c.why.CompareAndSwap(nil, &why)
	_ = c.group.Cmd.Process.Signal(syscall.SIGUSR1)
	c.endedWithin(toSay)
	c.kill()
}

// spareDaemonsBefore makes daemons that started before a moment outlive the process.
func (c *process) spareDaemonsBefore(m moment) {
	_, _ = fmt.Fprintf(c.alive, "%d %d\n", m.hundredths, m.last) // without a guard, no daemon is spared
}
