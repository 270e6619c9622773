package local

import (
	"cmp"
	"slices"
	"sort"

	"zombiezen.com/go/sqlite"

	"southbound/shared/resource"
)

// blocks are those that one read or commit has opened, so that none is read twice.
type blocks struct {
	c    *sqlite.Conn
	env  string
	open []*block // by first
}

// block is an open block. It holds the ids from first to next, or all from first if it is the last.
type block struct {
	k           int64
	first, next string
	last        bool
	recs        []record // by id
	added       map[resource.ID]*record
	lanes       map[string]bool // as stored: whether something is scheduled there; set when changed
	changed     bool
	bodied      bool // the bodies were read
	newBodies   bool // and have to be written
}

// of returns the block that holds an id, nil if the environment has none.
func (b *blocks) of(id resource.ID) (*block, error) {
	at := sort.Search(len(b.open), func(i int) bool { return b.open[i].first > string(id) })
	if at > 0 {
		if o := b.open[at-1]; o.last || string(id) < o.next {
			return o, nil
		}
	}
	o := &block{k: -1}
	if err := query(b.c, `SELECT k, first, rows FROM blocks
		WHERE env = +? AND first <= +? ORDER BY first DESC LIMIT 1`, func(s *sqlite.Stmt) (err error) {
		o.k, o.first = s.ColumnInt64(0), s.ColumnText(1)
		o.recs, err = decodeRecords(columnBytes(s, 2))
		return err
	}, b.env, string(id)); err != nil || o.k < 0 {
		return nil, err
	}
	o.last = true
	if err := query(b.c, `SELECT first FROM blocks
		WHERE env = +? AND first > +? ORDER BY first LIMIT 1`, func(s *sqlite.Stmt) error {
		o.next, o.last = s.ColumnText(0), false
		return nil
	}, b.env, o.first); err != nil {
		return nil, err
	}
	b.open = slices.Insert(b.open, at, o)
	return o, nil
}

// find returns the record of an id and its block, nil if there is none.
func (b *blocks) find(id resource.ID) (*block, *record, error) {
	o, err := b.of(id)
	if err != nil || o == nil {
		return nil, nil, err
	}
	return o, o.find(id), nil
}

func (o *block) find(id resource.ID) *record {
	i := sort.Search(len(o.recs), func(i int) bool { return o.recs[i].id >= id })
	if i < len(o.recs) && o.recs[i].id == id && !o.recs[i].gone {
		return &o.recs[i]
	}
	return o.added[id]
}

// bodies sees to it that the records of a block have their bodies.
func (b *blocks) bodies(o *block) error {
	if o.bodied || o.k == 0 {
		return nil
	}
	o.bodied = true
	var stored []byte
	err := query(b.c, "SELECT bodies FROM block_bodies WHERE k = ?", func(s *sqlite.Stmt) error {
		stored = columnBytes(s, 0)
		return nil
	}, o.k)
	decodeBodies(stored, o.recs)
	return err
}

// change says that records of a block are about to be changed.
func (o *block) change() {
	if !o.changed {
		o.changed, o.lanes = true, lanesOf(o.recs)
	}
}

// rewrite says that bodies of a block are about to be changed, or records added or removed.
func (b *blocks) rewrite(o *block) error {
	o.change()
	o.newBodies = true
	return b.bodies(o)
}

// add adds a record, of an id that is not there.
func (b *blocks) add(r *record) error {
	o, err := b.of(r.id)
	if err != nil {
		return err
	}
	if o == nil {
		o = &block{last: true, bodied: true}
		b.open = append(b.open, o)
	}
	if err := b.rewrite(o); err != nil {
		return err
	}
	if o.added == nil {
		o.added = map[resource.ID]*record{}
	}
	o.added[r.id] = r
	return nil
}

