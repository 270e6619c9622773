package compiles

import (
	"context"
	"errors"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Waker ends the rest of an environment; *dynamo.State has it.
type Waker interface {
	Wake(ctx context.Context, env string) error
}

// Store is instances whose writes send notices for what they leave to do. It is what orders are
// written to; whoever does what is left writes past it.
type Store struct {
	inventory.Store
	inventory.OrderBook
	Notifier *Notifier
	Waker    Waker
	// Noted reports whether something was written in an environment that callbacks are to be told,
	// since it was asked last.
	Noted func(env string) bool
	// Lost, when not nil, is told of a notice that failed: the sweep sends one in its stead.
	Lost func(ctx context.Context, env string, err error)
}

// Write implements inventory.Store. An order that was written is accepted, whatever becomes of the
// notify; but that the environment rests would hide it from the sweep, so not being able to end its
// rest is an error, after which the order may be there, as after fault.Unavailable of any Write.
func (s *Store) Write(
	ctx context.Context, env string, changes []inventory.Change,
) ([]int64, error) {
	revs, err := s.Store.Write(ctx, env, changes)
	return s.written(ctx, env, changes, revs, err)
}

// Place implements inventory.OrderBook, as Write does.
func (s *Store) Place(
	ctx context.Context, env string, o inventory.Order, changes []inventory.Change,
) ([]int64, error) {
	revs, err := s.OrderBook.Place(ctx, env, o, changes)
	return s.written(ctx, env, changes, revs, err)
}

// written notifies of what was written.
func (s *Store) written(
	ctx context.Context, env string, changes []inventory.Change, revs []int64, err error,
) ([]int64, error) {
	if fault.Is(err, fault.Conflict) { // it may be an order that was written by whoever died then
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
	// The rest ends after the write, as the sweep looks for tasks after it has noted the rest: one
	// of the two sees the other. A crash in between leaves an order in an environment that rests.
	// The client, which has no answer, repeats it and finds the conflict above; otherwise the next
	// change of the environment ends the rest, or its time, which is maxRest at most. A crash
	// before the notices leaves them to the sweep.
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

// Definitions are definitions of services. An environment that offers some does not rest, so that
// the sweep sees it and has the queue listened to.
type Definitions struct {
	definition.Store
	Waker Waker
}

// Put implements definition.Store.
func (d *Definitions) Put(
	ctx context.Context, env, bundle string, services []definition.Service,
) error {
	// A crash between the two leaves an offer whose queue nobody listens to, until the export is
	// repeated or the first order ends the rest.
	if err := d.Store.Put(ctx, env, bundle, services); err != nil {
		return err
	}
	return d.Waker.Wake(ctx, env)
}
