package dynamo

import (
	"encoding/json"
	"time"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/binform"
	"southbound/shared/resource"
)

// delta is the change of one commit in a tablet or, in a run, the combined change of many commits.
// Rows and removed rows are stored by id. The other fields of a run replace the previous values.
type delta struct {
	run      bool
	whole    bool // a run with the complete tablet: it replaces everything before
	rows     []rowcodec.Stored
	of       []*imageRow   // rows of a run, taken from an image; with intents newer than after
	ids      []resource.ID // ids of the rows in of
	after    int64
	gone     []resource.ID
	epoch    int64 // of the checked rows
	checked  []resource.ID
	waveDone int64
	add      []state.Outbox
	drop     []string
	params   []state.Parameter
	without  []droppedParameter
	actions  []state.Action // never in a run
}

// droppedParameter is a parameter with the time of its removal.
type droppedParameter struct {
	state.ParameterKey
	At time.Time
}

func (d *delta) empty() bool {
	rows := len(d.rows) + len(d.of) + len(d.gone) + len(d.checked)
	beside := len(d.add) + len(d.drop) + len(d.params) + len(d.without) + len(d.actions)
	return rows+beside == 0 && d.waveDone == 0 && !d.run
}

// size estimates the encoded size of the rows, in bytes.
func (d *delta) size() int {
	n := 0
	for i := range d.rows {
		n += len(d.rows[i].ID) + 120
		if d.rows[i].HasIntent() {
			n += len(d.rows[i].Body) + 40
		}
	}
	for i, r := range d.of {
		n += len(d.ids[i]) + 120
		if r.intent > d.after {
			n += len(r.body) + 40
		}
	}
	return n
}

const deltaFormat = 1

// The sections of a delta, by the byte before each. New sections are added at the end.
const (
	endSection = iota
	runSection
	rowSection
	goneSection
	checkedSection
	waveSection
	addSection
	dropSection
	paramSection
	withoutSection
	actionSection
)

// encode returns the stored form, uncompressed.
func (d *delta) encode() ([]byte, error) {
	e := &enc{binform.Writer{B: make([]byte, 0, 64+d.size())}}
	e.Byte(deltaFormat)
	if d.run {
		e.Byte(runSection)
		e.Bool(d.whole)
		e.Int(d.epoch)
	}
	if n := len(d.rows) + len(d.of); n > 0 {
		e.Byte(rowSection)
		e.Len(n)
		for i := range d.rows {
			e.row(&d.rows[i].Row, d.rows[i].HasIntent())
		}
		for i, r := range d.of {
			row := r.row(d.ids[i], "") // the lane is not stored
			e.row(&row, r.intent > d.after)
		}
	}
	if len(d.gone) > 0 {
		e.Byte(goneSection)
		e.ids(d.gone)
	}
	if len(d.checked) > 0 {
		e.Byte(checkedSection)
		e.Int(d.epoch)
		e.ids(d.checked)
	}
	if d.waveDone != 0 {
		e.Byte(waveSection)
		e.Int(d.waveDone)
	}
	if len(d.drop) > 0 {
		e.Byte(dropSection)
		e.Texts(d.drop)
	}
	for _, s := range []struct {
		section byte
		list    any
		n       int
	}{
		{addSection, d.add, len(d.add)}, {paramSection, d.params, len(d.params)},
		{withoutSection, d.without, len(d.without)},
		{actionSection, d.actions, len(d.actions)},
	} {
		if s.n == 0 {
			continue
		}
		raw, err := json.Marshal(s.list)
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "encode commit", err)
		}
		e.Byte(s.section)
		e.Bytes(raw)
	}
	e.Byte(endSection)
	return e.B, nil
}

// wholeDelta decodes the output of encode, with its rows. The bodies of rows share the memory of b.
func wholeDelta(b []byte) (*delta, error) {
	return decodeDelta(b, func(d *delta, n int, r *rowcodec.Stored) error {
		if d.rows == nil {
			d.rows = make([]rowcodec.Stored, 0, n)
		}
		d.rows = append(d.rows, *r)
		return nil
	})
}

// decodeDelta decodes the output of encode. Bodies of rows share the memory of b. decodeDelta
// passes each row to take, with an upper estimate n of the number of rows. It stores no rows
// itself, because a tablet may have a hundred thousand. At that point d holds the sections before
// the rows, including whether it is a run. If take fails, decodeDelta returns its error, and some
// rows have been taken.
func decodeDelta(b []byte, take func(d *delta, n int, r *rowcodec.Stored) error) (*delta, error) {
	in, out := decode(b), &delta{}
	if in.Byte() != deltaFormat {
		return nil, damaged("a stored piece has another format")
	}
	for {
		section := in.Byte()
		if section == endSection || in.Bad {
			break
		}
		if err := out.section(section, in, take); err != nil {
			return nil, err
		}
	}
	if !in.Done() {
		return nil, damaged("a stored piece does not decode")
	}
	return out, nil
}

func (d *delta) section(
	section byte, in *dec, take func(d *delta, n int, r *rowcodec.Stored) error,
) error {
	switch section {
	case runSection:
		d.run, d.whole, d.epoch = true, in.Bool(), in.Int()
	case rowSection:
		n := in.Len()
		limit := min(n, len(in.B)/16) // a row takes at least 16 bytes
		for ; n > 0; n-- {
			r := in.row()
			if in.Bad {
				break
			}
			if err := take(d, limit, &r); err != nil {
				return err
			}
		}
	case goneSection:
		d.gone = in.ids()
	case checkedSection:
		d.epoch, d.checked = in.Int(), in.ids()
	case waveSection:
		d.waveDone = in.Int()
	case dropSection:
		d.drop = in.Texts()
	case addSection:
		return fromJSON(in, &d.add)
	case paramSection:
		return fromJSON(in, &d.params)
	case withoutSection:
		return fromJSON(in, &d.without)
	case actionSection:
		return fromJSON(in, &d.actions)
	default:
		in.Fail()
	}
	return nil
}

func fromJSON(in *dec, v any) error {
	raw := in.Bytes()
	if in.Bad {
		return nil // the caller reports it
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return damaged("a stored piece does not decode: %v", err)
	}
	return nil
}
