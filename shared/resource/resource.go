// Package resource holds what a resource is: its identity, its values and the hash of its intent.
package resource

import (
	"slices"
	"strings"
)

// ID is the canonical text of an identity: type[agent,namevar=value], with several namevars
// type[agent,a=1,b=2] in declared order. In the agent's name and in values the characters , = ] and
// \ are escaped with \.
type ID string

// Key is one naming attribute and its value as text.
type Key struct{ Name, Value string }

// Parts is a parsed identity.
type Parts struct {
	Type  string
	Agent string
	Keys  []Key
}

// Resource is the desired state of one thing, as one version holds it.
type Resource struct {
	ID         ID
	Type       string
	Agent      string
	Attributes map[string]any // the kinds of values are listed below
	Requires   []ID           // sorted, without repeats
	Set        string         // "" is the shared set
	Flags
	// Subscribed and Subscriptions follow from the types of the resources of a model. Subscribed:
	// at least one resource that requires this one receives its changes, whether or not it sends
	// events. Subscriptions are those of Requires whose changes this one receives in that way,
	// sorted, without repeats. They are stored as "heard" and "hears".
	Subscribed    bool
	Subscriptions []ID
}

// SendsEvents reports whether others have to be notified of the changes of r.
func (r *Resource) SendsEvents() bool { return r.SendEvent || r.Subscribed }

// ReceivesEventsOf reports whether r is notified of the changes of other, which it requires.
func (r *Resource) ReceivesEventsOf(other *Resource) bool {
	return r.ReceiveEvents && (other.SendEvent || slices.Contains(r.Subscriptions, other.ID))
}

// Flags are settings of a resource besides its attributes.
type Flags struct {
	Purged        bool // must not exist
	PurgeOnDelete bool // leaving the model purges it
	// PreventDestroy refuses whatever would delete the thing: replacing it; documents cannot say it
	// together with the two above.
	PreventDestroy bool
	ReportOnly     bool // compare, never change
	SendEvent      bool // notify direct dependants when it has changed
	ReceiveEvents  bool // be notified of changes; documents default to true
}

// PurgesOnDelete reports whether the thing is purged when its resource leaves the model: what is
// only compared is never changed, then either.
func (f Flags) PurgesOnDelete() bool { return f.PurgeOnDelete && !f.ReportOnly }

// Agent is where resources are managed.
type Agent struct {
	Name      string
	Transport string         // local, ssh, http, aws, ...
	Lanes     int            // runs at the same time; 1 = serial
	Options   map[string]any // connection details of the transport; values as in attributes
	// Described: an export describes the agent; other agents are only named by resources.
	Described bool
}

// The values of attributes are nil, bool, string, int64, *big.Int (only beyond int64), float64
// (finite), []any, map[string]any, and the references below, nested at will up to MaxDepth. They
// are shared between copies of a resource and never changed in place.

// File refers to uploaded bytes.
type File struct {
	Hash string // SHA-256, 64 lower-case hex digits
	Size int64  // bytes
}

// Secret refers to a value that is resolved where the handler runs and never stored or shown.
type Secret struct {
	Source  string // "env:NAME", "file:PATH", "ssm:/name", "secretsmanager:id"
	Version string // "" until known; part of the intent
}

// Parameter refers to a parameter of the environment. One that Unknown made is none that can be
// set: its name says why a value of a model was not known.
type Parameter struct{ Name string }

// unknownPrefix begins the names of parameters that are none.
const unknownPrefix = "unknown: "

// Unknown stands for a value that was not known when a model was compiled: its resource is
// undefined.
func Unknown(why string) Parameter { return Parameter{Name: unknownPrefix + why} }

// Unknown returns why a value was not known, and whether the parameter stands for such a value.
func (p Parameter) Unknown() (why string, is bool) {
	return strings.CutPrefix(p.Name, unknownPrefix)
}

// Fact refers to a fact of a resource.
type Fact struct {
	Name string
	Of   ID
}
