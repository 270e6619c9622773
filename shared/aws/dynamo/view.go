package dynamo

import (
	"context"
	"maps"
	"slices"
)

// view holds the records that a commit has read. One preparation uses each record as of one moment.
// Whether that is the current record is checked before the write (see certain), or by the write.
type view struct {
	s   *State
	env string

	known map[string]*record // records read during this commit, by key
	used  map[string]*record // records that this preparation used, by key
	lanes []*record          // all lanes, if they were read
	// atOnce requires that all lanes are read as of one moment.
	atOnce bool
}

// record returns the record of a tablet: the one that this preparation used, else the one that this
// commit read, else the cached one. If there is none, it reads the record.
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

// all returns the current records of all lanes.
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
			return nil, errLost // a decision used an older record
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

// certain reports whether all records that the decisions used were read in this commit.
func (v *view) certain() bool {
	for key, u := range v.used {
		if k := v.known[key]; k == nil || k.seq != u.seq {
			return false
		}
	}
	return true
}

// refresh reads the used records that were not read in this commit.
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

// outdated records that a used record is not the newest, and returns errLost.
func (v *view) outdated(key string) error {
	delete(v.known, key)
	v.s.forget(tabletKey{v.env, key})
	v.lanes = nil
	return errLost
}

// rereadAtOnce requires that all lanes are read again, as of one moment, and returns errLost.
func (v *view) rereadAtOnce() error {
	v.atOnce, v.lanes = true, nil
	clear(v.known)
	return errLost
}
