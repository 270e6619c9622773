package state

import (
	"context"
	"slices"
	"time"

	"southbound/shared/resource"
)

// Feed is implemented by a State that reports what has changed in an environment.
type Feed interface {
	// Changes returns what has changed in an environment since the call that returned the token
	// after. If the token is "" or no longer known, everything may have changed, see Everything. If
	// nothing has changed, Changes waits up to wait for a change. A home may wait less, or not at
	// all.
	Changes(ctx context.Context, env, after string, wait time.Duration) (Changes, error)
}

// MaxChanged is the maximum number of ids in Changes.
const MaxChanged = 200

// NothingYet is the token of an environment in which nothing was ever written.
const NothingYet = "0"

// Changes are what may have changed in an environment since a token. A change may be reported more
// than once, but is never left out.
type Changes struct {
	// Token stands for the state of the environment; it is never "". It is the token after if
	// nothing has changed.
	Token string
	// Resources are resources whose row, or whose display as deploying, may have changed: sorted,
	// each once, at most MaxChanged. With More, any other resource may have changed, too.
	Resources []resource.ID
	More      bool
	Kinds     ChangeKind
}

// ChangeKind is a set of kinds of changes.
type ChangeKind int64

// The kinds of changes beside those of resources.
const (
	ChangedAgents     ChangeKind = 1 << iota // described, removed, paused or resumed
	ChangedInstances                         // instances or definitions of services
	ChangedVersions                          // stored, released or removed
	ChangedParameters                        // parameters or facts
	ChangedOrders                            // orders of services
	ChangedActions                           // recorded or removed
	ChangedSettings                          // settings of the environment, or whether it is halted

	allKinds = 1<<iota - 1
)

// Has reports whether a set has a kind.
func (k ChangeKind) Has(kind ChangeKind) bool { return k&kind != 0 }

// Everything returns the changes since an unknown token.
func Everything(token string) Changes { return Changes{Token: token, More: true, Kinds: allKinds} }

// SetResources sets the resources to ids, in any order and with repetitions, which it may sort in
// place. If there are too many, it sets More.
func (c *Changes) SetResources(ids []resource.ID) {
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) > MaxChanged {
		ids, c.More = nil, true
	}
	c.Resources = ids
}

// AddEnv adds the changes between two records of the environment. A new check of everything
// concerns all resources.
func (c *Changes) AddEnv(before, now *Env) {
	type versions struct{ last, released, releasing, base int }
	of := func(e *Env) versions { return versions{e.Last, e.Released, e.Releasing, e.Base} }
	if of(before) != of(now) || before.Applied != now.Applied {
		c.Kinds |= ChangedVersions
	}
	if before.Settings != now.Settings || before.Halted != now.Halted {
		c.Kinds |= ChangedSettings
	}
	c.More = c.More || before.Wave.Epoch != now.Wave.Epoch
}
