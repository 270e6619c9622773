// Package callback calls addresses that want to know what happens to instances of services.
// docs/design/services.md describes it.
//
//	callback.go  callbacks, what they are called for, and the port that keeps them
//	address.go   which addresses may be called
//	caller.go    one call
//	sign.go      the signature of a call
//	teller.go    the calls for what has happened, again until they succeed
package callback

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// Callback is an address that is called for what happens to instances.
type Callback struct {
	ID      string    `json:"id"`
	URL     string    `json:"url"`
	Service string    `json:"service,omitempty"` // "" for all
	Events  []string  `json:"events,omitempty"`  // kinds of events, as Kinds names them; none for all
	Level   string    `json:"level,omitempty"`   // the least one; "" for all
	Secret  string    `json:"secret,omitempty"`  // the source of the key of signatures; "": none
	Created time.Time `json:"created"`
	// Health is how the last calls went.
	Health Health `json:"-"`
}

// Health is how the last calls of a callback went. The zero value is that they went well.
type Health struct {
	Failures int       `json:"failures,omitempty"` // one after the other
	Since    time.Time `json:"since,omitzero"`     // the first of them
	Next     time.Time `json:"next,omitzero"`      // before that it is not called
	Error    string    `json:"error,omitempty"`    // the last of them
	// Dropped counts events that it was not told, as it failed for too long.
	Dropped int64 `json:"dropped,omitempty"`
}

// Pending is an instance with events that not all callbacks were told.
type Pending struct {
	Instance, Service string
	// From is the last event before those that are to be told, and Last the last of these.
	From, Last int64
	// Delivered are the last events that callbacks received, by their ids; where there is none it
	// is From.
	Delivered map[string]int64
}

// Of returns the last event that a callback received.
func (p *Pending) Of(id string) int64 { return max(p.From, p.Delivered[id]) }

// Done reports whether all callbacks of a list were told all.
func (p *Pending) Done(all []string) bool {
	return !slices.ContainsFunc(all, func(id string) bool { return p.Of(id) < p.Last })
}

// Bounds of what a store keeps.
const (
	// MaxCallbacks is how many an environment has.
	MaxCallbacks = 20
	maxURL       = 2048
	maxEvents    = 50
	// MaxPending is how many instances are read at once.
	MaxPending = 100
)

// Store keeps callbacks, and what they are to be told. Whoever writes instances (inventory.Store)
// notes those with new events, in the same transaction, if the environment has callbacks: now, or
// at least when this process has read the definition or the instance that it goes by.
type Store interface {
	// Register adds a callback. It is fault.Conflict where there is another one of the id, nothing
	// where it is the same, and fault.Full where there are MaxCallbacks.
	Register(ctx context.Context, env string, c Callback) error
	// Unregister removes a callback; fault.NotFound where there is none.
	Unregister(ctx context.Context, env, id string) error
	// Callbacks returns the callbacks of an environment with their health, by their ids.
	Callbacks(ctx context.Context, env string) ([]Callback, error)
	// Report keeps how a callback is; nothing where there is none of the id.
	Report(ctx context.Context, env, id string, h Health) error
	// Pending returns instances with events to be told, by their ids, behind one; at most
	// MaxPending.
	Pending(ctx context.Context, env, after string) ([]Pending, error)
	// Delivered notes which event of an instance a callback was told last. When it finds that all
	// of the callbacks that are named were told all, nothing is pending of the instance any more;
	// of two that end at once neither may find it, so who sees that it is so asks again.
	Delivered(ctx context.Context, env, instance, id string, seq int64, all []string) error
}

// KindForceDelete is the kind of an event that ended an instance by force, and KindProblem that of
// one that keeps it from going on.
const (
	KindForceDelete = "force_delete"
	KindProblem     = "problem"
)

// kinds are the names of events that callbacks choose, in the words of the public clients. No event
// is an ALLOCATION_UPDATE: what a model sets is part of the transfer that it is compiled for.
func kinds() map[string]lifecycle.Trigger {
	return map[string]lifecycle.Trigger{
		"CREATE_TRANSITION": "create", "API_SET_STATE_TRANSITION": lifecycle.BySetState,
		"ON_UPDATE_TRANSITION": lifecycle.ByUpdate, "ON_DELETE_TRANSITION": lifecycle.ByDelete,
		"AUTO_TRANSITION": lifecycle.ByItself, "RESOURCE_TRANSITION": lifecycle.ByResources,
		"FORCE_UPDATE": lifecycle.ByForce, "FORCE_DELETE": KindForceDelete,
		"RESOURCE_EVENT": KindProblem, "CONFIG_UPDATE": "configure", "METADATA_UPDATE": "metadata",
		"ALLOCATION_UPDATE": "allocation",
	}
}

