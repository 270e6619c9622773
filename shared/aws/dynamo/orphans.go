package dynamo

import (
	"context"
	"time"

	"southbound/shared/aws/attributevalue"
)

// Orphans are objects that nothing names: of commits that lost against others, or whose process
// ended before they were written.

// DropOrphans removes objects that were stored before a time and that nothing names, and returns
// how many. The time must lie so far back that whatever was stored for a commit is named by then: a
// day is plenty. It reads everything that the table holds, so it is for now and then.
func (s *State) DropOrphans(ctx context.Context, before time.Time) (int, error) {
	old := map[string]bool{}
	if err := s.objects.List(ctx, func(name string, stored time.Time) error {
		if stored.Before(before) {
			old[name] = true
		}
		return nil
	}); err != nil || len(old) == 0 {
		return 0, err
	}
	envs, err := s.Envs(ctx)
	if err != nil {
		return 0, err
	}
	for _, env := range envs {
		if err := s.eachNamed(ctx, env, func(name string) { delete(old, name) }); err != nil {
			return 0, err
		}
	}
	names := make([]string, 0, len(old))
	for name := range old {
		names = append(names, name)
	}
	if len(names) == 0 {
		return 0, nil
	}
	return len(names), s.objects.Delete(ctx, names...)
}

// eachNamed calls f for the objects that items of an environment name.
func (s *State) eachNamed(ctx context.Context, env string, f func(name string)) error {
	entries := func(list []entry) {
		for _, x := range list {
			if x.object != nil {
				f(x.name)
			}
		}
	}
	var pieces []item
	if err := s.query(ctx, partition(recordPart(env), "", true), func(i item) (bool, error) {
		key := attributevalue.TextOf(i, attrSort)
		if key == txSort || key == agentsSort {
			doc, err := documentIn(i)
			entries([]entry{doc})
			return true, err
		}
		rec, err := s.recordOf(env, key, i)
		if err != nil {
			return false, err
		}
		entries(rec.tail)
		for _, l := range []idList{rec.running, rec.before, rec.conflicts} {
			f(l.object)
		}
		for _, r := range rec.refs {
			if r.kind == objectRef {
				f(r.name)
			} else {
				pieces = append(pieces, keyItem(refKey(env, key, r)))
			}
		}
		return true, nil
	}); err != nil {
		return err
	}
	found, err := s.getMany(ctx, pieces)
	if err != nil {
		return err
	}
	take := func(i item) (bool, error) {
		list, err := pageEntries(i)
		entries(list)
		return true, err
	}
	for _, i := range found {
		if _, err := take(i); err != nil {
			return err
		}
	}
	if err := s.query(ctx, partition(versionPart(env), "", true), take); err != nil {
		return err
	}
	for shard := range uint32(shards) {
		if err := s.query(ctx, partition(pagePart(env, shard), "", true), take); err != nil {
			return err
		}
	}
	return nil
}
