package provider

import (
	"context"
	"maps"
	"sync"
	"time"

	"southbound/shared/diff"
	"southbound/shared/resource"
)

// Level is the severity of a log line.
type Level string

// The levels, worst last.
const (
	LevelDebug   Level = "DEBUG"
	LevelInfo    Level = "INFO"
	LevelWarning Level = "WARNING"
	LevelError   Level = "ERROR"
)

// Line is one log line of an action.
type Line struct {
	At     time.Time      `json:"at"`
	Level  Level          `json:"level"`
	Msg    string         `json:"msg"`
	Kwargs map[string]any `json:"kwargs,omitempty"`
}

// UnmarshalJSON implements json.Unmarshaler. Whole numbers stay exact, as in diff.Diff.
func (l *Line) UnmarshalJSON(text []byte) error {
	type plain Line // without this method
	if err := diff.ReadJSON(text, (*plain)(l)); err != nil {
		return err
	}
	for name, v := range l.Kwargs {
		l.Kwargs[name] = diff.Numbers(v)
	}
	return nil
}

// Host is what a Context needs from whoever calls the handler; the engine implements it.
type Host interface {
	Log(line Line)
	Now() time.Time
	Changed(attribute string, d diff.Diff)
	Fact(name, value string)
	Files() Files
	Transport() any
	Secret(value string)
	// Provider is told which provider serves the run, and why.
	Provider(name, why string)
	// Override is told what the run has done, when that is not what the engine would infer.
	Override(change diff.Change)
	// Cache is the agent's; nil: nothing is kept.
	Cache() *Cache
}

// Options describe one run of a handler.
type Options struct {
	ID     resource.ID
	DryRun bool
	State  []byte // what the last Again carried
	Reload bool   // something required has changed
	// Desired is the resource of the run, when there is one.
	Desired Resource
	Version int // of the export that the run is for; 0: of none
	// Released is the version in force, which has the run's resource; 0: not known.
	Released int
	// Provider was chosen for the run by a call before; "": none was.
	Provider string
	// Known are facts that the handler remembers; see Rememberer.
	Known map[string]string
	// Stored is the resource of the run as its version has it; nil: there is none.
	Stored *resource.Resource
	// New says that no run of the resource has ended well before.
	New bool
}

// Context is handed to a handler for one run on one resource. It is not kept after the call.
//
// Large: it is all that a handler has of the program that calls it, a method for each thing that it
// may ask or report; handed over in parts, every capability would take several of them.
type Context struct {
	context.Context
	host  Host
	opts  *Options // shared by copies
	block *block
	run   *runState
}

// runState is what the contexts of one run share.
type runState struct {
	mu     sync.Mutex
	chosen *Provider
	named  string            // where it was chosen elsewhere
	known  map[string]string // facts of runs before, and of this one
}

// NewContext returns a context for one run.
func NewContext(ctx context.Context, host Host, opts Options) *Context {
	return &Context{Context: ctx, host: host, opts: &opts,
		run: &runState{known: maps.Clone(opts.Known)}}
}

// With returns a copy that uses ctx for cancellation.
func (c *Context) With(ctx context.Context) *Context {
	d := *c
	d.Context = ctx
	return &d
}

// WithState returns a copy with another state, see State.
func (c *Context) WithState(state []byte) *Context {
	d := *c
	opts := *c.opts
	opts.State = state
	d.opts = &opts
	return &d
}

// ID returns the identity of the resource.
func (c *Context) ID() resource.ID { return c.opts.ID }

// DryRun reports whether nothing may be changed.
func (c *Context) DryRun() bool { return c.opts.DryRun }

// State returns what the Again of the run before carried, or nil.
func (c *Context) State() []byte { return c.opts.State }

// Desired returns the resource of the run as the handler's calls get it. In List it has no
// attributes but those that say what is to be listed, by whoever asked for it; they may be of the
// wrong type.
func (c *Context) Desired() Resource { return c.opts.Desired }

// Stored returns the resource of the run as its version has it, with its flags and requirements,
// and references to secrets; nil when it is not known. It must not be changed.
func (c *Context) Stored() *resource.Resource { return c.opts.Stored }

// New reports whether no run of the resource has ended well before: what this one makes has missed
// no change of what it requires.
func (c *Context) New() bool { return c.opts.New }

// Version returns the version that the run is for, 0 when there is none.
func (c *Context) Version() int { return c.opts.Version }

