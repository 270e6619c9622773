package dynamo

import (
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/internal/binform"
)

// record is the content of a tablet's item.
//
// Large: it is a stored record. Its fields are next to each other in the item, and tablets hold
// them in this order.
type record struct {
	key   string // sort key of the item, which names the lane or the parameters
	seq   int64  // number of changes; 0: there is no item
	nonce uint64 // of the last write: identifies our own write

	holder  string    // of the lease; "": there is none
	fence   int64     // grows with each acquisition of the lease, and only then
	until   time.Time // when other processes may take the lease; a holder only extends it
	wave    int64     // last wave in which all rows here were checked; never falls
	running idList    // resources that the holder may run: written before they run
	// before is the list that was running before, while it is not known whether the list running
	// was accepted.
	before idList

	tx        int64  // last rolled-forward commit that this tablet applied
	conflicts idList // its rows that did not fit

	// Summaries of the rows, always consistent with refs and tail. With them, most queries need not
	// read the rows.
	counts  map[rowKind]int // number of rows by type and status, without zeros
	tickets int             // number of scheduled rows
	outbox  int             // number of outbox entries
	due     time.Time       // earliest timer; zero: none
	foreign bool            // may hold rows of other agents than the lane's; never reset
	acted   int64           // last change in a page with entries to log

	// Content of the tablet: pieces, oldest first, without a gap between their changes, and then
	// the newest changes themselves.
	refs []ref
	tail []entry
}

// rowKind is the type and the status of a row.
type rowKind struct {
	of     string // type
	status state.Status
}

func kindOf(r *state.Row) rowKind { return rowKind{r.ID.Type(), r.Status()} }

// statuses returns the number of rows by status.
func (r *record) statuses() map[state.Status]int {
	out := make(map[state.Status]int, len(r.counts))
	for kind, n := range r.counts {
		out[kind.status] += n
	}
	return out
}

// refKind is the kind of place of a piece of a tablet.
type refKind byte

const (
	pageRef   refKind = iota + 1 // a page: an item with entries to log
	itemRef                      // an item under R
	objectRef                    // an object
)

// ref names a piece with the changes from first to last.
type ref struct {
	kind        refKind
	first, last int64  // numbers of changes, inclusive
	size        int    // in bytes, with its objects
	objects     int    // number of objects to read for it
	name        string // of the object, or the end of the item's sort key; empty for pages
}

// entry is one change of a tablet: its compressed delta, or the object that holds the delta.
type entry struct {
	seq     int64  // number of the change; ascending in a tablet
	data    []byte // compressed delta; empty: in an object that was not fetched
	*object        // nil: the delta is in data
}

// object is a delta in an object, with a summary of its actions.
type object struct {
	name     string       // unique
	size     int          // bytes
	n        int          // number of actions, parameters and removals to log
	ids      [2]string    // smallest and largest id of its actions; "": it has no actions
	finished [2]time.Time // earliest and latest end of its actions
}

// acts reports whether the object has actions, and not only other entries to log.
func (o *object) acts() bool { return o.ids[0] != "" }

func (r *record) clone() *record {
	out := *r
	out.counts = maps.Clone(r.counts)
	out.refs, out.tail = slices.Clone(r.refs), slices.Clone(r.tail)
	return &out
}

// add appends a ref.
func (r *record) add(f ref) {
	r.refs = append(r.refs, f)
	if f.kind == pageRef {
		r.acted = f.last
	}
}

// total returns the number of rows.
func (r *record) total() int {
	n := 0
	for _, c := range r.counts {
		n += c
	}
	return n
}

// objects returns how many objects have to be read for the tablet.
func (r *record) objects() int {
	n := 0
	for _, f := range r.refs {
		n += f.objects
	}
	for _, x := range r.tail {
		if x.object != nil {
			n++
		}
	}
	return n
}

// since returns the number of the last change in refs.
func (r *record) since() int64 {
	if len(r.refs) == 0 {
		return 0
	}
	return r.refs[len(r.refs)-1].last
}

const recordFormat = 2

// statusWords are the statuses, indexed by the byte that encodes them. New words are added at the
// end.
var statusWords = []string{
	string(state.StatusDeployed),
	string(state.StatusFailed),
	string(state.StatusSkipped),
	string(state.StatusBlocked),
	string(state.StatusUndefined),
	string(state.StatusAvailable),
	string(state.StatusDeploying),
	string(state.StatusOrphaned),
	string(state.StatusNonCompliant),
	string(state.StatusUnavailable),
}

