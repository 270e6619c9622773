package local

import (
	"cmp"
	"slices"
	"sort"

	"zombiezen.com/go/sqlite"

	"southbound/shared/parallel"
	"southbound/shared/resource"
)

// blocks are those that one read or commit has opened, so that none is read twice.
type blocks struct {
	c    *sqlite.Conn
	env  string
	rows int      // how many are written; 0: none, or not known
	open []*block // by first
}

// block is an open block. It holds the ids from first to next, or all from first if it is the last.
type block struct {
	k           int64
	first, next string
	last        bool
	recs        []record // by id
	added       []record
	addedAt     map[resource.ID]int // where they are in added
	// as stored: whether something is scheduled there; set when changed
	lanes     map[string]bool
	changed   bool
	bodied    bool // the bodies were read
	newBodies bool // and have to be written
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
	if i, is := o.addedAt[id]; is && !o.added[i].gone {
		return &o.added[i]
	}
	return nil
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
func (b *blocks) add(r record) error {
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
	if o.addedAt == nil {
		o.addedAt = map[resource.ID]int{}
		if len(b.open) == 1 && o.last { // most likely all go there
			o.added = make([]record, 0, b.rows)
		}
	}
	o.addedAt[r.id] = len(o.added)
	o.added = append(o.added, r)
	return nil
}

// part is what is stored as one block: all of one that was opened, or some of it where that has
// become too large.
type part struct {
	k      int64 // 0: a new one
	first  string
	recs   []record // none: the block is removed
	was    map[string]bool
	bodied bool // the bodies are written as well

	rows, bodies []byte // as they are stored
	due          int64
	lanes        map[string]bool
}

// encodedAtOnce is how many blocks are encoded before they are written: enough for all processors,
// and few, since they are held until they are written.
const encodedAtOnce = 32

// flush writes what was changed.
func (b *blocks) flush() error {
	var parts []part
	for _, o := range b.open {
		if o.changed {
			parts = append(parts, o.parts()...)
		}
	}
	b.open = nil
	for some := range slices.Chunk(parts, encodedAtOnce) {
		parallel.For(len(some), func(i int) { some[i].encode() })
		for i := range some {
			if err := b.put(&some[i]); err != nil {
				return err
			}
			some[i] = part{}
		}
	}
	return nil
}

// parts returns what a block becomes: itself, or several if it has become too large.
func (o *block) parts() []part {
	recs := o.recs
	if o.newBodies {
		recs = o.merged()
	}
	out := make([]part, max(1, (len(recs)+maxInBlock-1)/maxInBlock))
	for i := range out {
		of := recs[i*len(recs)/len(out) : (i+1)*len(recs)/len(out)]
		out[i] = part{recs: of, bodied: o.newBodies}
		if i == 0 {
			out[i].k, out[i].was, out[i].first = o.k, o.lanes, o.first
		} else {
			out[i].first = string(of[0].id)
		}
	}
	return out
}

// encode encodes the records.
func (p *part) encode() {
	p.rows, p.due, p.lanes = encodeRecords(p.recs), dueOf(p.recs), lanesOf(p.recs)
	if p.bodied {
		p.bodies = encodeBodies(p.recs)
	}
}

// merged returns the records that a block is to have.
func (o *block) merged() []record {
	gone := func(r record) bool { return r.gone }
	recs, added := slices.DeleteFunc(o.recs, gone), slices.DeleteFunc(o.added, gone)
	if len(recs) == 0 {
		recs = added // there may be very many
	} else {
		recs = append(recs, added...)
	}
	if len(added) > 0 {
		slices.SortFunc(recs, func(a, b record) int { return cmp.Compare(a.id, b.id) })
	}
	return recs
}

// put writes what was encoded. The first block stays, even if nothing is left in it.
func (b *blocks) put(p *part) error {
	k := p.k
	switch {
	case len(p.recs) == 0 && p.first != "":
		return b.remove(p)
	case k == 0:
		if err := query(b.c, "INSERT INTO blocks (env, first, due, rows) VALUES (?, ?, ?, ?)", nil,
			b.env, p.first, p.due, p.rows); err != nil {
			return err
		}
		k = b.c.LastInsertRowID()
	default:
		if err := query(b.c, "UPDATE blocks SET due = ?, rows = ? WHERE k = ?", nil,
			p.due, p.rows, k); err != nil {
			return err
		}
	}
	if p.bodied {
		if err := query(b.c, "INSERT OR REPLACE INTO block_bodies (k, bodies) VALUES (?, ?)", nil,
			k, p.bodies); err != nil {
			return err
		}
	}
	return b.putLanes(k, p.was, p.lanes)
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
func (b *blocks) remove(p *part) error {
	if err := b.putLanes(p.k, p.was, nil); err != nil {
		return err
	}
	if err := query(b.c, "DELETE FROM block_bodies WHERE k = ?", nil, p.k); err != nil {
		return err
	}
	return query(b.c, "DELETE FROM blocks WHERE k = ?", nil, p.k)
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
