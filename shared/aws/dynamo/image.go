package dynamo

import (
	"bytes"
	"slices"
	"time"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/binform"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// image is a tablet in memory as it is after change number seq. Rows that were handed out are not
// changed in place.
type image struct {
	lane    string
	seq     int64
	rows    map[resource.ID]*imageRow
	gone    map[resource.ID]int64 // removed since the oldest run, by number of change
	sorted  []resource.ID         // of rows; nil: not known
	wave    int64                 // the last that was finished, as the record of change seq says
	epoch   int64                 // of checked
	checked map[resource.ID]bool
	outbox  map[string]state.Outbox
	params  map[state.ParameterKey]state.Parameter
	scratch []byte
}

// imageRow is a row with the numbers of the changes that wrote it and its intent last. A lane may
// have a hundred thousand, and a decoded row is several times as large as what it says: so only
// what is looked for in all rows, and what is shared with the row before, stands here as it is.
type imageRow struct {
	wrote, intent int64
	ticket        int64
	nextAt        time.Time
	version       int
	hash          string
	body          []byte // part of what was read
	rest          []byte // see rowcodec.Write
}

// hold returns how the image holds a row.
func (m *image) hold(r *state.Row) *imageRow {
	e := &enc{binform.Writer{B: m.scratch[:0]}}
	rowcodec.Write(&e.Writer, r, false)
	m.scratch = e.B
	return &imageRow{ticket: r.Ticket, nextAt: r.NextAt, version: r.Version, hash: r.Hash,
		body: r.Body, rest: bytes.Clone(e.B)}
}

// row returns a row of the image, which the caller may keep.
func (m *image) row(id resource.ID) (state.Row, bool) {
	r := m.rows[id]
	if r == nil {
		return state.Row{}, false
	}
	return r.row(id, m.lane), true
}

// row returns the row, with the id and the lane that it has.
func (r *imageRow) row(id resource.ID, lane string) state.Row {
	intent := state.Row{Version: r.version, Hash: r.hash, Body: r.body}
	in := decode(r.rest)
	stored := rowcodec.Stored{}
	stored.ID = id
	rowcodec.Read(&in.Reader, &stored)
	out := stored.After(&intent)
	out.Lane = lane
	return out
}

// wanted reports whether there is a row that is not orphaned.
func (m *image) wanted() bool {
	for id, r := range m.rows {
		if row := r.row(id, m.lane); !row.Orphaned {
			return true
		}
	}
	return false
}

func newImage(lane string) *image {
	return &image{
		lane:    lane,
		rows:    map[resource.ID]*imageRow{},
		gone:    map[resource.ID]int64{},
		checked: map[resource.ID]bool{},
		outbox:  map[string]state.Outbox{},
		params:  map[state.ParameterKey]state.Parameter{},
	}
}

// apply takes a delta that brings the image to seq. What is older than the image changes nothing.
func (m *image) apply(seq int64, d *delta) error {
	if seq <= m.seq {
		return nil
	}
	m.begin(d, len(d.rows))
	for i := range d.rows {
		if err := m.put(seq, &d.rows[i]); err != nil {
			return err
		}
	}
	m.finish(seq, d)
	return nil
}

// read is apply of a delta as it is stored. What cannot be read leaves an image that is of no use.
func (m *image) read(seq int64, raw []byte) (*delta, error) {
	begun := false
	d, err := decodeDelta(raw, func(d *delta, n int, r *rowcodec.Stored) error {
		if seq <= m.seq {
			return nil
		}
		if !begun {
			begun = true
			m.begin(d, n)
		}
		return m.put(seq, r)
	})
	if err != nil || seq <= m.seq {
		return d, err
	}
	if !begun {
		m.begin(d, 0)
	}
	m.finish(seq, d)
	return d, nil
}

// begin forgets what a delta with so many rows replaces.
func (m *image) begin(d *delta, rows int) {
	if d.whole {
		m.rows, m.gone = make(map[resource.ID]*imageRow, rows), map[resource.ID]int64{}
		m.sorted = nil
	}
}

// finish takes what a delta has beside rows.
func (m *image) finish(seq int64, d *delta) {
	for _, id := range d.gone {
		if m.rows[id] != nil {
			delete(m.rows, id)
			m.sorted = nil
		}
		m.gone[id] = seq
	}
	if d.run {
		m.checked, m.outbox = map[resource.ID]bool{}, map[string]state.Outbox{}
		m.params = map[state.ParameterKey]state.Parameter{}
		m.epoch = d.epoch
	}
	m.check(d)
	for _, o := range d.add {
		m.outbox[o.ID] = o
	}
	for _, id := range d.drop {
		delete(m.outbox, id)
	}
	for _, p := range d.params {
		m.params[state.ParameterKey{Name: p.Name, Of: p.Of}] = p
	}
	for _, k := range d.without {
		delete(m.params, k.ParameterKey)
	}
	m.seq = seq
}

func (m *image) put(seq int64, r *rowcodec.Stored) error {
	have := m.rows[r.ID]
	intent, before := seq, r.Row
	if !r.HasIntent() {
		if have == nil {
			return damaged("the intent of %s is missing", r.ID)
		}
		intent = have.intent
		before = state.Row{Version: have.version, Hash: have.hash, Body: have.body}
	}
	row := r.After(&before)
	next := m.hold(&row)
	next.wrote, next.intent = seq, intent
	if have == nil {
		m.sorted = nil
	}
	m.rows[r.ID] = next
	delete(m.gone, r.ID)
	return nil
}

// check takes what was checked in a wave, unless a later wave has begun.
func (m *image) check(d *delta) {
	if len(d.checked) > 0 && d.epoch >= m.epoch {
		if d.epoch > m.epoch {
			m.epoch, m.checked = d.epoch, map[resource.ID]bool{}
		}
		for _, id := range d.checked {
			m.checked[id] = true
		}
	}
	if d.waveDone >= m.epoch && d.waveDone != 0 {
		m.checked = map[resource.ID]bool{}
	}
}

// since returns what was changed after a number, as a run. From 0 on it is everything. Its rows are
// those of the image, and not copied: a lane may have a hundred thousand.
func (m *image) since(after int64) *delta {
	d := &delta{run: true, whole: after == 0, epoch: m.epoch}
	ids := make([]resource.ID, 0, len(m.rows))
	for id, r := range m.rows {
		if r.wrote > after {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	d.after, d.of, d.ids = after, make([]*imageRow, len(ids)), ids
	for i, id := range ids {
		d.of[i] = m.rows[id]
	}
	if after > 0 {
		for id, seq := range m.gone {
			if seq > after {
				d.gone = append(d.gone, id)
			}
		}
		slices.Sort(d.gone)
	}
	for id := range m.checked {
		d.checked = append(d.checked, id)
	}
	slices.Sort(d.checked)
	for _, o := range m.outbox {
		d.add = append(d.add, o)
	}
	for _, p := range m.params {
		d.params = append(d.params, p)
	}
	return d
}

// order returns the ids of the rows, ascending.
func (m *image) order() []resource.ID {
	if m.sorted == nil {
		m.sorted = make([]resource.ID, 0, len(m.rows))
		for id := range m.rows {
			m.sorted = append(m.sorted, id)
		}
		slices.Sort(m.sorted)
	}
	return m.sorted
}
