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

// Finder finds work, and notifies the compile function of it.
type Finder struct {
	Notifier    *Notifier
	Definitions definition.Store
	Instances   inventory.Store
	Calls       Calls
	Followed    Followed
	Now         func() time.Time
	// Serve, if not nil, enables polling of the queue. Environments with services need it.
	Serve func(ctx context.Context) error

	mu      sync.Mutex
	known   map[string]offers    // by environment
	follow  map[string]offers    // whether instances follow resources, by environment
	checked map[string]time.Time // last check of all instances, by environment
}

// Calls reports pending events of callbacks. *services.Callbacks implements it.
type Calls interface {
	// Due reports whether an environment has pending events, and a callback that may be called now.
	Due(ctx context.Context, env string, now time.Time) (bool, error)
}

// Followed reports whether instances of an environment follow resources that are not their own.
// *services.Instances implements it.
type Followed interface {
	Followed(ctx context.Context, env string) (bool, error)
}

// CheckInterval is how often all instances of an environment are checked, in case a notice about
// run resources was lost. Due does not find instances that have no due task.
const CheckInterval = 30 * time.Minute

// maxRest is the longest quiet time of an environment with services. A sweep has its queue polled
// for half an hour, so with a shorter quiet time the queue would always be polled.
const maxRest = time.Hour

// offers records whether an environment had services, or followers, at a time.
type offers struct {
	some bool
	at   time.Time
}

// remembered is how long a negative answer is cached. If a notice is dropped because of it, the
// sweep finds the work.
const remembered = time.Minute

// Sweep notifies the compile function if work is due in an environment, and once each
// CheckInterval. It returns the longest time that the environment may stay quiet, because only a
// sweep finds work whose notice was lost. Without services there is no limit, and it returns 0.
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

// again reports whether all instances of an environment have to be checked. That is so at the first
// sweep of each period in this process.
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

// Ran sends a notice of the instances whose resources were run, given their resource sets. In
// environments without services, sets belong to no instance, and Ran sends no notice. Resources
// without a set (inventory.Shared) matter only if instances follow resources.
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

// offers reports whether an environment has services. A positive answer is cached for ever, a
// negative one for limit.
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

// follows reports whether instances of an environment follow resources. The answer is cached for a
// minute.
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

// noted returns the cached answer for an environment.
func (f *Finder) noted(in *map[string]offers, env string) (offers, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	have, ok := (*in)[env]
	return have, ok
}

// note caches the answer for an environment.
func (f *Finder) note(in *map[string]offers, env string, some bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if *in == nil {
		*in = map[string]offers{}
	}
	(*in)[env] = offers{some, f.Now()}
}

// Sets collects resource sets whose resources were run, and sends notices of them. Any number of
// goroutines may use it.
type Sets struct {
	Finder *Finder // nil: no notices are sent
	Log    *slog.Logger

	mu   sync.Mutex
	sets map[string]map[string]bool // by environment
}

// Add adds sets of an environment.
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

// Flush sends a notice of the collected sets of an environment. A failure is harmless, because the
// sweep finds the work.
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
