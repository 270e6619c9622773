package orders

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// CodeIdentity is the code of problems with an identity that another instance has.
const CodeIdentity = "attribute_identity"

// Creation is an order of a new instance.
type Creation struct {
	Service string
	// Version is the version of the definition; nil: the default version.
	Version *int
	// ID is a UUID for the instance; "" generates one.
	ID string
	// State is one of the alternative initial states; "": the initial state.
	State      string
	Attributes map[string]any
	Metadata   map[string]string
	// Config turns automatic transfers on and off, by the names of their settings.
	Config map[string]bool
}

// Create orders an instance. If the same order was placed before with the same id, Create returns
// its instance.
func (s *changes) Create(ctx context.Context, env string, o Creation) (Instance, error) {
	if o.ID == "" {
		o.ID = s.NewID()
	} else if err := CheckID(o.ID); err != nil {
		return Instance{}, err
	}
	f, err := s.creation(ctx, env, o, nil)
	if err != nil {
		return Instance{}, err
	}
	revs, err := s.Instances.Write(ctx, env, []inventory.Change{f.change})
	if err != nil {
		if again, is := s.again(ctx, env, &f, err); is {
			return again, nil
		}
		if fault.Is(err, fault.Conflict) {
			err = fault.New(fault.Conflict, "", "another order has made the instance %s", o.ID).
				WithHint("use another id, or leave it out")
		}
		return Instance{}, s.explained(ctx, env, &f, err)
	}
	s.Changed(env)
	f.record.Rev = revs[0]
	out := shown(env, &f.found)
	out.ReferredBy = []string{} // no instance can refer to it yet
	return out, nil
}

// CheckID rejects an invalid id of a new instance or of an order.
func CheckID(id string) error {
	if isID(id) {
		return nil
	}
	return fault.New(fault.Invalid, "", "an id is a UUID, in lower case").
		WithHint("leave it out: one is made")
}

// isID reports whether a text is an id of an instance.
func isID(text string) bool {
	id, err := uuid.Parse(text)
	return err == nil && id.String() == text
}

// again returns the instance that the same order has created before.
func (s *changes) again(
	ctx context.Context, env string, f *changed, failed error,
) (Instance, bool) {
	if !fault.Is(failed, fault.Conflict) {
		return Instance{}, false
	}
	is, err := s.find(ctx, env, Ref{f.record.Service, f.record.ID})
	if err != nil {
		return Instance{}, false
	}
	out, err := s.whole(ctx, env, &is)
	return out, err == nil && within(f.given, is.record.Current())
}

// within reports whether a value contains all values of an order. The value may also contain
// defaults and attributes that the model sets.
func within(said, is any) bool {
	switch said := said.(type) {
	case map[string]any:
		m, ok := is.(map[string]any)
		for k, v := range said {
			ok = ok && within(v, m[k])
		}
		return ok
	case []any:
		list, ok := is.([]any)
		ok = ok && len(list) == len(said)
		for i := 0; ok && i < len(said); i++ {
			ok = within(said[i], list[i])
		}
		return ok
	}
	return inventory.Equal(said, is)
}

func text(v map[string]any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// changed is an instance after a change.
type changed struct {
	found
	change inventory.Change
	given  map[string]any // attributes of an order, with ids instead of names
}

// creation returns the change for an order of an instance. names are the other instances that the
// same order creates.
func (s *changes) creation(
	ctx context.Context, env string, o Creation, names names,
) (changed, error) {
	version := -1
	if o.Version != nil {
		version = *o.Version
	}
	d, err := s.Definitions.One(ctx, env, o.Service, version)
	if err != nil {
		return changed{}, err
	}
	given, lost := s.resolved(ctx, env, &d, o.Attributes, names, inventory.PointerRoot)
	c, err := inventory.New(&d, o.ID, o.State, given, s.now())
	if err = both(lost, err); err != nil {
		return changed{}, err
	}
	if err := metadata(o.Metadata); err != nil {
		return changed{}, err
	}
	if c.Record, err = s.configured(&d, c.Record, o.Config); err != nil {
		return changed{}, err
	}
	c.Record.Metadata = o.Metadata
	c.Events = append([]inventory.Event{{
		At: c.Record.Created, Version: c.Record.Version, Kind: "create", To: c.Record.State,
	}}, c.Events...)
	out := changed{found{c.Record, d}, c, given}
	return out, s.free(ctx, env, &out.record, &d)
}

// both returns the problems of two errors together.
func both(a, b error) error {
	first, _ := diag.Of(a)
	second, _ := diag.Of(b)
	if len(first) == 0 || len(second) == 0 {
		return cmp.Or(a, b)
	}
	return append(first, second...).Err()
}

// free rejects an identity that another instance has.
func (s *changes) free(
	ctx context.Context, env string, r *inventory.Record, d *definition.Service,
) error {
	if r.Identity == "" || d.Identity == nil {
		return nil
	}
	other, err := s.Instances.ByIdentity(ctx, env, r.Service, r.Identity)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && other.ID == r.ID:
		return nil
	case err != nil:
		return err
	}
	return diag.Problems{{
		Attribute: *d.Identity, Code: CodeIdentity,
		Message: fmt.Sprintf("the instance %s of %s has the identity %s already",
			other.ID, r.Service, r.Identity),
		Hint: "use another one, or change that instance",
	}}
}

// explained adds the attribute, or the names of the instances, to a refusal of the store.
func (s *changes) explained(ctx context.Context, env string, f *changed, failed error) error {
	if n := (*inventory.Needed)(nil); errors.As(failed, &n) {
		if by, err := s.Instances.Instance(ctx, env, n.By); err == nil {
			return inventory.ErrNeededBy(nameOf(&f.record), nameOf(&by))
		}
	}
	if fault.Is(failed, fault.Refused) {
		if err := s.free(ctx, env, &f.record, &f.def); err != nil {
			return err
		}
	}
	return failed
}

// nameOf returns the name of an instance for people, which also identifies it.
func nameOf(r *inventory.Record) string {
	if r.Identity == "" {
		return r.ID
	}
	return r.Service + "/" + r.Identity
}

// The bounds of metadata.
const (
	maxMetadata = 100
	maxKey      = 255
	maxValue    = 16 << 10
)

// metadata rejects metadata that exceed the bounds.
func metadata(m map[string]string) error {
	if len(m) > maxMetadata {
		return fault.New(fault.Invalid, "", "there are %d entries of metadata, and may be %d",
			len(m), maxMetadata)
	}
	total := 0
	for k, v := range m {
		if k == "" || len(k) > maxKey {
			return fault.New(fault.Invalid, "", "a key of metadata has 1 to %d bytes", maxKey)
		}
		total += len(k) + len(v)
	}
	if total > maxValue {
		return fault.New(fault.Invalid, "", "the metadata have %d bytes, and may have %d",
			total, maxValue).WithHint("store large data elsewhere, and its address here")
	}
	return nil
}
