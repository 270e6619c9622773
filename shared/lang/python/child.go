package python

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"southbound/shared/fault"
)

//go:embed host/*.py
var program embed.FS

// child is a process of Python with the pipes to it.
type child struct {
	python  string // its program
	most    int64  // how many bytes it may hold; 0: any number
	cmd     *exec.Cmd
	in      *os.File
	out     *bufio.Reader
	outFile *os.File
	alive   *os.File // the process ends when this is closed, as when this program ends
	said    tail
	exited  chan struct{}
	why     atomic.Pointer[string] // why it was ended; nil as long as it was not
	once    sync.Once              // it is closed
	mark    string
	since   atomic.Pointer[moment] // what was started since ends with the process, wherever it went
	doing   atomic.Pointer[string] // what goes on; nil: nothing
	began   *moment                // all that was started before is of others
}

// newChild starts the process that Options are about.
func newChild(o Options) (*child, error) {
	c := &child{
		python: o.Python, most: o.Memory, mark: rand.Text(), exited: make(chan struct{}),
		began: now(),
	}
	boot, err := program.ReadFile("host/boot.py")
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "read the host", err)
	}
	theirs, err := c.pipes()
	if err != nil {
		return nil, err
	}
	c.cmd = exec.Command(o.Python, "-X", "utf8", "-c", string(boot))
	c.cmd.Dir = o.Dir
	c.cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONSAFEPATH=1", markName+"="+c.mark)
	if path := o.Path; len(path) > 0 {
		if also := os.Getenv("PYTHONPATH"); also != "" {
			path = append(slices.Clone(path), also)
		}
		c.cmd.Env = append(c.cmd.Env,
			"PYTHONPATH="+strings.Join(path, string(os.PathListSeparator)))
	}
	c.cmd.ExtraFiles = theirs
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.WaitDelay = time.Second
	err = c.cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll([]*os.File{c.in, c.outFile, c.alive})
		return nil, fault.New(fault.Invalid, "run Python", "%s cannot be started: %v; make the "+
			"virtual environment anew, such as with `southbound project install`", o.Python, err)
	}
	go func() {
		_ = c.cmd.Wait()
		c.kill() // what it has left behind
		// What has left its group may hold the pipes: what was written is read, and no more is
		// awaited.
		soon := time.Now().Add(time.Second)
		_, _ = c.outFile.SetReadDeadline(soon), c.in.SetWriteDeadline(soon)
		close(c.exited)
	}()
	if o.Memory > 0 {
		go c.watch()
	}
	return c, nil
}

// pipes makes the pipes to a process, and returns its ends of them.
func (c *child) pipes() (theirs []*os.File, err error) {
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
	out, err := newEager(c.outFile)
	if err != nil {
		closeAll(all)
		return nil, fault.Wrap(fault.Unavailable, "make a pipe", err)
	}
	c.out = bufio.NewReaderSize(out, 1<<16)
	return []*os.File{all[0], all[3], all[4]}, nil
}

// cacheFolder returns the folder in which the host keeps what later processes can do without making
// anew; "" if there is none that belongs to the user. It may not be there yet.
func cacheFolder(files map[string]string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	info, err := os.Stat(cache)
	if err != nil {
		info, err = os.Stat(filepath.Dir(cache))
	}
	if err != nil {
		return ""
	}
	// That of somebody else is left alone, such as where sudo keeps HOME.
	if at, ok := info.Sys().(*syscall.Stat_t); !ok || int(at.Uid) != os.Geteuid() {
		return ""
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = io.WriteString(sum, name+"\x00"+files[name]+"\x00") // which cannot fail
	}
	return filepath.Join(cache, "southbound", "python", hex.EncodeToString(sum.Sum(nil)[:8]))
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// boot sends the modules of the host, the first frame.
func (c *child) boot() error {
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
	body, err := json.Marshal([]any{files, cacheFolder(files)})
	if err != nil {
		return fault.Wrap(fault.Internal, "send the host", err)
	}
	_ = writeFrame(c.in, body) // one that is gone is noticed with its first answer
	return nil
}

// close ends the process.
func (c *child) close() {
	c.once.Do(func() {
		_ = c.in.Close()
		select {
		case <-c.exited:
		case <-time.After(2 * time.Second):
		}
		c.kill()
		<-c.exited
		_, _ = c.outFile.Close(), c.alive.Close()
	})
}

// stop ends the process because a call takes too long: it says first where it is.
func (c *child) stop(why string) {
	c.why.CompareAndSwap(nil, &why)
	_ = c.cmd.Process.Signal(syscall.SIGUSR1)
	select {
	case <-c.exited:
	case <-time.After(300 * time.Millisecond):
	}
	c.kill()
}
