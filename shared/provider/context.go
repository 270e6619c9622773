package provider

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"southbound/shared/diff"
	"southbound/shared/fault"
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

// UnmarshalJSON implements json.Unmarshaler. Whole numbers keep their exact value, as in diff.Diff.
func (l *Line) UnmarshalJSON(text []byte) error {
	type plain Line // Line without this method
	if err := diff.ReadJSON(text, (*plain)(l)); err != nil {
		return err
	}
	for name, v := range l.Kwargs {
		l.Kwargs[name] = diff.Numbers(v)
	}
	return nil
}

// Host is the caller's side of a Context; the engine implements it.
type Host interface {
	Log(line Line)
	Now() time.Time
	Changed(attribute string, d diff.Diff)
	// Fact receives a fact that CheckFact accepts.
	Fact(name string, value resource.Data)
	Files() Files
	Transport() any
	Secret(value string)
	// Provider receives the provider that serves the run, and the reason.
	Provider(name, why string)
	// Override receives the change of the run if it differs from the one that the engine would
	// infer.
	Override(change diff.Change)
	// Cache returns the agent's cache; nil: no values are cached.
	Cache() *Cache
	// Keep stores the state of the run's resource, with its secret outputs, before it returns.
	Keep(ctx context.Context, state []byte, outputs map[string]any) error
}

// Options describe one run of a handler.
type Options struct {
	ID     resource.ID
	DryRun bool
	State  []byte // the state of the last Again
	Reload bool   // a required resource has changed
	// Desired is the resource of the run, if there is one.
	Desired Resource
	Version int // the version that the run is for; 0: none
	// Released is the version in force, which has the run's resource; 0: unknown.
	Released int
	// Provider is the provider that an earlier call chose for the run; "": none.
	Provider string
	// Known are facts that the handler remembers; see Rememberer.
	Known map[string]string
	// Kept is the state that the handler keeps; see Keeper.
	Kept []byte
	// Stored is the resource of the run in the form of its version; nil: there is none.
	Stored *resource.Resource
	// New reports that no earlier run of the resource has succeeded.
	New bool
}

// Context is passed to a handler for one run of one resource. Handlers do not keep it after the
// call.
//
// Large: it is a handler's whole interface to its caller, with a method for each request and
// report. Split into parts, every capability would take several parameters.
type Context struct {
	context.Context
	host  Host
	opts  *Options // shared by copies
	block *block
	run   *runState
}

// runState is shared by the contexts of one run.
type runState struct {
	mu     sync.Mutex
	chosen *Provider
	named  string            // the provider, if another component has chosen it
	known  map[string]string // facts of earlier runs, and of this one
	kept   []byte            // the state of earlier runs, or of this one
}

