package python

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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
	"southbound/shared/lang/types"
)

//go:embed host/*.py
var program embed.FS

// defaultCall is how long one call may take unless Options say otherwise.
const defaultCall = 10 * time.Minute

// Options say what to run.
type Options struct {
	Python  string // the program, in the virtual environment of the project
	Dir     string // of the project, absolute
	Shown   string // how Dir is written in messages
	Modules []Module
	// Path are folders, absolute, in which Python looks for packages before its own.
	Path []string
	// Print gets what Python code prints when no call of a model goes on; it may be nil.
	Print func(text string)
	// Call bounds one call of Python code; 0 stands for 10 minutes.
	Call time.Duration
	// Memory is how many bytes the process may hold, with all that it has started; 0: any number.
	Memory int64
	// Daemons says that what Python code has started in a session of its own may outlive the
	// process, if the call that did so has come to its end.
	Daemons bool
}

// Host is a process that holds the Python code of a project. It is used by one goroutine.
type Host struct {
	o       Options
	ctx     context.Context
	cmd     *exec.Cmd
	in      *os.File
	out     *bufio.Reader
	outFile *os.File
	alive   *os.File // the process ends when this is closed, as when this program ends
	said    tail
	exited  chan struct{}
	why     atomic.Pointer[string] // why it was ended; nil as long as it was not
	buffer  []byte
	write   []byte
	objects map[int64]types.Object // that Python code has seen
	close   sync.Once
	whole   bool // the last conversation has come to its end
	spoken  bool // it has said something: it is a Python that can be used
	mark    string
	since   atomic.Pointer[moment] // what was started since ends with the process, wherever it went
	doing   atomic.Pointer[string] // what goes on; nil: nothing
}

// Start starts the process. It ends with Close, or when the context does.
func Start(ctx context.Context, o Options) (*Host, error) {
	if o.Call == 0 {
		o.Call = defaultCall
	}
	h := &Host{
		o: o, ctx: ctx, mark: rand.Text(), exited: make(chan struct{}),
		objects: map[int64]types.Object{},
	}
	boot, err := program.ReadFile("host/boot.py")
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "read the host", err)
	}
	theirs, err := h.pipes()
	if err != nil {
		return nil, err
	}
	h.cmd = exec.Command(
		o.Python,
		"-X",
		"utf8",
		"-c",
		string(boot),
	)
	h.cmd.Dir = o.Dir
	h.cmd.Env = append(os.Environ(), "PYTHONHASHSEED=0", "PYTHONSAFEPATH=1", markName+"="+h.mark)
	if path := o.Path; len(path) > 0 {
		if also := os.Getenv("PYTHONPATH"); also != "" {
			path = append(slices.Clone(path), also)
		}
		h.cmd.Env = append(h.cmd.Env,
			"PYTHONPATH="+strings.Join(path, string(os.PathListSeparator)))
	}
	h.cmd.ExtraFiles = theirs
	h.cmd.Stdout, h.cmd.Stderr = &h.said, &h.said
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	h.cmd.WaitDelay = time.Second
	err = h.cmd.Start()
	closeAll(theirs)
	if err != nil {
		closeAll([]*os.File{h.in, h.outFile, h.alive})
		return nil, fault.New(fault.Invalid, "run Python", "%s cannot be started: %v; make the "+
			"virtual environment anew, such as with `southbound project install`", o.Python, err)
	}
	go func() {
		_ = h.cmd.Wait()
		h.kill() // what it has left behind
		// What has left its group may hold the pipes: what was written is read, and no more is
		// awaited.
		soon := time.Now().Add(time.Second)
		_, _ = h.outFile.SetReadDeadline(soon), h.in.SetWriteDeadline(soon)
		close(h.exited)
	}()
	if o.Memory > 0 {
		go h.watch()
	}
	return h, h.boot()
}

// pipes makes the pipes to a process, and returns its ends of them.
func (h *Host) pipes() (theirs []*os.File, err error) {
	var all []*os.File
	for range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(all)
			return nil, fault.Wrap(fault.Unavailable, "make a pipe", err)
		}
		all = append(all, r, w)
	}
	h.in, h.outFile, h.alive = all[1], all[2], all[5]
	out, err := newEager(h.outFile)
	if err != nil {
		closeAll(all)
		return nil, fault.Wrap(fault.Unavailable, "make a pipe", err)
	}
	h.out = bufio.NewReaderSize(out, 1<<16)
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
func (h *Host) boot() error {
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
	_ = writeFrame(h.in, body) // one that is gone is noticed with its first answer
	return nil
}

// Limit says how long one call may take from now on.
func (h *Host) Limit(d time.Duration) { h.o.Call = d }

