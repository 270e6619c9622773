// Package resource defines resources: their ids, their values and the hash of their intents.
package resource

import (
	"cmp"
	"maps"
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

// Resource is the desired state of one object, as recorded in one version.
type Resource struct {
	ID         ID
	Type       string
	Agent      string
	Attributes map[string]any // the kinds of values are listed below
	Requires   []ID           // sorted, without duplicates
	Set        string         // "" is the shared set
	Flags
	// Subscribed and Subscriptions are derived from the types of the resources of a model.
	// Subscribed is true if at least one dependant of this resource receives its changes, whether
	// or not the resource sends events. Subscriptions are the requirements whose changes this
	// resource receives in that way, sorted, without duplicates. They are stored as "heard" and
	// "hears".
	Subscribed    bool
	Subscriptions []ID
	// Followed holds the attributes that refer to facts or to secret outputs as the version has them,
	// while Attributes has the values of the facts and the versions of the outputs, as far as they are
	// known. Only rows have both; nil: none refers to any, or Attributes has the references.
	Followed map[string]any
}

// Written returns the resource as a version has it: attributes refer to facts, known or not.
func (r *Resource) Written() *Resource {
	if len(r.Followed) == 0 {
		return r
	}
	out := *r
	out.Attributes, out.Followed = maps.Clone(r.Attributes), nil
	maps.Copy(out.Attributes, r.Followed)
	return &out
}

// Facts returns the facts to which r refers, each once, in order of resource and name.
func (r *Resource) Facts() []Fact {
	var out []Fact
	for name, v := range r.Attributes {
		if written, is := r.Followed[name]; is {
			v = written
		}
		for _, ref := range References(v) {
			if f, is := ref.(Fact); is {
				out = append(out, f)
			}
		}
	}
	slices.SortFunc(out, func(a, b Fact) int {
		return cmp.Or(cmp.Compare(a.Of, b.Of), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(out)
}

// SendsEvents reports whether dependants are notified of the changes of r.
func (r *Resource) SendsEvents() bool { return r.SendEvent || r.Subscribed }

// ReceivesEventsOf reports whether r is notified of the changes of other, which it requires.
func (r *Resource) ReceivesEventsOf(other *Resource) bool {
	return r.ReceiveEvents && (other.SendEvent || slices.Contains(r.Subscriptions, other.ID))
}

// Flags are the settings of a resource apart from its attributes.
type Flags struct {
	Purged        bool // the object must not exist
	PurgeOnDelete bool // purge the object when the resource leaves the model
	// PreventDestroy refuses any deletion of the object, including its replacement. A document
	// cannot combine it with the two flags above.
	PreventDestroy bool
	ReportOnly     bool // compare the object, never change it
	SendEvent      bool // notify direct dependants of changes
	ReceiveEvents  bool // receive notices of changes; the default in documents is true
}

// PurgesOnDelete reports whether the object is purged when its resource leaves the model. A
// resource that is only compared is never purged.
func (f Flags) PurgesOnDelete() bool { return f.PurgeOnDelete && !f.ReportOnly }

// Agent is a place where resources are managed.
type Agent struct {
	Name      string
	Transport string         // local, ssh, http, aws, ...
	Lanes     int            // number of concurrent runs; 1 = serial
	Options   map[string]any // connection details of the transport; values as in attributes
	// Described: an export describes the agent. Resources only name the other agents.
	Described bool
}

// The values of attributes are nil, bool, string, int64, *big.Int (only beyond int64), float64
// (finite), []any, map[string]any, Text, and the references below, nested up to MaxDepth. Copies of
// a resource share their values, which must not be modified in place.

// File refers to uploaded bytes.
type File struct {
	Hash string // SHA-256, 64 lower-case hex digits
	Size int64  // bytes
}

// Secret refers to a value that is resolved where the handler runs, and that is never stored or
// shown.
type Secret struct {
	Source  string // "env:NAME"; see SecretSources
	Version string // "" until known; part of the intent
}

// Parameter refers to a parameter of the environment. A Parameter from Unknown cannot be set: its
// name is the reason why a value of a model was not known.
type Parameter struct{ Name string }

// unknownPrefix begins the names of the parameters that Unknown returns.
const unknownPrefix = "unknown: "

// Unknown returns the placeholder of a value that was not known when a model was compiled. Its
// resource is undefined.
func Unknown(why string) Parameter { return Parameter{Name: unknownPrefix + why} }

// Unknown returns the reason why a value was not known. It returns false if the parameter is not
// such a placeholder.
func (p Parameter) Unknown() (why string, is bool) {
	return strings.CutPrefix(p.Name, unknownPrefix)
}

// Fact refers to a fact of a resource.
type Fact struct {
	Name string
	Of   ID
}
