package dynamo

import (
	"context"
)

// compactor merges the pieces of a tablet. It knows which pieces the log still needs.
type compactor struct {
	*writer
	log Log
}

// tidy merges pieces of a tablet that has many. A failure is harmless, because the next change
// tries again.
func (s *compactor) tidy(ctx context.Context, env string, rec *record) {
	if len(rec.refs) > s.limits.refs || rec.objects() > s.limits.objects {
		_ = s.merge(
			context.WithoutCancel(ctx),
			env,
			rec,
			rec.mergeFrom(min(s.limits.refs/2, len(rec.refs)/2), 2),
		)
	}
}

// compactReleased merges a tablet that is spread over many objects, after its lease was released.
// It merges more than tidy does, because releases are rare.
func (s *compactor) compactReleased(ctx context.Context, env string, rec *record) {
	if rec.objects() <= s.limits.released {
		return
	}
	if from := rec.mergeFrom(0, 32); len(rec.refs)-from > 1 || rec.hasLongTail() {
		_ = s.merge(context.WithoutCancel(ctx), env, rec, from)
	}
}

// hasLongTail reports whether the tail names more than one object.
func (r *record) hasLongTail() bool {
	n := 0
	for _, x := range r.tail {
		if x.object != nil {
			n++
		}
	}
	return n > 1
}

// merge replaces the pieces of a tablet from index from on, and its tail, by one run with the same
// content. If another process changes the tablet, merge gives up.
//
// merge first stores the run, and a page of the entries that are not logged yet. Then it writes the
// record that names them, and then it removes the old pieces. A reader with the earlier record
// finds a piece missing, and reads the record again. A crash leaves unreferenced objects and items
// for DropOrphans.
func (s *compactor) merge(ctx context.Context, env string, rec *record, from int) error {
	ctx = withPurpose(ctx, Purpose{Name: "merge"})
	after := int64(0)
	if from > 0 {
		after = rec.refs[from-1].last
	}
	var raw []byte
	if err := s.withImage(ctx, env, rec, func(m *image) (err error) {
		if m.seq != rec.seq {
			return errLost
		}
		raw, err = m.since(after).encode()
		return err
	}); err != nil {
		return err
	}
	logged, err := s.loggedTo(ctx, env, rec, from)
	if err != nil {
		return err
	}
	stale, err := s.staleObjects(ctx, env, rec, from, logged)
	if err != nil {
		return err
	}
	kept, err := s.keepActions(ctx, env, rec, logged)
	if err != nil {
		return err
	}
	run, err := s.putRun(ctx, env, rec, from, raw)
	if err != nil {
		return err
	}
	e := newEdit(rec)
	dropped := e.next.refs[from:]
	e.next.refs = append(e.next.refs[:from:from], run)
	e.next.tail, e.merged, e.next.acted = nil, true, max(e.next.acted, kept)
	if err := s.write(ctx, env, []*edit{e}, nil); err != nil {
		return err
	}
	return s.dropPieces(ctx, env, rec.key, dropped, stale, logged)
}

// mergeFrom returns the index of the first piece to merge. It merges at least the newest pieces. It
// also merges each older piece whose size is at most times the size of everything after it. So
// piece sizes grow geometrically, and a row is rewritten rarely.
func (r *record) mergeFrom(least, times int) int {
	sum, from := 0, len(r.refs)
	for _, x := range r.tail {
		sum += len(x.data)
		if x.object != nil {
			sum += x.size
		}
	}
	for from > 0 && (len(r.refs)-from < least || r.refs[from-1].size <= times*sum) {
		from--
		sum += r.refs[from].size
	}
	return from
}

// keepActions copies a tail with entries that are not in the log yet into a page, before merge
// drops the tail. It returns the last change in that page.
func (s *compactor) keepActions(
	ctx context.Context,
	env string,
	rec *record,
	logged int64,
) (int64, error) {
	last, err := s.actedTo(rec)
	if err != nil || last <= max(logged, rec.acted) {
		return 0, err
	}
	f, err := s.flush(ctx, env, rec)
	return f.last, err
}

// staleObjects returns objects that are not needed after the merge. They are named by the tail or
// by pieces to merge. Each has no entries to log, or all its entries are in the log.
func (s *compactor) staleObjects(
	ctx context.Context,
	env string,
	rec *record,
	from int,
	logged int64,
) ([]entry, error) {
	var keys []item
	for _, f := range rec.refs[from:] {
		if f.kind != objectRef {
			keys = append(keys, keyItem(refKey(env, rec.key, f)))
		}
	}
	found, err := s.getMany(ctx, keys)
	if err != nil {
		return nil, err
	}
	all := rec.tail
	for _, i := range found {
		list, err := pageEntries(i)
		if err != nil {
			return nil, err
		}
		all = append(all[:len(all):len(all)], list...)
	}
	var out []entry
	for _, x := range all {
		if x.object != nil && (x.n == 0 || x.seq <= logged) {
			out = append(out, x)
		}
	}
	return out, nil
}

// dropPieces removes the merged pieces: items, objects, and the pages whose entries are all in the
// log. Other pages stay.
func (s *compactor) dropPieces(
	ctx context.Context,
	env, key string,
	refs []ref,
	objects []entry,
	logged int64,
) error {
	var keys []item
	for _, f := range refs {
		switch {
		case f.kind == itemRef, f.kind == pageRef && f.last <= logged:
			keys = append(keys, keyItem(refKey(env, key, f)))
		case f.kind == objectRef:
			objects = append(objects, entry{object: &object{name: f.name}})
		}
	}
	s.dropObjects(ctx, objects...)
	return s.deleteMany(ctx, keys)
}
