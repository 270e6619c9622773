package sweep

import (
	"context"
	"sync"
	"time"

	"southbound/shared/fault"
)

// Dates caches the times when versions were stored, which never change. While an agent is stuck,
// each sweep needs the times of the same versions. The zero Dates is an empty cache. It is safe for
// concurrent use.
type Dates struct {
	mu sync.Mutex
	at map[string]map[int]time.Time // by environment and number; zero: the version is not retained
}

// of returns when versions were stored, and the zero time for a version that is not retained. It
// evicts all other versions of the environment from the cache.
func (d *Dates) of(
	ctx context.Context, watched Watched, env string, numbers ...int,
) ([]time.Time, error) {
	d.mu.Lock()
	known := d.at[env]
	d.mu.Unlock()
	now := make(map[int]time.Time, len(numbers))
	var ask []int
	for _, n := range numbers {
		at, is := known[n]
		if now[n] = at; !is {
			ask = append(ask, n)
		}
	}
	if len(ask) > 0 {
		vs, err := watched.Versions(ctx, env, ask...)
		if err != nil {
			return nil, fault.Wrap(fault.Unknown, "read versions", err)
		}
		for i := range vs {
			now[vs[i].Number] = vs[i].At
		}
	}
	d.mu.Lock()
	if d.at == nil {
		d.at = map[string]map[int]time.Time{}
	}
	d.at[env] = now
	d.mu.Unlock()
	out := make([]time.Time, len(numbers))
	for i, n := range numbers {
		out[i] = now[n]
	}
	return out, nil
}
