package dynamo

import (
	"context"
	"maps"
	"slices"
	"time"

	"southbound/shared/aws/attributevalue"
)

// Orphans are unreferenced objects and pieces. A commit or a merge leaves them if it loses against
// another write. A process leaves them if it ends before its commit or merge is written, or before
// it has removed the merged pieces.

// DropOrphans removes unreferenced objects and items that were stored before a time, and returns
// their number. The time must be so early that everything stored for a commit is referenced by now:
// a day ago is plenty. DropOrphans reads the whole table, so it should run rarely.
func (s *State) DropOrphans(ctx context.Context, before time.Time) (int, error) {
	old := map[string]bool{}
	if err := s.objects.List(ctx, func(name string, stored time.Time) error {
		if stored.Before(before) {
			old[name] = true
		}
		return nil
	}); err != nil {
		return 0, err
	}
	envs, err := s.Envs(ctx)
	if err != nil {
		return 0, err
	}
	dropped := 0
	for _, env := range envs {
		pieces, err := s.piecesBefore(ctx, env, before)
		if err != nil {
			return dropped, err
		}
		if len(old)+len(pieces) == 0 {
			continue
		}
		if err := s.eachNamed(ctx, env, named{
			object: func(name string) { delete(old, name) },
			piece:  func(sort string) { delete(pieces, sort) },
		}); err != nil {
			return dropped, err
		}
		n, err := s.dropOld(ctx, env, pieces)
		dropped += n
		if err != nil {
			return dropped, err
		}
	}
	names := slices.Sorted(maps.Keys(old))
	if len(names) == 0 {
		return dropped, nil
	}
	return dropped + len(names), s.objects.Delete(ctx, names...)
}

// piecesBefore returns the pieces of an environment that were written before a time. The result
// maps their sort keys to the times when they were written.
func (s *State) piecesBefore(
	ctx context.Context, env string, before time.Time,
) (map[string]int64, error) {
	out := map[string]int64{}
	err := s.query(ctx, partition(itemPart(env), "", true), func(i item) (bool, error) {
		if at := attributevalue.NumberOf(i, attrTime); at < before.Unix() {
			out[attributevalue.TextOf(i, attrSort)] = at
		}
		return true, nil
	})
	return out, err
}

// dropOld removes unreferenced items, unless they were written again since they were listed, and
// returns the number of removed items.
func (s *State) dropOld(ctx context.Context, env string, written map[string]int64) (int, error) {
	dropped := 0
	for _, sort := range slices.Sorted(maps.Keys(written)) {
		_, err := s.putAll(ctx, []put{{part: itemPart(env), sort: sort, remove: true,
			written: written[sort]}})
		switch err {
		case nil:
			dropped++
		case errLost: // it is never wrapped
		default:
			return dropped, err
		}
	}
	return dropped, nil
}

// named receives the objects and pieces that an environment references.
type named struct {
	object func(name string)
	piece  func(sort string) // the sort key of an item that is not a page
}

// eachNamed calls f for the objects and pieces that the items of an environment reference.
func (s *State) eachNamed(ctx context.Context, env string, f named) error {
	entries := func(list []entry) {
		for _, x := range list {
			if x.object != nil {
				f.object(x.name)
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
			f.object(l.object)
		}
		for _, r := range rec.refs {
			part, sort := refKey(env, key, r)
			switch r.kind {
			case objectRef:
				f.object(r.name)
				continue
			case itemRef:
				f.piece(sort)
			}
			pieces = append(pieces, keyItem(part, sort))
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
	if err := s.eachKept(ctx, env, take); err != nil {
		return err
	}
	for shard := range uint32(shards) {
		if err := s.query(ctx, partition(pagePart(env, shard), "", true), take); err != nil {
			return err
		}
	}
	return nil
}
