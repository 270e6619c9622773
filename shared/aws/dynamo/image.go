package dynamo

import (
	"bytes"
	"slices"
	"time"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/binform"
	"southbound/shared/resource"
)

// image is a tablet in memory, as it is after change number seq. Rows that were handed out are not
// changed in place.
type image struct {
	lane    string
	seq     int64
	rows    map[resource.ID]*imageRow
	gone    map[resource.ID]int64 // rows removed since the oldest run, with the number of the change
	sorted  []resource.ID         // ids of rows; nil: not computed
	wave    int64                 // last finished wave, according to the record of change seq
	epoch   int64                 // of the checked rows
	checked map[resource.ID]bool
	outbox  map[string]state.Outbox
	params  map[state.ParameterKey]state.Parameter
	scratch []byte
}

// imageRow is a row with the numbers of the changes that last wrote it and its intent. A lane may
// have a hundred thousand rows, and a decoded row is several times as large as its encoded form. So
// only the fields that are searched in all rows, and the fields shared with the previous row, are
// stored decoded.
type imageRow struct {
	wrote, intent int64
	ticket        int64
	timer         time.Time
	version       int
	hash          string
	body          []byte // shares the memory of the piece that was read
	rest          []byte // see rowcodec.Write
}

// hold converts a row to the form in which the image stores it.
func (m *image) hold(r *state.Row) *imageRow {
	e := &enc{binform.Writer{B: m.scratch[:0]}}
	rowcodec.Write(&e.Writer, r, false)
	m.scratch = e.B
	return &imageRow{ticket: r.Ticket(), timer: r.Timer(), version: r.Version, hash: r.Hash,
		body: r.Body, rest: bytes.Clone(e.B)}
}

// row returns a row of the image. The caller may keep it.
func (m *image) row(id resource.ID) (state.Row, bool) {
	r := m.rows[id]
	if r == nil {
		return state.Row{}, false
	}
	return r.row(id, m.lane), true
}

// row decodes the row. The caller gives its id and its lane.
func (r *imageRow) row(id resource.ID, lane string) state.Row {
	intent := state.Row{Intent: state.Intent{Version: r.version, Hash: r.hash, Body: r.body}}
	in := decode(r.rest)
	stored := rowcodec.Stored{}
	stored.ID = id
	rowcodec.Read(&in.Reader, &stored)
	out := stored.After(&intent)
	out.Lane = lane
	return out
}

// wanted reports whether the image has a row that is not orphaned.
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

// apply applies a delta that brings the image to seq. A delta that is not newer than the image has
// no effect.
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

// read decodes a stored delta and applies it. If the delta does not decode, the image is unusable.
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

// begin clears the rows that a whole run replaces. The new map has room for the given number of
// rows.
func (m *image) begin(d *delta, rows int) {
	if d.whole {
		m.rows, m.gone = make(map[resource.ID]*imageRow, rows), map[resource.ID]int64{}
		m.sorted = nil
	}
}

// finish applies all parts of a delta other than its rows.
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
		before = state.Row{Intent: state.Intent{Version: have.version, Hash: have.hash, Body: have.body}}
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

// check records the rows that were checked in a wave, unless a later wave has begun.
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

// since returns the changes after a number as a run. If after is 0, the run holds the whole image.
// The run shares its rows with the image, because a lane may have a hundred thousand.
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

// order returns the ids of the rows in ascending order.
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
