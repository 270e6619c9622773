package dynamo

import (
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/binform"
	"southbound/shared/deploy/state"
)

// record is what the item of a tablet holds.
//
// Large: it is a stored record. Its fields stand side by side in the item, and tablets hold them in
// this order.
type record struct {
	key   string // sort key of the item: the lane's, or the parameters'
	seq   int64  // of changes, grows by one with each; 0: there is no item
	nonce uint64 // of the write that made it so: tells our own write from another's

	holder  string    // of the lease; "": nobody has it
	fence   int64     // grows with each taking of the lease, never otherwise
	until   time.Time // when others may take the lease; grows as long as one holds it
	wave    int64     // the last whose check of all rows was finished here; never falls
	running idList    // what the holder may be running: written before it runs
	// before is what ran before running was said, while it was not known yet whether that was
	// accepted.
	before idList

	tx        int64  // the last rolled-forward commit that this tablet took its part of
	conflicts idList // what did not fit of it

	// What the rows come to, always as refs and tail say; so most queries need not read these.
	counts  map[state.Status]int // rows by status, without zeros
	tickets int                  // rows that are scheduled
	outbox  int                  // entries of the outbox
	due     time.Time            // the earliest timer; zero: none
	foreign bool                 // may hold rows of agents that are not the lane's; never ends
	acted   int64                // the last change with something to log that is in a page

	// What the tablet holds: pieces, oldest first, without a gap between their changes, and after
	// them the newest changes themselves.
	refs []ref
	tail []entry
}

// refKind says where a piece of a tablet is.
type refKind byte

const (
	pageRef   refKind = iota + 1 // a page: an item with something to log
	itemRef                      // an item under R
	objectRef                    // an object
)

// ref names a piece with the changes from first to last.
type ref struct {
	kind        refKind
	first, last int64  // of changes, both included
	size        int    // bytes, with those of its objects
	objects     int    // that it takes to read it
	name        string // of the object, or the end of the item's sort key; pages have none
}

// entry is one change of a tablet: its delta, compressed, or the object that holds it.
type entry struct {
	seq     int64  // of the change; in a tablet they ascend
	data    []byte // the packed delta; empty when it is in an object and was not fetched
	*object        // nil: the delta stands here
}

// object is a delta that stands in an object, with what is to be known of its actions.
type object struct {
	name     string       // never used twice
	size     int          // bytes
	n        int          // actions, parameters and removals that are to be logged
	ids      [2]string    // the least and the greatest of actions; "": it has none
	finished [2]time.Time // when the first and the last of actions was finished
}

// acts reports whether there are actions in it, and not only other things to log.
func (o *object) acts() bool { return o.ids[0] != "" }

func (r *record) clone() *record {
	out := *r
	out.counts = maps.Clone(r.counts)
	out.refs, out.tail = slices.Clone(r.refs), slices.Clone(r.tail)
	return &out
}

// add names one more piece.
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

// objects returns how many objects it takes to read the tablet.
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

// since returns the number of the change up to which refs go.
func (r *record) since() int64 {
	if len(r.refs) == 0 {
		return 0
	}
	return r.refs[len(r.refs)-1].last
}

const recordFormat = 1

// statusWords are the statuses by the byte they are stored as: only ever added to.
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

// encode returns the stored form of all but key and seq.
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
	e.Len(len(r.counts))
	for _, status := range slices.Sorted(maps.Keys(r.counts)) {
		e.Word(string(status), statusWords)
		e.Len(r.counts[status])
	}
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
	if n := d.Len(); n > 0 {
		r.counts = make(map[state.Status]int, n)
		for ; n > 0 && !d.Bad; n-- {
			status := state.Status(d.Word(statusWords))
			r.counts[status] = int(d.Uint())
		}
	}
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

// holder writes the name of a process, "#" and the id of a taking; both are mostly hexadecimal.
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
