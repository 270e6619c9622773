package dynamo

import (
	"context"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/fault"
)

// readRecord reads the record of a tablet; one that does not exist has seq 0.
func (s *State) readRecord(ctx context.Context, env, key string) (*record, error) {
	got, err := s.get(ctx, recordPart(env), key)
	if err != nil {
		return nil, err
	}
	return s.recordOf(env, key, got)
}

func (s *State) recordOf(env, key string, i item) (*record, error) {
	rec := &record{key: key}
	if i != nil {
		var err error
		if rec, err = decodeRecord(key, attributevalue.NumberOf(i, attrSeq), attributevalue.BytesOf(i, attrBody), s.pack); err != nil {
			return nil, err
		}
	}
	s.saw(env, rec)
	return rec, nil
}

// maxRolls is how many commits in a row are finished before a reader gives up.
const maxRolls = 50

// readRecords reads the records of all lanes. A commit that is being rolled forward is finished
// first.
func (s *State) readRecords(ctx context.Context, env string) ([]*record, error) {
	for try := 0; ; try++ {
		if try == maxRolls {
			return nil, damaged("a commit of environment %q that was begun cannot be finished", env)
		}
		var out []*record
		var tx item
		err := s.query(ctx, partition(recordPart(env), recordPrefix, true), func(i item) (bool, error) {
			key := attributevalue.TextOf(i, attrSort)
			if key == txSort {
				tx = i
				return false, nil
			}
			rec, err := s.recordOf(env, key, i)
			out = append(out, rec)
			return true, err
		})
		if err != nil || tx == nil {
			return out, err
		}
		if err := s.rollForward(ctx, env, tx); err != nil {
			return nil, err
		}
	}
}

// unmoved calls read until no row has moved between lanes meanwhile: every commit that moves one
// changes the head. So what is nowhere was nowhere at some moment. Where rows move all the time it
// ends as other contention does, with Unavailable.
func (s *State) unmoved(ctx context.Context, env string, read func() error) error {
	before, err := s.readHead(ctx, env)
	if err != nil {
		return err
	}
	return s.contend(ctx, func() error {
		if err := read(); err != nil {
			return err
		}
		after, err := s.readHead(ctx, env)
		if err != nil || after.seq == before.seq {
			return err
		}
		before = after
		return errLost
	})
}

// withImage calls f with the rows of a tablet as they are at rec or later, and with the number of
// that change in the image. Nothing of the image may be used after f.
func (s *State) withImage(ctx context.Context, env string, rec *record, f func(m *image) error) error {
	b := s.tablet(tabletKey{env, rec.key})
	b.mu.Lock()
	defer b.mu.Unlock()
	const tries = 5
	for try := 1; ; try++ {
		err := s.load(ctx, env, b, rec)
		if err == nil {
			break
		}
		b.img = nil
		b.size.Store(0)
		if !fault.Is(err, fault.NotFound) || try == tries {
			if fault.Is(err, fault.NotFound) {
				return damaged("a piece of %s is missing: %v", rec.key, err)
			}
			return err
		}
		// What the record names was merged away after it was read.
		if rec, err = s.readRecord(ctx, env, rec.key); err != nil {
			return err
		}
	}
	return f(b.img)
}

// load brings the image of b to rec. It fails with NotFound when a piece is not there any more.
func (s *State) load(ctx context.Context, env string, b *tablet, rec *record) error {
	lane, _ := laneOf(rec.key)
	if b.img == nil {
		b.img = newImage(lane)
		b.size.Store(0)
	}
	m := b.img
	if m.seq >= rec.seq {
		return nil
	}
	pieces, err := s.pieces(ctx, env, rec, m.seq)
	if err != nil {
		return err
	}
	for _, p := range pieces {
		raw, err := s.pack.unpack(p.data)
		if err != nil {
			return err
		}
		d, err := m.read(p.seq, raw)
		if err != nil {
			return err
		}
		if d.whole {
			b.size.Store(0)
		}
		b.size.Add(3 * int64(len(raw))) // decoded rows take about three times the room
	}
	m.seq, m.wave = rec.seq, rec.wave // some changes have no delta
	s.shrink()
	return nil
}

// took notes in memory what a write of this process has changed.
func (s *State) took(env string, e *edit) {
	s.saw(env, e.next)
	b := s.tablet(tabletKey{env, e.next.key})
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.img == nil || b.img.seq != e.rec.seq {
		return
	}
	if err := b.img.apply(e.next.seq, &e.delta); err != nil {
		b.img = nil // it will be read again
		return
	}
	b.img.seq, b.img.wave = e.next.seq, e.next.wave
	b.size.Add(3 * int64(e.size))
}

// pieces returns, in order, what brings an image from a change to rec: compressed deltas with the
// number of the change that each leads to.
func (s *State) pieces(ctx context.Context, env string, rec *record, after int64) ([]entry, error) {
	var out []entry
	var keys []item
	isItem := map[string]bool{} // by sort key
	for _, f := range rec.refs {
		if f.last <= after {
			continue
		}
		switch f.kind {
		case objectRef:
			out = append(out, entry{seq: f.last, object: &object{name: f.name}})
		case itemRef, pageRef:
			part, sort := s.refKey(env, rec.key, f)
			keys = append(keys, keyItem(part, sort))
			isItem[sort] = true
			out = append(out, entry{seq: f.last, object: &object{name: sort}})
		default:
			return nil, damaged("the record of %s names a piece of an unknown kind", rec.key)
		}
	}
	found, err := s.getMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	lists := map[string][]entry{}
	for _, i := range found {
		sort := attributevalue.TextOf(i, attrSort)
		if lists[sort], err = pageEntries(i); err != nil {
			return nil, err
		}
	}
	var flat []entry
	for _, x := range out {
		list, ok := lists[x.name]
		switch {
		case !isItem[x.name]:
			flat = append(flat, x)
		case !ok:
			return nil, fault.New(fault.NotFound, "read state", "item %s is not there", x.name)
		default:
			flat = append(flat, list...)
		}
	}
	flat = append(flat, rec.tail...)
	kept := flat[:0]
	for _, x := range flat {
		if x.seq > after {
			kept = append(kept, x)
		}
	}
	return kept, s.fetch(ctx, kept)
}

// refKey returns the key of the item that a ref names.
func (s *State) refKey(env, key string, f ref) (part, sort string) {
	if f.kind == pageRef {
		return pagePart(env, shardOf(key)), pageSort(key, f.last)
	}
	return itemPart(env), key + "/" + f.name
}

// pageEntries returns the entries of a page.
func pageEntries(i item) ([]entry, error) {
	d := decode(attributevalue.BytesOf(i, attrBody))
	out := d.entries()
	if !d.Done() {
		return nil, damaged("page %s does not decode", attributevalue.TextOf(i, attrSort))
	}
	return out, nil
}

// fetch reads the objects of entries that have one.
func (s *State) fetch(ctx context.Context, entries []entry) error {
	const width = 8
	errs := make([]error, len(entries))
	var absent []int
	for i := range entries {
		if entries[i].object != nil && len(entries[i].data) == 0 {
			absent = append(absent, i)
		}
	}
	s.Host.Each(len(absent), width, func(n int) {
		i := absent[n]
		entries[i].data, errs[i] = s.Objects.Get(ctx, entries[i].name)
	})
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
