package dynamo

import (
	"context"
	"slices"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// idList is a list of ids in a record. The ids are packed in the record, or in an object if they
// would make the record large.
type idList struct {
	ids    []resource.ID
	object string
}

// keepIDs returns a list of ids. It puts a large list into an object.
func (s *storage) keepIDs(ctx context.Context, ids []resource.ID) (idList, error) {
	n := 0
	for _, id := range ids {
		n += len(id)
	}
	if n <= s.limits.ids { // packing does not enlarge it
		return idList{ids: ids}, nil
	}
	e := &enc{}
	e.ids(ids)
	packed := s.pack.pack(e.B)
	if len(packed) <= s.limits.ids {
		return idList{ids: ids}, nil
	}
	l := idList{object: s.newName()}
	return l, fault.Wrap(fault.Unknown, "write state", s.objects.Put(ctx, l.object, packed))
}

// idsOf returns the ids of a list.
func (s *storage) idsOf(ctx context.Context, l idList) ([]resource.ID, error) {
	if l.object == "" {
		return l.ids, nil
	}
	packed, err := s.objects.Get(ctx, l.object)
	if err != nil {
		return nil, err
	}
	d := decode(packed)
	d.B, err = s.pack.unpack(packed)
	if err != nil {
		return nil, err
	}
	ids := d.ids()
	if d.Bad {
		return nil, damaged("a list of ids does not decode")
	}
	return ids, nil
}

// ran returns the resources that may have run when the holder of a lease ended.
func (s *storage) ran(ctx context.Context, rec *record) ([]resource.ID, error) {
	out, err := s.idsOf(ctx, rec.running)
	if err != nil {
		return nil, err
	}
	more, err := s.idsOf(ctx, rec.before)
	if err != nil || len(more) == 0 {
		return out, err
	}
	seen := make(map[resource.ID]bool, len(out))
	for _, id := range out {
		seen[id] = true
	}
	out = slices.Clone(out)
	for _, id := range more {
		if !seen[id] {
			out = append(out, id)
		}
	}
	return out, nil
}

// isLost reports whether an error means that a list is missing or does not decode.
func isLost(err error) bool { return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Damaged) }

// mayHaveRun returns the resources that may have run when the holder of a lease ended. If the list
// of them is lost, it returns all rows of the lane. If another holder has written the list since,
// it returns a fault.NotFound.
func (s *leases) mayHaveRun(ctx context.Context, env string, rec *record) ([]resource.ID, error) {
	out, err := s.ran(ctx, rec)
	if !isLost(err) {
		return out, err
	}
	now, failed := s.readRecord(ctx, env, rec.key)
	if failed != nil {
		return nil, failed
	}
	if !now.running.is(rec.running) || !now.before.is(rec.before) {
		return nil, fault.New(fault.NotFound, "take lease", "what runs was written anew")
	}
	lane, _ := laneOf(rec.key)
	rows, failed := s.LaneRows(ctx, env, lane, true)
	if failed != nil {
		return nil, failed
	}
	out = make([]resource.ID, len(rows))
	for i := range rows {
		out[i] = rows[i].ID
	}
	return out, nil
}

// is reports whether two lists are the same.
func (l idList) is(o idList) bool { return l.object == o.object && slices.Equal(l.ids, o.ids) }

// started is the list of resources that this process may run, under a lease.
type started struct {
	fence int64
	ids   idList
}

func (s *leases) startedBy(key tabletKey) (started, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, ok := s.started[key]
	return out, ok
}

func (s *leases) hasStarted(key tabletKey, what started) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started[key] = what
}

func (s *leases) hasEnded(key tabletKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.started, key)
}

// dropLists removes the objects of lists that a new record no longer names.
func (s *storage) dropLists(ctx context.Context, old, now *record) {
	named := []string{now.running.object, now.before.object, now.conflicts.object}
	for _, l := range []idList{old.running, old.before, old.conflicts} {
		if l.object != "" && !slices.Contains(named, l.object) {
			s.dropObjects(ctx, entry{object: &object{name: l.object}})
		}
	}
}

// idList encodes a list.
func (e *enc) idList(l idList, p *packer) {
	switch {
	case l.object != "":
		e.Byte(2)
		e.Hex(l.object)
	case len(l.ids) == 0:
		e.Byte(0)
	default:
		e.Byte(1)
		in := &enc{}
		in.ids(l.ids)
		e.Bytes(p.pack(in.B))
	}
}

func (d *dec) idList(p *packer) idList {
	switch d.Byte() {
	case 0:
		return idList{}
	case 1:
		raw, err := p.unpack(d.Bytes())
		in := decode(raw)
		l := idList{ids: in.ids()}
		if err != nil || in.Bad {
			d.Fail()
		}
		return l
	case 2:
		return idList{object: d.Hex()}
	}
	d.Fail()
	return idList{}
}
