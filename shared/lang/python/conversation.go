package python

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"southbound/shared/lang/types"
	"southbound/shared/patience"
)

// conversation is the exchange of messages with a process: each message gets one answer.
type conversation struct {
	*process
	ctx     context.Context
	limit   time.Duration // the time limit of one call
	daemons bool          // processes started by a call survive if that call ended well
	// inModule reports whether a file belongs to a module.
	inModule func(path string) bool
	// tag decodes a tagged value.
	tag    func(tag string, v types.Value) (types.Value, error)
	buffer []byte
	write  []byte
	whole  bool // the last call is complete
	spoken bool // the process has sent a message: it is a usable Python
}

// begin marks the start of a call. Python code runs only between begin and end.
func (c *conversation) begin() {
	c.whole = false
	if c.daemons {
		c.spareDaemonsBefore(now())
	}
}

// end marks the end of a call: processes that the call left behind are meant to stay.
func (c *conversation) end() {
	c.whole = true
	if c.daemons {
		c.spareDaemonsBefore(never)
	}
}

// loading names the first task of a process, for messages.
const loading = "the import of modules"

// errGone is returned if a conversation ends too early.
var errGone = errors.New("the Python process has ended")

// answer answers a message. It returns more = false for a message that ends the conversation, and a
// nil reply for a message that asks nothing. It may use b for the reply.
type answer func(kind string, v []types.Value, b []byte) (reply []byte, more bool, err error)

// stopLate stops the process at the time limit and at the end of the context, until release is
// called.
func (c *conversation) stopLate(what string) (release func()) {
	limit := patience.AfterFunc(c.limit, func() {
		c.stop(fmt.Sprintf("%s had not ended after %s", what, c.limit))
	})
	over := context.AfterFunc(c.ctx, func() { c.stop("") })
	return func() {
		limit.Stop()
		over()
	}
}

// start sends the host to the process. A process that does not read it is stopped.
func (c *conversation) start() error {
	defer c.stopLate("the start of Python")()
	return c.boot()
}

// converse sends a message and answers incoming messages until the conversation ends.
func (c *conversation) converse(
	message []byte, what string, answer answer,
) (kind string, v []types.Value, err error) {
	defer c.stopLate(what)()
	outer := c.doing.Swap(&what) // such as a test in Python, which requests a compilation
	defer c.doing.Store(outer)
	for more := true; more; {
		if message != nil {
			if err := writeFrame(c.in, message); err != nil {
				return "", nil, c.gone(what, err)
			}
			c.write = message
		}
		if c.buffer, err = readFrame(c.out, c.buffer); err != nil {
			return "", nil, c.gone(what, err)
		}
		p := parser{text: c.buffer, tag: c.tag}
		if kind, v, err = p.message(); err != nil {
			return "", nil, err
		}
		if kind == "pid" && len(v) == 1 {
			pid, _ := v[0].(int64)
			c.pid.Store(pid)
			message = nil
			continue
		}
		c.spoken = true
		if message, more, err = answer(kind, v, c.write[:0]); err != nil {
			return "", nil, err
		}
	}
	return kind, v, nil
}

// gone returns the reason why the process ended.
func (c *conversation) gone(what string, err error) error {
	c.endedWithin(toFinish)
	c.kill() // the process may have closed only the pipe
	said := c.said.last(c.inModule)
	if cause := context.Cause(c.ctx); cause != nil {
		return &Ended{What: what + " had not ended", Said: said, Cause: cause}
	}
	if why := c.why.Load(); why != nil && *why != "" {
		return &Ended{What: *why, Said: said}
	}
	state := c.group.Cmd.ProcessState
	if state != nil && !c.spoken && what == loading {
		return &Ended{
			What: fmt.Sprintf("%s is not a usable Python (%s); create the virtual "+
				"environment again, such as with `southbound project install`", c.python, state),
			Said: said}
	}
	if state != nil {
		return &Ended{What: what + " has ended the Python process: " + state.String(), Said: said}
	}
	return fmt.Errorf("%w: %w", errGone, err)
}

// Ended is the error of a process that has ended.
type Ended struct {
	What string // the task of the process, and how it ended
	Said string // the last text that the process wrote to standard error
	// Cause is why the context of the process ended; nil if the context has not ended.
	Cause error
}

// Unwrap returns the cause.
func (e *Ended) Unwrap() error { return e.Cause }

// Error implements error.
func (e *Ended) Error() string {
	if e.Said == "" {
		return e.What
	}
	return e.What + "; the last that it wrote:\n" + e.Said
}

// tail keeps the last maxSaid bytes that are written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxSaid is the number of bytes of standard error that are kept.
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

// clear removes the recorded text.
func (t *tail) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = t.text[:0]
}

// last returns the last lines. If some traceback lines are in modules (inModule reports that by
// path), the traceback lines outside of modules are left out.
func (t *tail) last(inModule func(path string) bool) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?")), "\n")
	lines = slices.DeleteFunc(lines, func(line string) bool {
		return strings.TrimSpace(line) == "" || inLibrary(line)
	})
	within := func(line string) bool { return inModule(placeOf(line)) }
	if slices.ContainsFunc(lines, within) {
		lines = slices.DeleteFunc(lines, func(line string) bool {
			return placeOf(line) != "" && !within(line)
		})
	}
	const most = 12
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	return strings.Join(lines, "\n")
}

// placeOf returns the path in a traceback line of Python; "" for any other line.
func placeOf(line string) string {
	rest, ok := strings.CutPrefix(line, `  File "`)
	path, _, quoted := strings.Cut(rest, `", line `)
	if !ok || !quoted {
		return ""
	}
	return path
}

// inLibrary reports whether a line of a traceback or of a crash dump is noise: a place in this host
// or in the library, or the list of loaded extension modules.
func inLibrary(line string) bool {
	return strings.HasPrefix(line, "Extension modules: ") ||
		strings.HasPrefix(line, `  File "`) && (strings.Contains(line, "<southbound>/") ||
			strings.Contains(line, `"<string>"`) ||
			strings.Contains(line, "/site-packages/inmanta/"))
}

var _ io.Writer = (*tail)(nil)
