// Package orders is what customers ask of services: to order instances, to change and to delete
// them, and to see what there is. What may be asked for is decided by the rules of inventory and by
// the lifecycle; what follows from it is left to whoever does the tasks of instances.
//
//	orders.go       the service, and how an instance is named
//	definitions.go  the definitions of the instances of a list
//	instance.go     an instance as it is shown
//	create.go       a new instance
//	change.go       changes of one instance
//	several.go      changes of several instances at once
//	placed.go       such orders, as they are kept, and what becomes of them
//	draft.go        orders that are previewed
//	rollout.go      moves to other definitions and models
//	relations.go    names of other instances among attributes
//	list.go         instances by filters, in pages
//	part.go         pages of lists
//	limits.go       limits of numbers and times in filters
//	catalog.go      what can be ordered
//	callbacks.go    who is called for what happens
//	events.go       what has happened to an instance
//	log.go          the states that it has come to, with its attributes
package orders

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"southbound/shared/fault"
	"southbound/shared/service/callback"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Definitions are the services of an environment. Errors are fault.NotFound for what is not there.
type Definitions interface {
	// All returns all versions of all services, by name and version.
	All(ctx context.Context, env string) ([]definition.Service, error)
	// One returns a version of a service; with a negative version, that of new instances.
	One(ctx context.Context, env, name string, version int) (definition.Service, error)
	// Of returns the definition that an instance was made for, by its digest.
	Of(ctx context.Context, env, name string, version int, digest string) (definition.Kept, error)
	// Models returns the digests of the model bundles that are kept, the newest first.
	Models(ctx context.Context, env string) ([]string, error)
}

// Config is what a service of orders is made of.
type Config struct {
	Definitions Definitions
	Instances   inventory.Store
	// Book keeps orders of several instances; nil: they are not kept.
	Book inventory.OrderBook
	// Callbacks keeps callbacks; nil: they are not called here.
	Callbacks callback.Store
	// Now returns the time; nil: that of this machine.
	Now func() time.Time
	// NewID returns an id for an instance; nil: a random one.
	NewID func() string
	// Changed, when not nil, is told that instances of an environment have tasks.
	Changed func(env string)
}

// Service takes orders. It is safe for concurrent use.
type Service struct {
	*core
	*offers
	*views
	*changes
	*experts
	*placing
	*callers
	*rollouts
	*drafts
}

// core is what all that is asked for needs: the stores, and instances by their names.
type core struct{ Config }

// offers are what can be ordered.
type offers struct{ *core }

// views are what there is, and has been.
type views struct{ *core }

// changes are new instances, and changes of one.
type changes struct{ *core }

// experts are changes that no lifecycle or modifier forbids.
type experts struct{ *changes }

// placing is orders of several instances, which are changes of each.
type placing struct {
	*changes
	forgot sync.Map // when orders were let go of last, by environment
}

// callers are who is called for what happens.
type callers struct{ *core }

// New returns a service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = uuid.NewString
	}
	if c.Changed == nil {
		c.Changed = func(string) {}
	}
	all := &core{c}
	change := &changes{all}
	return &Service{
		core: all, offers: &offers{all}, views: &views{all}, changes: change,
		experts: &experts{change}, placing: &placing{changes: change}, callers: &callers{all},
		rollouts: &rollouts{change}, drafts: &drafts{change},
	}
}

// now is the time as stores keep it.
func (s *core) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Ref names an instance: by its id, or by its service and `identity=VALUE`, where the name of the
// attribute may stand for `identity`.
type Ref struct {
	Service string // "" for whichever it is; not with an identity
	ID      string
}

// identity returns the value of the identity that a text names; false if it is an id.
func identity(d *definition.Service, text string) (string, bool, error) {
	name, value, is := strings.Cut(text, "=")
	if !is {
		return "", false, nil
	}
	if d.Identity == nil {
		return "", true, fault.New(fault.Invalid, "", "the service %s has no identity", d.Name).
			WithHint("name the instance by its id")
	}
	if name != "identity" && name != *d.Identity {
		return "", true, fault.New(fault.Invalid, "", "the identity of %s is %s, and not %s",
			d.Name, *d.Identity, name).WithHint("write identity=VALUE, or an id")
	}
	return value, true, nil
}

// record returns what an instance is, by its name.
func (s *core) record(ctx context.Context, env string, ref Ref) (inventory.Record, error) {
	if strings.Contains(ref.ID, "=") {
		if ref.Service == "" {
			return inventory.Record{}, fault.New(fault.Invalid, "", "%s is of no service", ref.ID).
				WithHint("say of which service the instance is")
		}
		d, err := s.Definitions.One(ctx, env, ref.Service, -1)
		if err != nil {
			return inventory.Record{}, err
		}
		value, _, err := identity(&d, ref.ID)
		if err != nil {
			return inventory.Record{}, err
		}
		return s.Instances.ByIdentity(ctx, env, ref.Service, value)
	}
	r, err := s.Instances.Instance(ctx, env, ref.ID)
	if err == nil && ref.Service != "" && r.Service != ref.Service {
		return inventory.Record{}, fault.New(fault.NotFound, "",
			"the instance %s is one of %s, and not of %s", r.ID, r.Service, ref.Service)
	}
	return r, err
}

// found is an instance with its definition.
type found struct {
	record inventory.Record
	def    definition.Service
}

// find returns an instance with the definition that it was made for.
func (s *core) find(ctx context.Context, env string, ref Ref) (found, error) {
	r, err := s.record(ctx, env, ref)
	if err != nil {
		return found{}, err
	}
	kept, err := s.Definitions.Of(ctx, env, r.Service, r.ServiceVersion, r.Definition)
	return found{r, kept.Service}, err
}

// latest returns the definition that an instance has after an update. One that a rollout has brought
// back, or is about to move, keeps its own.
func (s *core) latest(
	ctx context.Context, env string, r *inventory.Record,
) (definition.Service, error) {
	if r.Pinned != "" {
		kept, err := s.Definitions.Of(ctx, env, r.Service, r.ServiceVersion, r.Definition)
		return kept.Service, err
	}
	return s.Definitions.One(ctx, env, r.Service, r.ServiceVersion)
}