// encode returns the stored form of all fields but key and seq.
func (r *record) encode(p *packer) []byte {
	e := &enc{binform.Writer{B: []byte{recordFormat}}}
	e.Uint(r.nonce)
	e.holder(r.holder)
	e.Int(r.fence)
	e.Time(r.until)
	e.Int(r.wave)
	e.idList(r.running, p)
	e.idList(r.before, p)
	e.Int(r.tx)
	e.idList(r.conflicts, p)
	e.counts(r.counts)
	e.Len(r.tickets)
	e.Len(r.outbox)
	e.Time(r.due)
	e.Bool(r.foreign)
	e.Int(r.acted)
	e.Len(len(r.refs))
	for _, f := range r.refs {
		e.Byte(byte(f.kind))
		e.Int(f.first)
		e.Int(f.last - f.first)
		e.Len(f.size)
		e.Len(f.objects)
		e.Hex(f.name)
	}
	e.entries(r.tail)
	return e.B
}

func decodeRecord(key string, seq int64, b []byte, p *packer) (*record, error) {
	d := decode(b)
	if d.Byte() != recordFormat {
		return nil, damaged("the record of %s has another format", key)
	}
	r := &record{
		key:    key,
		seq:    seq,
		nonce:  d.Uint(),
		holder: d.holder(),
		fence:  d.Int(),
		until:  d.Time(),
		wave:   d.Int(),
	}
	r.running, r.before = d.idList(p), d.idList(p)
	r.tx = d.Int()
	r.conflicts = d.idList(p)
	r.counts = d.counts()
	r.tickets, r.outbox = int(d.Uint()), int(d.Uint())
	r.due, r.foreign, r.acted = d.Time(), d.Bool(), d.Int()
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		f := ref{kind: refKind(d.Byte()), first: d.Int()}
		f.last, f.size, f.objects, f.name = f.first+d.Int(), int(d.Uint()), int(d.Uint()), d.Hex()
		r.refs = append(r.refs, f)
	}
	r.tail = d.entries()
	if !d.Done() {
		return nil, damaged("the record of %s does not decode", key)
	}
	return r, nil
}

// counts encodes the numbers of rows: each type with its statuses.
func (e *enc) counts(counts map[rowKind]int) {
	byType := map[string][]state.Status{}
	for kind := range counts {
		byType[kind.of] = append(byType[kind.of], kind.status)
	}
	e.Len(len(byType))
	for _, of := range slices.Sorted(maps.Keys(byType)) {
		e.Text(of)
		statuses := byType[of]
		slices.Sort(statuses)
		e.Len(len(statuses))
		for _, status := range statuses {
			e.Word(string(status), statusWords)
			e.Len(counts[rowKind{of, status}])
		}
	}
}

func (d *dec) counts() map[rowKind]int {
	var out map[rowKind]int
	for types := d.Len(); types > 0 && !d.Bad; types-- {
		of := d.Text()
		for n := d.Len(); n > 0 && !d.Bad; n-- {
			if out == nil {
				out = map[rowKind]int{}
			}
			status := state.Status(d.Word(statusWords))
			out[rowKind{of, status}] = int(d.Uint())
		}
	}
	return out
}

// holder encodes the name of a process, "#" and the id of an acquisition. Both are mostly
// hexadecimal.
func (e *enc) holder(s string) {
	process, taking, _ := strings.Cut(s, "#")
	if process+"#"+taking != s {
		e.Byte(0)
		e.Text(s)
		return
	}
	e.Byte(1)
	e.Hex(process)
	e.Hex(taking)
}

func (d *dec) holder() string {
	if d.Byte() == 0 {
		return d.Text()
	}
	return d.Hex() + "#" + d.Hex()
}

func (e *enc) entries(list []entry) {
	e.Len(len(list))
	for _, x := range list {
		e.Int(x.seq)
		e.Bytes(x.data)
		if len(x.data) > 0 {
			continue
		}
		e.Hex(x.name)
		e.Len(x.size)
		e.Len(x.n)
		for i := range x.ids {
			e.Hex(x.ids[i])
			e.Time(x.finished[i])
		}
	}
}

func (d *dec) entries() []entry {
	var out []entry
	for n := d.Len(); n > 0 && !d.Bad; n-- {
		x := entry{seq: d.Int(), data: d.Bytes()}
		if len(x.data) == 0 {
			x.object = &object{name: d.Hex(), size: int(d.Uint()), n: int(d.Uint())}
			for i := range x.ids {
				x.ids[i], x.finished[i] = d.Hex(), d.Time()
			}
		}
		out = append(out, x)
	}
	return out
}