// Close ends the process.
func (h *Host) Close() {
	h.close.Do(func() {
		_ = h.in.Close()
		select {
		case <-h.exited:
		case <-time.After(2 * time.Second):
		}
		h.kill()
		<-h.exited
		_, _ = h.outFile.Close(), h.alive.Close()
	})
}

// begin says that a call begins which is all that Python code does until end.
func (h *Host) begin() {
	h.whole = false
	if h.o.Daemons {
		h.since.Store(now())
	}
}

// end says that a call has come to its end: what it has left behind is meant to stay.
func (h *Host) end() {
	h.whole = true
	if h.o.Daemons {
		h.since.Store(&never)
	}
}

// stop ends the process because a call takes too long: it says first where it is.
func (h *Host) stop(why string) {
	h.why.CompareAndSwap(nil, &why)
	_ = h.cmd.Process.Signal(syscall.SIGUSR1)
	select {
	case <-h.exited:
	case <-time.After(300 * time.Millisecond):
	}
	h.kill()
}

// loading is what a process does first.
const loading = "the import of modules"

// errGone says that a conversation has ended too early.
var errGone = errors.New("the Python process has ended")

// answer answers a message: more is false for one that ends the conversation, and reply is nil for
// one that asks nothing. It may use b for the reply.
type answer func(kind string, v []types.Value, b []byte) (reply []byte, more bool, err error)

// converse sends a message and answers what comes until the conversation ends.
func (h *Host) converse(
	message []byte, what string, answer answer,
) (kind string, v []types.Value, err error) {
	limit := time.AfterFunc(h.o.Call, func() {
		h.stop(fmt.Sprintf("%s had not ended after %s", what, h.o.Call))
	})
	defer limit.Stop()
	over := context.AfterFunc(h.ctx, func() { h.stop("") })
	defer over()
	outer := h.doing.Swap(&what) // such as a test in Python, which has a model compiled
	defer h.doing.Store(outer)
	for more := true; more; {
		if message != nil {
			if err := writeFrame(h.in, message); err != nil {
				return "", nil, h.gone(what, err)
			}
			h.write = message
		}
		if h.buffer, err = readFrame(h.out, h.buffer); err != nil {
			return "", nil, h.gone(what, err)
		}
		h.spoken = true
		p := parser{text: h.buffer, tag: h.tag}
		if kind, v, err = p.message(); err != nil {
			return "", nil, err
		}
		if message, more, err = answer(kind, v, h.write[:0]); err != nil {
			return "", nil, err
		}
	}
	return kind, v, nil
}

// gone says why the process is gone.
func (h *Host) gone(what string, err error) error {
	if cause := context.Cause(h.ctx); cause != nil {
		return fault.Wrap(fault.KindOf(cause), "run Python", cause)
	}
	select {
	case <-h.exited:
	case <-time.After(2 * time.Second): // it has closed the pipe only
		h.kill()
		<-h.exited
	}
	said := h.said.last()
	if why := h.why.Load(); why != nil && *why != "" {
		return &Ended{What: *why, Said: said}
	}
	state := h.cmd.ProcessState
	if state != nil && !h.spoken && what == loading {
		return &Ended{
			What: fmt.Sprintf("%s is not a Python that can be used (%s); make the virtual "+
				"environment anew, such as with `southbound project install`", h.o.Python, state),
			Said: said}
	}
	if state != nil {
		return &Ended{What: what + " has ended the Python process: " + state.String(), Said: said}
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

// Ended says that the process has come to an end.
type Ended struct {
	What string // what it did, and how it ended
	Said string // what it wrote to standard error last
}

// Error implements error.
func (e *Ended) Error() string {
	if e.Said == "" {
		return e.What
	}
	return e.What + "; the last that it wrote:\n" + e.Said
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxSaid is how much of standard error is kept.
const maxSaid = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - maxSaid; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

// clear forgets what was written.
func (t *tail) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = t.text[:0]
}

// last returns the last lines.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?")), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return strings.TrimSpace(line) == "" || inLibrary(line)
	})
	const most = 12
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	return strings.Join(lines, "\n")
}

// inLibrary reports whether a line, where Python says on demand or in a crash where it is, is a
// place in this host or in the library, or tells what else it has loaded.
func inLibrary(line string) bool {
	return strings.HasPrefix(line, "Extension modules: ") ||
		strings.HasPrefix(line, `  File "`) && (strings.Contains(line, "<southbound>/") ||
			strings.Contains(line, `"<string>"`) ||
			strings.Contains(line, "/site-packages/inmanta/"))
}

var _ io.Writer = (*tail)(nil)
