package dynamo

import (
	"context"
	"maps"
	"slices"
)

// view is what a commit has read. A preparation uses each record as it was at one instant; whether
// that was the last one is seen before it is written (see certain), or by the write.
type view struct {
	s   *State
	env string

	known map[string]*record // what was read during this commit, by key
	used  map[string]*record // what this preparation was decided by, by key
	lanes []*record          // all lanes, when they were read
	// atOnce has all lanes read as they are at one instant.
	atOnce bool
}

// record returns the record of a tablet: as this preparation used it already, else as it was read
// in this commit, else as it is known, else as it is now.
func (v *view) record(ctx context.Context, key string) (*record, error) {
	if r := v.used[key]; r != nil {
		return r, nil
	}
	r := v.known[key]
	if r == nil {
		r = v.s.known(tabletKey{v.env, key})
	}
	if r == nil {
		var err error
		if r, err = v.s.readRecord(ctx, v.env, key); err != nil {
			return nil, err
		}
		v.known[key] = r
	}
	v.used[key] = r
	return r, nil
}

// all returns the records of all lanes as they are now.
func (v *view) all(ctx context.Context) ([]*record, error) {
	if v.lanes == nil {
		recs, err := v.readLanes(ctx)
		if err != nil {
			return nil, err
		}
		v.lanes = recs
		for _, r := range recs {
			v.known[r.key] = r
		}
	}
	for _, r := range v.lanes {
		if u := v.used[r.key]; u != nil && u.seq != r.seq {
			return nil, errLost // something was decided by an older one
		}
	}
	return v.lanes, nil
}

// readLanes reads the records of all lanes.
func (v *view) readLanes(ctx context.Context) ([]*record, error) {
	if !v.atOnce {
		return v.s.readRecords(ctx, v.env)
	}
	var recs []*record
	err := v.s.unmoved(ctx, v.env, func() (err error) {
		recs, err = v.s.readRecords(ctx, v.env)
		return err
	})
	return recs, err
}

// certain reports whether all that was decided by was read in this commit.
func (v *view) certain() bool {
	for key, u := range v.used {
		if k := v.known[key]; k == nil || k.seq != u.seq {
			return false
		}
	}
	return true
}

// refresh reads what was decided by and is not certain.
func (v *view) refresh(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(v.used)) {
		if v.known[key] != nil {
			continue
		}
		r, err := v.s.readRecord(ctx, v.env, key)
		if err != nil {
			return err
		}
		v.known[key] = r
	}
	return nil
}

// outdated notes that a record that was used is not the newest.
func (v *view) outdated(key string) error {
	delete(v.known, key)
	v.s.forget(tabletKey{v.env, key})
	v.lanes = nil
	return errLost
}

// rereadAtOnce has all lanes read again, as they are at one instant.
func (v *view) rereadAtOnce() error {
	v.atOnce, v.lanes = true, nil
	clear(v.known)
	return errLost
}
