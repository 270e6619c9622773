package python

import (
	"context"
	"path/filepath"
	"time"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

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
	// Ask answers what the module lsm in Python asks of the inventory during a call; nil: nothing is
	// known there.
	Ask Ask
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
	conversation
	sources sources
	objects objects // that Python code has seen
	print   func(text string)
	ask     Ask
}

// Ask answers a question about the inventory, asked in a call of a plugin.
type Ask func(c *eval.Context, what string, args []types.Value) (types.Value, error)

// Start starts the process. It ends with Close, or when the context does.
func Start(ctx context.Context, o Options) (*Host, error) {
	if o.Call == 0 {
		o.Call = defaultCall
	}
	c, err := newProcess(ctx, o)
	if err != nil {
		return nil, err
	}
	h := &Host{objects: objects{}, print: o.Print}
	h.sources.python = o.Python
	h.Use(o)
	h.conversation = conversation{
		process: c, ctx: ctx, limit: o.Call, daemons: o.Daemons, tag: h.objects.tag,
		inModule: h.sources.inModule,
	}
	return h, c.boot()
}

// Use has a running host serve another model. Modules that were imported stay so.
func (h *Host) Use(o Options) {
	h.sources.dir, h.sources.modules = o.Dir, o.Modules
	h.ask = o.Ask
	h.sources.shownAs = filepath.Clean(o.Shown)
}

// Limit says how long one call may take from now on.
func (h *Host) Limit(d time.Duration) { h.limit = d }

// Done says that nothing more is asked. The process ends meanwhile; Close waits for that.
func (h *Host) Done() { _ = h.in.Close() }

// Close ends the process.
func (h *Host) Close() { h.process.close() }

// Drop ends the process at once. It is for one that has run nothing of a module yet.
func (h *Host) Drop() {
	h.kill()
	h.Close()
}
