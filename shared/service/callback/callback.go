// Package callback calls webhooks for events of service instances. docs/design/services.md
// describes it.
//
//	callback.go  callbacks, their events, and the port that keeps them
//	address.go   the addresses that may be called
//	caller.go    one call
//	sign.go      the signature of a call
//	teller.go    delivery of events, with retries
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

// Callback is a webhook for events of instances.
type Callback struct {
	ID      string    `json:"id"`
	URL     string    `json:"url"`
	Service string    `json:"service,omitempty"` // "" for all
	Events  []string  `json:"events,omitempty"`  // kinds of events, as in Kinds; empty for all
	Level   string    `json:"level,omitempty"`   // the minimum level; "" for all
	Secret  string    `json:"secret,omitempty"`  // the source of the signing key; "": unsigned
	Created time.Time `json:"created"`
	// Health is the result of the last calls.
	Health Health `json:"-"`
}

// Health is the result of the last calls of a callback. The zero value means that they succeeded.
type Health struct {
	Failures int       `json:"failures,omitempty"` // consecutive failures
	Since    time.Time `json:"since,omitzero"`     // the time of the first of them
	Next     time.Time `json:"next,omitzero"`      // the time of the next attempt
	Error    string    `json:"error,omitempty"`    // the error of the last of them
	// Dropped counts events that were not delivered because the callback failed for too long.
	Dropped int64 `json:"dropped,omitempty"`
}

// Pending is an instance with events that some callbacks have not received.
type Pending struct {
	Instance, Service string
	// From is the last event before the pending ones, and Last is the last pending event.
	From, Last int64
	// Delivered are the last events that callbacks received, by callback id. From applies to a
	// callback without an entry.
	Delivered map[string]int64
}

// Of returns the last event that a callback received.
func (p *Pending) Of(id string) int64 { return max(p.From, p.Delivered[id]) }

// Done reports whether all callbacks of a list have received all events.
func (p *Pending) Done(all []string) bool {
	return !slices.ContainsFunc(all, func(id string) bool { return p.Of(id) < p.Last })
}

// Bounds of the content of a store.
const (
	// MaxCallbacks is the number of callbacks of an environment.
	MaxCallbacks = 20
	maxURL       = 2048
	maxEvents    = 50
	// MaxPending is the number of instances in a page.
	MaxPending = 100
)

// Store keeps callbacks and their pending events. A writer of instances (inventory.Store) marks
// instances with new events as pending in the same transaction, if the environment has callbacks.
// It may use the list of callbacks that its process read together with the definition or the
// instance.
type Store interface {
	// Register adds a callback. If an equal callback exists, it does nothing. It fails with
	// fault.Conflict if the id is taken by another callback, and with fault.Full if there are
	// MaxCallbacks.
	Register(ctx context.Context, env string, c Callback) error
	// Unregister removes a callback; fault.NotFound if there is none.
	Unregister(ctx context.Context, env, id string) error
	// Callbacks returns the callbacks of an environment with their health, sorted by id.
	Callbacks(ctx context.Context, env string) ([]Callback, error)
	// Report records the health of a callback. It does nothing if there is no such callback.
	Report(ctx context.Context, env, id string, h Health) error
	// Pending returns instances with pending events after an id, sorted by id; at most MaxPending.
	Pending(ctx context.Context, env, after string) ([]Pending, error)
	// Delivered records the last event of an instance that a callback received. If all callbacks of
	// the list all have then received all events, the instance is no longer pending. Two concurrent
	// calls may both miss this, so a caller that detects it calls Delivered again.
	Delivered(ctx context.Context, env, instance, id string, seq int64, all []string) error
}

// KindForceDelete is the kind of the event that forcibly ended an instance. KindProblem is the kind
// of an event with problems that stop an instance.
const (
	KindForceDelete = "force_delete"
	KindProblem     = "problem"
)

// kinds maps the names of events of the public clients to kinds of events. No event is an
// ALLOCATION_UPDATE: attributes that the model sets are part of the transfer of their compile.
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

// Word returns the name of the public clients for a kind of event.
func Word(kind string) string {
	for word, k := range kinds() {
		if string(k) == kind {
			return word
		}
	}
	return strings.ToUpper(kind)
}

// levels are the levels of events in ascending order. Failures are ERROR, all other events INFO.
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

// Check rejects an invalid callback.
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

// Kinds returns the kinds of events that a callback can select: the kinds themselves, then the
// names of the public clients.
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

// Same reports whether two callbacks have the same id, address, selection and secret.
func (c *Callback) Same(o *Callback) bool {
	return c.ID == o.ID && c.URL == o.URL && c.Service == o.Service && c.Level == o.Level &&
		c.Secret == o.Secret &&
		slices.Equal(c.Events, o.Events)
}

// ErrOther is the error of Register if the id is taken by another callback.
func ErrOther(id string) error {
	return fault.New(fault.Conflict, "register callback", "there is another callback %s", id).
		WithHint("use another id, or leave it out")
}

// ErrMany is the error of Register if the environment has MaxCallbacks.
func ErrMany() error {
	return fault.New(fault.Full, "register callback", "the environment has %d callbacks already",
		MaxCallbacks).WithHint("remove an unused one")
}

// ErrNone is the error for an unknown id.
func ErrNone(id string) error {
	return fault.New(fault.NotFound, "callback", "there is no callback %s", id)
}

// Body is the body of a call: the event, and its instance.
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
