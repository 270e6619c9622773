package python

import (
	"context"
	"path/filepath"
	"time"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// defaultCall is the time limit of one call if Options set none.
const defaultCall = 10 * time.Minute

// Options configure a Host.
type Options struct {
	Python  string   // the program, in the virtual environment of the project
	Dir     string   // of the project, an absolute path
	Shown   string   // how Dir is written in messages
	Modules []Module // with Python code
	// Others are the modules without Python code that runs: code of modules asks for their folders.
	Others []Module
	// Path lists absolute folders that Python searches for packages before its own.
	Path []string
	// Environment is the environment of the process; nil: that of this process.
	Environment []string
	// Print receives the output of Python code outside of calls of a model; it may be nil.
	Print func(text string)
	// Ask answers the questions of the Python module lsm about the inventory during a call. If Ask
	// is nil, those questions fail.
	Ask Ask
	// Call is the time limit of one call of Python code; 0 stands for 10 minutes.
	Call time.Duration
	// Memory limits the bytes that the process and its descendants hold; 0: no limit.
	Memory int64
	// Daemons spares processes that Python code has started in a session of their own: they outlive
	// the process if the call that started them ended well.
	Daemons bool
}

// Host is a process that runs the Python code of a project. One goroutine uses it.
type Host struct {
	conversation
	sources sources
	objects objects // instances that were sent to Python code
	print   func(text string)
	ask     Ask
}

// Ask answers a question about the inventory from a call of a plugin.
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
	return h, h.start()
}

// Use switches a running host to another model. Imported modules stay imported.
func (h *Host) Use(o Options) {
	h.sources.dir, h.sources.modules, h.sources.others = o.Dir, o.Modules, o.Others
	h.ask = o.Ask
	h.sources.shownAs = filepath.Clean(o.Shown)
}

// Limit sets the time limit of the following calls.
func (h *Host) Limit(d time.Duration) { h.limit = d }

// Done closes the input of the process, which then ends on its own. Close waits for that.
func (h *Host) Done() { _ = h.in.Close() }

// Close ends the process.
func (h *Host) Close() { h.process.close() }

// Drop kills the process immediately. Use it for a process that has not run code of a module yet.
func (h *Host) Drop() {
	h.kill()
	h.Close()
}
