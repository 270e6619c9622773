package dynamo

import (
	"context"
	"slices"
	"sync"
	"time"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// actions finds and removes actions, in lanes and in the log. It also returns the actions that are
// not in the log yet.
type actions struct{ *reader }

// Actions implements state.State. It reads the cursors, then the committed actions that are not in
// the log, then the log. In this order an action that is moved to the log concurrently is found in
// the log.
func (s *actions) Actions(
	ctx context.Context,
	env string,
	q state.ActionQuery,
) ([]state.Action, error) {
	const tries = 5
	for try := 1; ; try++ {
		out, err := s.actions(ctx, env, q)
		if fault.Is(err, fault.NotFound) && try < tries { // a piece was removed during the read
			continue
		}
		return out, err
	}
}

func (s *actions) actions(
	ctx context.Context,
	env string,
	q state.ActionQuery,
) ([]state.Action, error) {
	h, err := s.readHead(ctx, env)
	if err != nil {
		return nil, err
	}
	f := &finder{s: s, env: env, q: q, horizon: h.horizon, found: state.ActionSet{}}
	if f.at, err = s.cursors(ctx, env); err != nil {
		return nil, err
	}
	if err := f.committed(ctx); err != nil {
		return nil, err
	}
	if s.log != nil {
		logged, err := s.log.Actions(ctx, env, q, h.horizon)
		if err != nil {
			return nil, err
		}
		for i := range logged {
			f.take(&logged[i])
		}
	}
	return f.found.Newest(q.Limit), nil
}

// finder collects matching actions.
type finder struct {
	s       *actions
	env     string
	q       state.ActionQuery
	horizon time.Time
	at      map[string]int64 // cursors, by key of the tablet

	mu    sync.Mutex
	found state.ActionSet
}

func (f *finder) take(a *state.Action) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.found.Take(a)
}

// committed searches the actions behind the cursors, in tails and pages.
func (f *finder) committed(ctx context.Context) error {
	recs, err := f.s.readRecords(ctx, f.env)
	if err != nil {
		return err
	}
	behind := make([][]string, shards) // keys of tablets whose pages have to be searched
	for _, rec := range recs {
		if err := f.searchEntries(ctx, rec.key, rec.tail); err != nil {
			return err
		}
		if rec.acted > f.at[rec.key] {
			shard := shardOf(rec.key)
			behind[shard] = append(behind[shard], rec.key)
		}
	}
	errs := make([]error, shards)
	f.s.host.Each(shards, shards, func(shard int) {
		if keys := behind[shard]; len(keys) > 0 {
			errs[shard] = f.pages(ctx, uint32(shard), keys) // reads a few pages
		}
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// pages searches the pages of some tablets of one partition.
func (f *finder) pages(ctx context.Context, shard uint32, keys []string) error {
	if len(keys) == 1 {
		pages, err := f.s.pagesAfter(ctx, f.env, keys[0], f.at[keys[0]])
		if err != nil {
			return err
		}
		for _, p := range pages {
			if err := f.searchEntries(ctx, keys[0], p.entries); err != nil {
				return err
			}
		}
		return nil
	}
	return f.s.query(ctx, partition(pagePart(f.env, shard), "", true), func(i item) (bool, error) {
		key, last := pageOf(attributevalue.TextOf(i, attrSort))
		if last <= f.at[key] || !slices.Contains(keys, key) {
			return true, nil
		}
		list, err := pageEntries(i)
		if err != nil {
			return false, err
		}
		return true, f.searchEntries(ctx, key, list)
	})
}

// searchEntries adds the matching actions of a tablet's entries behind its cursor.
func (f *finder) searchEntries(ctx context.Context, key string, entries []entry) error {
	var list []entry
	for _, x := range entries {
		if x.seq > f.at[key] && (x.object == nil || f.may(x.object)) {
			list = append(list, x)
		}
	}
	if err := f.s.fetch(ctx, list); err != nil {
		return err
	}
	for _, x := range list {
		d, err := f.s.deltaOf(x)
		if err != nil {
			return err
		}
		for i := range d.actions {
			if a := &d.actions[i]; !a.Finished.Before(f.horizon) && f.q.Selects(a) {
				f.take(a)
			}
		}
	}
	return nil
}

// may reports whether an object may contain matching actions.
func (f *finder) may(o *object) bool {
	q := f.q
	switch {
	case !o.acts(), o.finished[1].Before(f.horizon),
		!q.Since.IsZero() && o.finished[1].Before(q.Since),
		!q.Until.IsZero() && !o.finished[0].Before(q.Until),
		q.After != "" && o.ids[1] <= q.After, q.Before != "" && o.ids[0] >= q.Before,
		len(q.IDs) > 0 && (slices.Max(q.IDs) < o.ids[0] || slices.Min(q.IDs) > o.ids[1]):
		return false
	}
	return true
}
