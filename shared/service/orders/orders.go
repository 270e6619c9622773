// Package orders handles the requests of customers: to order, change and delete instances, and to
// read them. The rules of package inventory and the lifecycle decide which requests are accepted.
// The worker carries out the resulting tasks.
//
//	orders.go       the service, and names of instances
//	definitions.go  the definitions of the instances of a list
//	instance.go     instances in the API
//	create.go       new instances
//	change.go       changes of one instance
//	several.go      changes of several instances in one order
//	placed.go       placed orders, and their progress
//	draft.go        orders for previews
//	rollout.go      moves to other definitions and models
//	relations.go    names of instances in attributes
//	list.go         filtered and sorted lists of instances
//	part.go         pages of lists
//	limits.go       limits of numbers and times in filters
//	catalog.go      the services that can be ordered
//	callbacks.go    webhooks for events
//	events.go       events of an instance
//	log.go          versions of an instance, with their attributes
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

// Definitions are the services of an environment. Its methods fail with fault.NotFound for missing
// definitions.
type Definitions interface {
	// All returns all versions of all services, sorted by name and version.
	All(ctx context.Context, env string) ([]definition.Service, error)
	// One returns a version of a service; a negative version means the default version.
	One(ctx context.Context, env, name string, version int) (definition.Service, error)
	// Of returns the definition with a digest, for the instances that were made for it.
	Of(ctx context.Context, env, name string, version int, digest string) (definition.Kept, error)
	// Models returns the digests of the kept model bundles, newest first.
	Models(ctx context.Context, env string) ([]string, error)
}

// Config holds the parts of a service of orders.
type Config struct {
	Definitions Definitions
	Instances   inventory.Store
	// Book keeps orders of several instances; nil: such orders are not kept.
	Book inventory.OrderBook
	// Callbacks keeps callbacks; nil: callbacks are not supported.
	Callbacks callback.Store
	// Now returns the time; nil: the clock of this machine.
	Now func() time.Time
	// NewID returns an id for an instance; nil: random ids.
	NewID func() string
	// Changed, when not nil, is called when instances of an environment have new tasks.
	Changed func(env string)
	// Act, when not nil, performs and records the requests of callers that set a state, regardless
	// of the lifecycle or within it. act is the name of the request.
	Act func(ctx context.Context, env, act, message string, targets []string, do func() error) error
}

// Service handles requests of customers. It is safe for concurrent use.
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

// core holds the stores, and finds instances by their names. All other parts use it.
type core struct{ Config }

// offers lists the services that can be ordered.
type offers struct{ *core }

// views lists instances, events and versions.
type views struct{ *core }

// changes creates and changes single instances.
type changes struct{ *core }

// experts makes changes that ignore the lifecycle and modifiers.
type experts struct{ *changes }

// placing places orders of several instances.
type placing struct {
	*changes
	forgot sync.Map // the time of the last deletion of old orders, by environment
}

// callers manages callbacks.
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

// WithAct returns the service with another Config.Act.
func (s *Service) WithAct(
	act func(ctx context.Context, env, act, message string, targets []string, do func() error) error,
) *Service {
	c := s.Config
	c.Act = act
	return New(c)
}

// acting performs a request that sets the state of an instance with Config.Act.
func (s *core) acting(
	ctx context.Context, env, act string, w Wish, target string, do func() (Instance, error),
) (Instance, error) {
	if s.Act == nil {
		return do()
	}
	name := w.ID
	if w.Service != "" {
		name = w.Service + "/" + w.ID
	}
	targets := []string{name}
	if target != "" {
		targets = append(targets, "state "+target)
	}
	var out Instance
	err := s.Act(ctx, env, act, w.Message, targets, func() (err error) {
		out, err = do()
		return err
	})
	return out, err
}

// now returns the current time in the precision of the stores.
func (s *core) now() time.Time { return s.Now().UTC().Truncate(time.Microsecond) }

// Ref names an instance by its id, or by its service and `identity=VALUE`. The name of the identity
// attribute may replace `identity`.
type Ref struct {
	Service string // "" for any service; required with an identity
	ID      string
}

// identity returns the identity in a name of an instance; false if the name is an id.
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

// record returns the record of an instance by its name.
func (s *core) record(ctx context.Context, env string, ref Ref) (inventory.Record, error) {
	if strings.Contains(ref.ID, "=") {
		if ref.Service == "" {
			return inventory.Record{}, fault.New(fault.Invalid, "", "%s is of no service", ref.ID).
				WithHint("name the service of the instance")
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

// Identity returns the identity of an instance; "" if it has none.
func (s *core) Identity(ctx context.Context, env, id string) (string, error) {
	r, err := s.record(ctx, env, Ref{ID: id})
	return r.Identity, err
}

// found is an instance with its definition.
type found struct {
	record inventory.Record
	def    definition.Service
}

// find returns an instance with the definition that applies to it.
func (s *core) find(ctx context.Context, env string, ref Ref) (found, error) {
	r, err := s.record(ctx, env, ref)
	if err != nil {
		return found{}, err
	}
	kept, err := s.Definitions.Of(ctx, env, r.Service, r.ServiceVersion, r.Definition)
	return found{r, kept.Service}, err
}

// latest returns the definition of an instance after an update. A pinned instance keeps its
// definition: a rollout has returned it to an earlier model, or a move of it is not exported yet.
func (s *core) latest(
	ctx context.Context, env string, r *inventory.Record,
) (definition.Service, error) {
	if r.Pinned != "" {
		kept, err := s.Definitions.Of(ctx, env, r.Service, r.ServiceVersion, r.Definition)
		return kept.Service, err
	}
	return s.Definitions.One(ctx, env, r.Service, r.ServiceVersion)
}
