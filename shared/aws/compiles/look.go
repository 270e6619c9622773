package compiles

import (
	"context"
	"log/slog"
	"maps"
	"slices"
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
	// Serve, when not nil, has the queue listened to: environments with services need it.
	Serve func(ctx context.Context) error

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
	if some, err := l.offers(ctx, env, 0); !some || err != nil {
		return err
	}
	if l.Serve != nil {
		if err := l.Serve(ctx); err != nil {
			return err
		}
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
	if some, err := l.offers(ctx, env, remembered); !some || err != nil {
		return err
	}
	return l.Bell.Ring(ctx, env, sets...)
}

// offers reports whether an environment has services. That it has does not change; that it has not
// is remembered for a time.
func (l *Look) offers(ctx context.Context, env string, most time.Duration) (bool, error) {
	l.mu.Lock()
	have, ok := l.known[env]
	l.mu.Unlock()
	now := l.Now()
	if ok && (have.some || now.Sub(have.at) < most) {
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

// Sets gathers the resource sets of which something was run, and rings for them. It may be used by
// any number of goroutines.
type Sets struct {
	Look *Look // nil: nothing is rung
	Log  *slog.Logger

	mu   sync.Mutex
	sets map[string]map[string]bool // by environment
}

// Add notes sets of an environment.
func (s *Sets) Add(env string, sets []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sets == nil {
		s.sets = map[string]map[string]bool{}
	}
	if s.sets[env] == nil {
		s.sets[env] = map[string]bool{}
	}
	for _, set := range sets {
		s.sets[env][set] = true
	}
}

// Flush rings for the sets of an environment that were noted. That it fails does no harm: the sweep
// makes up for it.
func (s *Sets) Flush(ctx context.Context, env string) {
	s.mu.Lock()
	sets := slices.Sorted(maps.Keys(s.sets[env]))
	delete(s.sets, env)
	s.mu.Unlock()
	if s.Look == nil {
		return
	}
	if err := s.Look.Ran(ctx, env, sets); err != nil {
		s.Log.WarnContext(ctx, "the compile function was not rung", "environment", env,
			"sets", len(sets), "error", err.Error())
	}
}