// flush writes what was changed.
func (b *blocks) flush() error {
	for _, o := range b.open {
		if o.changed {
			if err := b.write(o); err != nil {
				return err
			}
		}
	}
	b.open = nil
	return nil
}

// write writes a block; one that has become too large becomes several.
func (b *blocks) write(o *block) error {
	recs := o.recs
	if o.newBodies {
		recs = o.merged()
	}
	parts := max(1, (len(recs)+maxInBlock-1)/maxInBlock)
	for i := range parts {
		part := recs[i*len(recs)/parts : (i+1)*len(recs)/parts]
		k, was, first := o.k, o.lanes, o.first
		if i > 0 {
			k, was, first = 0, nil, string(part[0].id)
		}
		if i == 0 && len(part) == 0 && o.first != "" {
			return b.remove(o)
		}
		if err := b.put(k, first, part, was, o.newBodies); err != nil {
			return err
		}
	}
	return nil
}

// merged returns the records that a block is to have.
func (o *block) merged() []record {
	recs := slices.DeleteFunc(o.recs, func(r record) bool { return r.gone })
	for _, r := range o.added {
		recs = append(recs, *r)
	}
	if len(o.added) > 0 {
		slices.SortFunc(recs, func(a, b record) int { return cmp.Compare(a.id, b.id) })
	}
	return recs
}

// put writes the block k, or a new one when that is 0.
func (b *blocks) put(k int64, first string, recs []record, was map[string]bool, bodies bool) error {
	rows, due := encodeRecords(recs), dueOf(recs)
	if k == 0 {
		if err := query(b.c, "INSERT INTO blocks (env, first, due, rows) VALUES (?, ?, ?, ?)", nil,
			b.env, first, due, rows); err != nil {
			return err
		}
		k = b.c.LastInsertRowID()
	} else if err := query(b.c, "UPDATE blocks SET due = ?, rows = ? WHERE k = ?", nil,
		due, rows, k); err != nil {
		return err
	}
	if bodies {
		if err := query(b.c, "INSERT OR REPLACE INTO block_bodies (k, bodies) VALUES (?, ?)", nil,
			k, encodeBodies(recs)); err != nil {
			return err
		}
	}
	return b.putLanes(k, was, lanesOf(recs))
}

func (b *blocks) putLanes(k int64, was, now map[string]bool) error {
	for lane, scheduled := range now {
		if had, has := was[lane]; has && had == scheduled {
			continue
		}
		if err := query(b.c, `INSERT OR REPLACE INTO block_lanes (env, lane, k, scheduled)
			VALUES (?, ?, ?, ?)`, nil, b.env, lane, k, scheduled); err != nil {
			return err
		}
	}
	for lane := range was {
		if _, has := now[lane]; has {
			continue
		}
		if err := query(b.c, "DELETE FROM block_lanes WHERE env = ? AND lane = ? AND k = ?", nil,
			b.env, lane, k); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a block in which nothing is left; the one before it holds its ids from now on.
func (b *blocks) remove(o *block) error {
	if err := b.putLanes(o.k, o.lanes, nil); err != nil {
		return err
	}
	if err := query(b.c, "DELETE FROM block_bodies WHERE k = ?", nil, o.k); err != nil {
		return err
	}
	return query(b.c, "DELETE FROM blocks WHERE k = ?", nil, o.k)
}

// lanesOf returns the lanes of records, and whether something is scheduled there.
func lanesOf(recs []record) map[string]bool {
	out := make(map[string]bool, 1)
	for i := range recs {
		r := &recs[i]
		if scheduled, has := out[r.lane]; !has || !scheduled && r.ticket != 0 {
			out[r.lane] = r.ticket != 0
		}
	}
	return out
}

// dueOf returns when the first of records is due, 0 if none is.
func dueOf(recs []record) int64 {
	due := int64(0)
	for i := range recs {
		if at := recs[i].nextAt; at > 0 && (due == 0 || at < due) {
			due = at
		}
	}
	return due
}
