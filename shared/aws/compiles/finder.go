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

// Finder finds what the compile function is to be notified of.
type Finder struct {
	Notifier    *Notifier
	Definitions definition.Store
	Instances   inventory.Store
	Calls       Calls
	Followed    Followed
	Now         func() time.Time
	// Serve, when not nil, has the queue listened to: environments with services need it.
	Serve func(ctx context.Context) error

	mu      sync.Mutex
	known   map[string]offers    // by environment
	follow  map[string]offers    // whether something is followed, by environment
	checked map[string]time.Time // when a sweep has had all instances of an environment looked at
}

// Calls are what callbacks are to be told; *services.Callbacks has it.
type Calls interface {
	// Due reports whether something is to be told that some callback can be told now.
	Due(ctx context.Context, env string, now time.Time) (bool, error)
}

// Followed says whether instances follow resources that are not their own; *services.Instances has
// it.
type Followed interface {
	Followed(ctx context.Context, env string) (bool, error)
}

// CheckInterval is how often all instances of an environment are looked at, in case that a notice
// of what was run was lost: nothing is due of those that wait for nothing.
const CheckInterval = 30 * time.Minute

// maxRest is how long an environment with services rests at most. Its queue is polled for half an
// hour afterwards, so that a shorter rest would have it polled always.
const maxRest = time.Hour

// offers is whether an environment has services, or followers, as it was at a time.
type offers struct {
	some bool
	at   time.Time
}

// remembered is how long it is remembered that an environment has no services. What a notice came
// too late is found by the sweep.
const remembered = time.Minute

// Sweep notifies the compile function when something is due in an environment, and each
// CheckInterval. It returns how long the environment may rest at most, as what nobody could notify
// of is found by a sweep; 0: as long as it likes, as it has no services.
func (f *Finder) Sweep(ctx context.Context, env string) (time.Duration, error) {
	if some, err := f.offers(ctx, env, 0); !some || err != nil {
		return 0, err
	}
	if f.Serve != nil {
		if err := f.Serve(ctx); err != nil {
			return 0, err
		}
	}
	calls, err := f.Calls.Due(ctx, env, f.Now())
	if err == nil && calls {
		err = f.Notifier.NotifyCalls(ctx, env, 0)
	}
	if err != nil {
		return 0, err
	}
	due, err := f.Instances.Due(ctx, env, f.Now(), 1)
	if err == nil && (len(due) > 0 || f.again(env)) {
		err = f.Notifier.Notify(ctx, env)
	}
	return maxRest, err
}

// again reports whether it is time to look at all instances of an environment: at the first sweep
// of each period, whichever process does it.
func (f *Finder) again(env string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.Now().Truncate(CheckInterval)
	last, ok := f.checked[env]
	if f.checked == nil {
		f.checked = map[string]time.Time{}
	}
	f.checked[env] = now
	return ok && last.Before(now)
}

// Ran sends a notice of instances of which resources were run, by the resource sets of these: sets
// of environments without services are nobody's. What is in no set (inventory.Shared) is of
// interest where instances follow something.
func (f *Finder) Ran(ctx context.Context, env string, sets []string) error {
	if len(sets) == 0 {
		return nil
	}
	if some, err := f.offers(ctx, env, remembered); !some || err != nil {
		return err
	}
	if at := slices.Index(sets, inventory.Shared); at >= 0 {
		some, err := f.follows(ctx, env)
		if err != nil {
			return err
		}
		if !some {
			sets = slices.Delete(slices.Clone(sets), at, at+1)
		}
	}
	if len(sets) == 0 {
		return nil
	}
	return f.Notifier.Notify(ctx, env, sets...)
}

// offers reports whether an environment has services. That it has does not change; that it has not
// is remembered for a time.
func (f *Finder) offers(ctx context.Context, env string, limit time.Duration) (bool, error) {
	have, ok := f.noted(&f.known, env)
	if ok && (have.some || f.Now().Sub(have.at) < limit) {
		return have.some, nil
	}
	_, err := f.Definitions.Bundle(ctx, env)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return false, err
	}
	f.note(&f.known, env, err == nil)
	return err == nil, nil
}

// follows reports whether instances of an environment follow something, as it was a moment ago.
func (f *Finder) follows(ctx context.Context, env string) (bool, error) {
	if have, ok := f.noted(&f.follow, env); ok && f.Now().Sub(have.at) < remembered {
		return have.some, nil
	}
	some, err := f.Followed.Followed(ctx, env)
	if err == nil {
		f.note(&f.follow, env, some)
	}
	return some, err
}

// noted returns what is remembered of an environment.
func (f *Finder) noted(in *map[string]offers, env string) (offers, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have, ok := (*in)[env]
	return have, ok
}

// note remembers it.
func (f *Finder) note(in *map[string]offers, env string, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *in == nil {
		*in = map[string]offers{}
	}
	(*in)[env] = offers{some, f.Now()}
}

// Sets gathers the resource sets of which something was run, and sends notices of them. It may be
// used by any number of goroutines.
type Sets struct {
	Finder *Finder // nil: no notices are sent
	Log    *slog.Logger

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

// Flush sends a notice of the sets of an environment that were noted. That it fails does no harm:
// the sweep makes up for it.
func (s *Sets) Flush(ctx context.Context, env string) {
	s.mu.Lock()
	sets := slices.Sorted(maps.Keys(s.sets[env]))
	delete(s.sets, env)
	s.mu.Unlock()
	if s.Finder == nil {
		return
	}
	if err := s.Finder.Ran(ctx, env, sets); err != nil {
		s.Log.WarnContext(ctx, "the compile function was not notified", "environment", env,
			"sets", len(sets), "error", err.Error())
	}
}
