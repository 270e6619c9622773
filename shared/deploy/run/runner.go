package run

import (
	"context"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/declared"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Config holds the dependencies of runs. All but Code and Sealer is required.
type Config struct {
	Clock     state.Clock
	Caller    state.Caller
	Files     state.Files
	Secrets   state.Secrets
	Connector state.Connector
	Facts     facts
	Keeps     state.Keeps
	Sealer    state.Sealer // nil: handlers keep no state
	Types     *schema.Registry
	Handlers  map[string]provider.Handler // by type name
	Bridges   map[string]*provider.Bridge // by name; they serve declared types
	// Declarations are the declared types that this process knows.
	Declarations *declared.Cache
	Code         Code          // runs handlers of resources; nil: none run
	Pack         string        // digest of the handlers, recorded with every action
	NewID        func() string // unique, and greater than those made before
}

// facts reads the facts that handlers remember. A state.State implements it.
type facts interface {
	Parameters(ctx context.Context, env string, q state.ParameterQuery) ([]state.Parameter, error)
}

// Runner creates runs of handlers. It is safe for concurrent use.
type Runner struct {
	Config
	types  *model.Checker
	caches *Caches
}

// New returns a runner whose handlers keep data between runs in caches.
func New(c Config, caches *Caches) *Runner {
	return &Runner{Config: c, caches: caches,
		types: model.NewChecker(c.Types, c.Handlers, c.Declarations, nil)}
}

// MaxGroup is how many resources a handler gets in one call.
const MaxGroup = 512

// Batches reports whether the handler of a row, whose intent is res if it is known, benefits from
// several resources per call.
func (n *Runner) Batches(row *state.Row, res *resource.Resource) bool {
	h := n.ownHandler(row, res)
	_, reads := provider.As[provider.BatchReader](h)
	_, applies := provider.As[provider.BatchApplier](h)
	_, lists := provider.As[provider.Lister](h)
	_, flushes := provider.As[provider.Flusher](h)
	return reads || applies || lists || flushes
}

// wantedOf returns a resource in the form that handlers get; the attributes are shared.
func wantedOf(res *resource.Resource) provider.Resource {
	return provider.Resource{ID: res.ID, Type: res.Type, Agent: res.Agent,
		Attributes: res.Attributes, Purged: res.Purged}
}

// Reloads reports whether the handler of a row reloads the resource after a change that the resource
// is notified of.
func (n *Runner) Reloads(row *state.Row) bool {
	h := n.ownHandler(row, nil)
	if _, can := provider.As[provider.Reloader](h); !can {
		return false // most handlers cannot reload, and their rows need not be decoded
	}
	res, err := resource.Decode(row.Body)
	return err == nil && provider.Reloads(h, wantedOf(res))
}

// LimitsItself reports whether an attribute of a row limits the time of a call for it; see
// provider.Timeouter. A handler that keeps the state of the resource (provider.Keeper) has stored its
// change before the run ends, so its limit does not count.
func (n *Runner) LimitsItself(row *state.Row, res *resource.Resource) bool {
	h := n.ownHandler(row, res)
	if k, is := provider.As[provider.Keeper](h); is && res != nil && k.Keeps(wantedOf(res)) {
		return false
	}
	return ownLimit(h, res) > 0
}

// ownLimit returns the limit that attributes set; 0: none.
func ownLimit(of provider.Handler, res *resource.Resource) time.Duration {
	h, ok := provider.As[provider.Timeouter](of)
	if !ok || res == nil {
		return 0
	}
	return h.CallTimeout(wantedOf(res))
}

// held returns for how long a lane is held before a call of a limit.
func held(n *Runner, limit time.Duration) time.Duration {
	if _, renews := n.Caller.(state.RenewingCaller); renews {
		return min(limit, state.HeldAtOnce)
	}
	return limit
}

// HeldFor returns for how long a lane is held before a call for a row: see CallLimit.
func (n *Runner) HeldFor(row *state.Row, res *resource.Resource) time.Duration {
	return held(n, n.CallLimit(row, res))
}

// CallLimit returns how long one call for a row may take, like Executor.limit for its run. res is
// the intent of the row; nil: it cannot be read.
func (n *Runner) CallLimit(row *state.Row, res *resource.Resource) time.Duration {
	if coded(row, res) {
		return model.CodeTimeout
	}
	if d := ownLimit(n.ownHandler(row, res), res); d > 0 {
		return d
	}
	typ, known := n.Types.Type(row.ID.Type())
	if Declared(n, row) {
		if typ, known = declaredOf(n, row, res); !known {
			return model.CodeTimeout // a run reads the declaration, and prolongs the lease
		}
	}
	if known && typ.Timeout > 0 {
		return typ.Timeout
	}
	return schema.DefaultTimeout
}
