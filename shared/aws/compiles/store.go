package compiles

import (
	"context"
	"errors"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Waker ends the quiet time of an environment. *dynamo.State implements it.
type Waker interface {
	Wake(ctx context.Context, env string) error
}

// Store wraps the store of instances, and sends notices of the work that its writes create. Orders
// are written to it. The function that does the work writes to the wrapped store.
type Store struct {
	inventory.Store
	inventory.OrderBook
	Notifier *Notifier
	Waker    Waker
	// Noted reports whether a write in an environment created events for callbacks since the last
	// call.
	Noted func(env string) bool
	// Lost, if not nil, is called if a notice failed. The sweep sends a notice instead.
	Lost func(ctx context.Context, env string, err error)
}

// Write implements inventory.Store. A written order is accepted even if its notice fails. But while
// the environment is quiet, the sweep would not see the order. So Write fails if it cannot end the
// quiet time. The order may have been written then, as after a fault.Unavailable of any Write.
func (s *Store) Write(
	ctx context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	revs, err := s.Store.Write(ctx, env, changes)
	return s.written(ctx, env, changes, revs, err)
}

// Place implements inventory.OrderBook, with the notices of Write.
func (s *Store) Place(
	ctx context.Context, env string, o inventory.Order, changes []inventory.Change,
) ([]int64, error) {
	revs, err := s.OrderBook.Place(ctx, env, o, changes)
	return s.written(ctx, env, changes, revs, err)
}

// written sends the notices of a write.
func (s *Store) written(
	ctx context.Context, env string, changes []inventory.Change, revs []int64, err error,
) ([]int64, error) {
	if fault.Is(err, fault.Conflict) { // perhaps an order of a process that died
		return nil, errors.Join(err, s.Waker.Wake(ctx, env))
	}
	if err != nil {
		return nil, err
	}
	var ids []string
	for i := range changes {
		if len(changes[i].Record.Tasks) > 0 {
			ids = append(ids, changes[i].Record.ID)
		}
	}
	noted := s.Noted(env)
	if len(ids) == 0 && !noted {
		return revs, nil
	}
	// The quiet time ends after the write, and the sweep looks for tasks after it has marked the
	// environment as quiet. So one of the two sees the other. A crash in between leaves an order in
	// a quiet environment. The client has no response, repeats the order, and meets the conflict
	// above. Otherwise the quiet time ends with the next change of the environment, or after
	// maxRest at most. A crash before the notices leaves them to the sweep.
	if err := s.Waker.Wake(ctx, env); err != nil {
		return nil, err
	}
	if noted {
		err = s.Notifier.NotifyCalls(ctx, env, 0)
	}
	if len(ids) > 0 {
		err = errors.Join(err, s.Notifier.Notify(ctx, env, ids...))
	}
	if err != nil && s.Lost != nil {
		s.Lost(ctx, env, err)
	}
	return revs, nil
}

// Definitions wraps the store of definitions. Put ends the quiet time of an environment, so that
// the sweep sees the new offer and enables polling of the queue.
type Definitions struct {
	definition.Store
	Waker Waker
}

// Put implements definition.Store.
func (d *Definitions) Put(
	ctx context.Context, env, bundle string, services []definition.Service,
) error {
	// A crash between the two leaves an offer whose queue is not polled. A repeated export or the
	// first order ends the quiet time then.
	if err := d.Store.Put(ctx, env, bundle, services); err != nil {
		return err
	}
	return d.Waker.Wake(ctx, env)
}