// Word returns the kind of an event in the words of the public clients.
func Word(kind string) string {
	for word, k := range kinds() {
		if string(k) == kind {
			return word
		}
	}
	return strings.ToUpper(kind)
}

// levels are the levels of events, the least first. What went wrong is an ERROR, all else INFO.
func levels() []string {
	return []string{"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}
}

func levelOf(e *inventory.Event) string {
	if e.Error {
		return "ERROR"
	}
	return "INFO"
}

// Wants reports whether a callback is called for an event.
func (c *Callback) Wants(service string, e *inventory.Event) bool {
	if c.Service != "" && c.Service != service || e.At.Before(c.Created) {
		return false
	}
	if slices.Index(levels(), levelOf(e)) < slices.Index(levels(), c.Level) {
		return false
	}
	return len(c.Events) == 0 || slices.ContainsFunc(c.Events, func(name string) bool {
		return name == e.Kind || string(kinds()[name]) == e.Kind
	})
}

// Check refuses a callback that cannot be.
func (c *Callback) Check() error {
	if len(c.URL) > maxURL {
		return bad("the address has %d bytes, and may have %d", len(c.URL), maxURL)
	}
	if _, err := parse(c.URL); err != nil {
		return err
	}
	if err := checkKey(c.Secret); err != nil {
		return err
	}
	if len(c.Events) > maxEvents {
		return bad("it names %d kinds of events, and may name %d", len(c.Events), maxEvents)
	}
	if c.Level != "" && !slices.Contains(levels(), c.Level) {
		return bad("%q is not a level", c.Level).WithHint("use one of %s",
			strings.Join(levels(), ", "))
	}
	for _, name := range c.Events {
		if !known(name) {
			return bad("%q is not a kind of events", name).
				WithHint("use one of %s", strings.Join(Kinds(), ", "))
		}
	}
	return nil
}

// Kinds returns the kinds of events that callbacks can choose: those that events have, and the
// public clients' words for them.
func Kinds() []string {
	var out, long []string
	for name, kind := range kinds() {
		out, long = append(out, string(kind)), append(long, name)
	}
	slices.Sort(out)
	slices.Sort(long)
	return append(out, long...)
}

func known(name string) bool { return slices.Contains(Kinds(), name) }

func bad(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, "register callback", format, args...)
}

// Same reports whether two callbacks are called for the same at the same address.
func (c *Callback) Same(o *Callback) bool {
	return c.ID == o.ID && c.URL == o.URL && c.Service == o.Service && c.Level == o.Level &&
		c.Secret == o.Secret &&
		slices.Equal(c.Events, o.Events)
}

// ErrOther is the error of Register where there is another callback of the id.
func ErrOther(id string) error {
	return fault.New(fault.Conflict, "register callback", "there is another callback %s", id).
		WithHint("use another id, or leave it out")
}

// ErrMany is the error of Register where there are as many as may be.
func ErrMany() error {
	return fault.New(fault.Full, "register callback", "the environment has %d callbacks already",
		MaxCallbacks).WithHint("remove one that is not needed any more")
}

// ErrNone is the error where there is no callback of an id.
func ErrNone(id string) error {
	return fault.New(fault.NotFound, "callback", "there is no callback %s", id)
}

// Body is what a callback is called with: the event, and whose it is.
type Body struct {
	Callback    string `json:"callback_id"`
	Environment string `json:"environment"`
	Instance    string `json:"service_instance_id"`
	Service     string `json:"service_entity"`
	Severity    string `json:"severity"`
	inventory.Event
}

func body(env string, c *Callback, p *Pending, e *inventory.Event) ([]byte, error) {
	b, err := json.Marshal(Body{c.ID, env, p.Instance, p.Service, levelOf(e), *e})
	return b, fault.Wrap(fault.Internal, "write event", err)
}
