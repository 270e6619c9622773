package compiles

import (
	"context"
	"sync"
	"time"

	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
)

// Look finds what is rung for.
type Look struct {
	Bell        *Bell
	Definitions definition.Store
	Instances   inventory.Store
	Now         func() time.Time

	mu    sync.Mutex
	known map[string]offers // by environment
}

// offers is whether an environment has services, as it was at a time.
type offers struct {
	some bool
	at   time.Time
}

// remembered is how long it is remembered that an environment has no services. What is rung for too
// late is found by the sweep.
const remembered = time.Minute

// Sweep rings for what is due in an environment.
func (l *Look) Sweep(ctx context.Context, env string) error {
	if some, err := l.offers(ctx, env); !some || err != nil {
		return err
	}
	due, err := l.Instances.Due(ctx, env, l.Now(), 1)
	if err != nil || len(due) == 0 {
		return err
	}
	return l.Bell.Ring(ctx, env)
}

// Ran rings for instances of which resources were run, by the resource sets of these: sets of
// environments without services are nobody's.
func (l *Look) Ran(ctx context.Context, env string, sets []string) error {
	if len(sets) == 0 {
		return nil
	}
	if some, err := l.offers(ctx, env); !some || err != nil {
		return err
	}
	return l.Bell.Ring(ctx, env, sets...)
}

// offers reports whether an environment has services. That it has does not change.
func (l *Look) offers(ctx context.Context, env string) (bool, error) {
	l.mu.Lock()
	have, ok := l.known[env]
	l.mu.Unlock()
	now := l.Now()
	if ok && (have.some || now.Sub(have.at) < remembered) {
		return have.some, nil
	}
	_, err := l.Definitions.Bundle(ctx, env)
	some := err == nil
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]offers{}
	}
	l.known[env] = offers{some, now}
	return some, nil
}
