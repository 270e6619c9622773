package instances

import (
	"context"

	"southbound/shared/api/resources"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// Reader reads instances of services.
type Reader interface {
	// List returns a page of instances.
	List(ctx context.Context, env string, q orders.Query) (orders.Page, error)
	// Instance returns one instance.
	Instance(ctx context.Context, env string, ref orders.Ref) (orders.Instance, error)
	// Events returns a page of the events of an instance.
	Events(ctx context.Context, env string, ref orders.Ref, q orders.EventQuery) (
		orders.EventPage, error)
	// Log returns a page of the attributes of an instance at its versions.
	Log(ctx context.Context, env string, ref orders.Ref, q orders.LogQuery) (
		orders.LogPage, error)
}

// Changer orders changes of instances.
type Changer interface {
	Create(ctx context.Context, env string, o orders.Creation) (orders.Instance, error)
	Update(ctx context.Context, env string, w orders.Wish, attributes map[string]any) (
		orders.Instance, error)
	// Replace replaces all attributes.
	Replace(ctx context.Context, env string, w orders.Wish, attributes map[string]any,
		ignoreReadOnly bool) (orders.Instance, error)
	// Edit applies edits to attributes.
	Edit(ctx context.Context, env string, w orders.Wish, edits []inventory.Edit) (
		orders.Instance, error)
	Delete(ctx context.Context, env string, w orders.Wish) (orders.Instance, error)
	// SetState requests a state.
	SetState(ctx context.Context, env string, w orders.Wish, target string) (orders.Instance, error)
	// Configure turns automatic transfers on and off.
	Configure(ctx context.Context, env string, w orders.Wish, values map[string]bool) (
		orders.Instance, error)
	// SetMetadata stores a text with an instance; nil removes it.
	SetMetadata(ctx context.Context, env string, w orders.Wish, key string, value *string) (
		orders.Instance, error)
}

// Expert changes instances regardless of modifiers and lifecycles.
type Expert interface {
	// Force sets a state without a transfer.
	Force(ctx context.Context, env string, w orders.Wish, target string, o lifecycle.Operation) (
		orders.Instance, error)
	// EditSet changes one set of attributes.
	EditSet(ctx context.Context, env string, w orders.Wish, set string, edits []inventory.Edit) (
		orders.Instance, error)
	// Destroy ends an instance without a transfer.
	Destroy(ctx context.Context, env string, w orders.Wish) (orders.Instance, error)
	// Migrate changes an instance to the definition of a version, with other attributes.
	Migrate(ctx context.Context, env string, w orders.Wish, version int, m inventory.Migration) (
		orders.Instance, error)
}

// resourceLister is the part of resources that instances need.
type resourceLister interface {
	// Resources calls f for every resource that matches, in order of id, until f returns an error.
	Resources(ctx context.Context, env string, filter []string, f func(*resources.Resource) error) error
}