// Released returns the version of the environment that is in force, 0 when it is not known. All
// resources that are run with one number belong to one description.
func (c *Context) Released() int { return c.opts.Released }

// Reloading reports whether something required has changed, so that Reload follows.
func (c *Context) Reloading() bool { return c.opts.Reload }

// SetChange says what the run has done, for handlers that know better than what the engine infers
// from what it called: an update that had to make the thing anew, or found that nothing was left to
// do. Two different ones in a run make it fail.
func (c *Context) SetChange(change diff.Change) { c.host.Override(change) }

// SetProvider says which of several providers serves the run, and why, where that was decided
// elsewhere.
func (c *Context) SetProvider(name, why string) {
	c.host.Provider(name, why)
	if c.run != nil {
		c.run.mu.Lock()
		defer c.run.mu.Unlock()
		c.run.named = name
	}
}

// Provider returns the provider that SetProvider has named, so that it stays for the rest of the
// run; "": none yet.
func (c *Context) Provider() string {
	if c.run == nil {
		return ""
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	return c.run.named
}

// Debug logs with key-value pairs.
func (c *Context) Debug(msg string, kv ...any) { c.log(LevelDebug, msg, kv) }

// Info logs with key-value pairs.
func (c *Context) Info(msg string, kv ...any) { c.log(LevelInfo, msg, kv) }

// Warning logs with key-value pairs.
func (c *Context) Warning(msg string, kv ...any) { c.log(LevelWarning, msg, kv) }

// Error logs with key-value pairs; it does not make the run fail, a returned error does.
func (c *Context) Error(msg string, kv ...any) { c.log(LevelError, msg, kv) }

// lacking marks the lines of Lacks.
const lacking = "unless_made_before"

// Lacks says in a dry run what the change that is planned needs and is not so, such as "there is no
// directory /srv": it would fail, unless something that the resource requires sees to it before. Where
// nothing does, a plan says that it would fail.
func (c *Context) Lacks(what string) { c.Warning(what, lacking, true) }

// Lacking reports whether a line is one of Lacks.
func (l *Line) Lacking() bool { return l.Kwargs[lacking] == true }

func (c *Context) log(level Level, msg string, kv []any) {
	line := Line{At: c.host.Now(), Level: level, Msg: msg}
	if len(kv) > 0 || c.block != nil {
		line.Kwargs = make(map[string]any, len(kv)/2+1)
		for i := 0; i < len(kv); i += 2 {
			key, ok := kv[i].(string)
			if !ok {
				key = "!BADKEY"
			}
			if i+1 < len(kv) {
				line.Kwargs[key] = kv[i+1]
			} else {
				line.Kwargs["!BADKEY"] = key
			}
		}
	}
	if c.block != nil {
		line.Kwargs["in"] = c.block.path()
	}
	c.host.Log(line)
}

// Changed records that an attribute was changed, beside what the engine sees itself. An attribute
// that the type declares and the resource does not set is not managed: the change is refused and
// logged as drift that was observed.
func (c *Context) Changed(attribute string, from, to any) {
	c.host.Changed(attribute, diff.Diff{Current: from, Desired: to})
}

// Fact records a fact of the resource. It is kept whatever comes of the run.
func (c *Context) Fact(name, value string) {
	c.host.Fact(name, value)
	if c.run == nil {
		return
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if c.run.known == nil {
		c.run.known = map[string]string{}
	}
	c.run.known[name] = value
}

// Known returns a fact of the resource that this run has recorded, or a run before and the handler
// remembers; "" when there is none.
func (c *Context) Known(name string) string {
	if c.run == nil {
		return ""
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	return c.run.known[name]
}

// Remembered returns what the run began with; see Options.Known.
func (c *Context) Remembered() map[string]string { return c.opts.Known }

// Files gives access to uploaded bytes.
func (c *Context) Files() Files { return c.host.Files() }

// Transport returns the agent's connection; its type depends on the agent's transport. In a dry run
// it is the read-only form, where there is one.
func (c *Context) Transport() any { return c.host.Transport() }

// Secret tells the engine that value must appear in no output of this run, in addition to the
// secrets it resolved.
func (c *Context) Secret(value string) { c.host.Secret(value) }

// HasSecret reports whether a value has a reference to a secret in it, for Validate of a type.
func HasSecret(v any) bool {
	for _, ref := range resource.References(v) {
		if _, ok := ref.(resource.Secret); ok {
			return true
		}
	}
	return false
}