// NewContext returns a context for one run.
func NewContext(ctx context.Context, host Host, opts Options) *Context {
	return &Context{Context: ctx, host: host, opts: &opts,
		run: &runState{known: maps.Clone(opts.Known), kept: opts.Kept}}
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

// DryRun reports whether the run must not change anything.
func (c *Context) DryRun() bool { return c.opts.DryRun }

// State returns the state of the previous run's Again, or nil.
func (c *Context) State() []byte { return c.opts.State }

// Desired returns the resource of the run as it is passed to the handler's calls. In List it has
// only the attributes with which the user selects the things to list; their types are not checked.
func (c *Context) Desired() Resource { return c.opts.Desired }

// Stored returns the resource of the run in the form of its version, with its flags and
// requirements, and references to secrets; nil if it is unknown. Callers must not change it.
func (c *Context) Stored() *resource.Resource { return c.opts.Stored }

// New reports whether no earlier run of the resource has succeeded: a thing that this run creates
// has missed no change of its requirements.
func (c *Context) New() bool { return c.opts.New }

// Version returns the version that the run is for, 0 if there is none.
func (c *Context) Version() int { return c.opts.Version }

// Released returns the version of the environment that is in force, 0 if it is unknown. All
// resources that run with one version belong to one description.
func (c *Context) Released() int { return c.opts.Released }

// Reloading reports whether a required resource has changed, so that Reload follows.
func (c *Context) Reloading() bool { return c.opts.Reload }

// SetChange sets the change of the run, for handlers that know it better than the engine, which
// infers it from the calls. Examples are an update that had to replace the thing, or that found
// nothing left to do. Two different changes in a run are an error of the run.
func (c *Context) SetChange(change diff.Change) { c.host.Override(change) }

// SetProvider sets which of several providers serves the run, and the reason, if another component
// has chosen it.
func (c *Context) SetProvider(name, why string) {
	c.host.Provider(name, why)
	if c.run != nil {
		c.run.mu.Lock()
		defer c.run.mu.Unlock()
		c.run.named = name
	}
}

// Provider returns the provider that SetProvider has named, which is kept for the rest of the run;
// "": none yet.
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

// Error logs with key-value pairs. It does not make the run fail; only a returned error does.
func (c *Context) Error(msg string, kv ...any) { c.log(LevelError, msg, kv) }

// lacking marks the lines of Lacks.
const lacking = "unless_made_before"

// Lacks reports in a dry run a missing precondition of the planned change, such as "there is no
// directory /srv". The change would fail unless a required resource provides the precondition
// first. If none does, a plan reports that the change would fail.
func (c *Context) Lacks(what string) { c.Warning(what, lacking, true) }

// Lacking reports whether the line comes from Lacks.
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

// Changed records the change of an attribute that the engine does not see itself. If the type
// declares the attribute and the resource does not set it, the attribute is not managed. The change
// is then rejected and logged as observed drift.
func (c *Context) Changed(attribute string, from, to any) {
	c.host.Changed(attribute, diff.Diff{Current: from, Desired: to})
}

// Fact records a fact of the resource. The value is any Go value that has a JSON form, such as a text,
// a number, a list, a map with text keys, or a struct with tags of encoding/json. A map is data: it
// never refers to a secret, whatever its members. The fact is kept whether or not the run succeeds.
// If FactOf refuses it, the former value stays, and an error line of the run names it.
func (c *Context) Fact(name string, value any) {
	data, err := FactOf(name, value)
	if err != nil {
		c.Error(fmt.Sprintf("fact %q of %s is refused: %v", short(name), c.ID(), err), "hint",
			fault.HintOf(err))
		return
	}
	c.host.Fact(name, data)
	if c.run == nil {
		return
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	if c.run.known == nil {
		c.run.known = map[string]string{}
	}
	c.run.known[name] = data.Text()
}

// Known returns a fact of the resource, "" if there is none. A value that is no text is returned as
// JSON. The fact was recorded by this run, or by an earlier run if the handler remembers it.
func (c *Context) Known(name string) string {
	if c.run == nil {
		return ""
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	return c.run.known[name]
}

// Remembered returns the facts at the start of the run; see Options.Known.
func (c *Context) Remembered() map[string]string { return c.opts.Known }

// Kept returns the state that Keep has stored last for the resource of the run, in this run or an
// earlier one; nil if there is none. The handler must be a Keeper. Callers must not change it.
func (c *Context) Kept() []byte {
	if c.run == nil {
		return nil
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	return c.run.kept
}

// Keep stores state of the resource of the run for later runs, whole, at most MaxKept bytes; an
// empty state removes it. The state is stored durably when Keep returns, and sealed: it may contain
// secrets. Equal states are not written again. The engine removes the state when the thing is
// purged or the resource is forgotten. The handler must be a Keeper, and keeps one state of a
// resource at a time. A dry run keeps nothing.
//
// The error has a Class. The handler should return it after it has undone or completed its work: the
// next run gets the former state.
func (c *Context) Keep(state []byte) error { return c.KeepWithOutputs(state, nil) }

// KeepWithOutputs is Keep, and stores with the state the secret outputs of the resource: values that
// other resources may refer to as {secret: "output:ID#PATH"}, such as a password that the target has
// generated. They replace the outputs that were stored before, so each call passes all of them; Keep
// passes none. Values are JSON: texts, numbers, booleans, lists, maps and null. They are secrets of
// the run from then on. Resources that refer to an output are deployed again when the outputs have
// changed. Outputs count towards MaxKept, and need a state.
func (c *Context) KeepWithOutputs(state []byte, outputs map[string]any) error {
	state = bytes.Clone(state)
	if err := c.host.Keep(c, state, outputs); err != nil {
		return err
	}
	if c.run == nil {
		return nil
	}
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	c.run.kept = state
	return nil
}

// Files gives access to uploaded bytes.
func (c *Context) Files() Files { return c.host.Files() }

// Transport returns the agent's connection; its type depends on the agent's transport. In a dry run
// it is the read-only form, if there is one.
func (c *Context) Transport() any { return c.host.Transport() }

// Secret declares that value must appear in no output of this run, in addition to the secrets that
// the engine has resolved.
func (c *Context) Secret(value string) { c.host.Secret(value) }

// HasSecret reports whether a value contains a reference to a secret, for Validate of a type.
func HasSecret(v any) bool {
	return resource.HasSecret(v)
}
