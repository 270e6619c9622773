package dynamo

import (
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/deploy"
)

// record is what the item of a bag holds.
type record struct {
	key   string
	seq   int64  // of changes; 0: there is no item
	nonce uint64 // of the write that made it so

	holder  string
	fence   int64
	until   time.Time
	wave    int64
	running idList
	// before is what ran before running was said, while it was not known yet whether that was accepted.
	before idList

	tx      int64  // the last rolled-forward commit that this bag took its part of
	misfits idList // what did not fit of it

	counts  map[deploy.Status]int
	tickets int
	outbox  int
	due     time.Time // the earliest timer; zero: none
	foreign bool      // may hold rows of agents that are not the lane's
	acted   int64     // the last change with something to log that is in a page; see Unlogged

	refs []ref
	tail []entry
}

// refKind says where a piece of a bag is.
type refKind byte

const (
	pageRef   refKind = iota + 1 // a page: an item with something to log
	itemRef                      // an item under R
	objectRef                    // an object
)

// ref names a piece with the changes from first to last.
type ref struct {
	kind        refKind
	first, last int64
	size        int
	objects     int // that it takes to read it
	name        string
}

// entry is one change of a bag: its delta, compressed, or the object that holds it.
type entry struct {
	seq  int64
	data []byte
	*object
}

// object is a delta that stands in an object, with what is to be known of its actions.
type object struct {
	name     string
	size     int
	n        int       // of what is to be logged
	ids      [2]string // of actions
	finished [2]time.Time
}

func (r *record) clone() *record {
	out := *r
	out.counts, out.refs, out.tail = maps.Clone(r.counts), slices.Clone(r.refs), slices.Clone(r.tail)
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

// objects returns how many objects it takes to read the bag.
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
var statusWords = []string{string(deploy.StatusDeployed), string(deploy.StatusFailed), string(deploy.StatusSkipped), string(deploy.StatusBlocked),
	string(deploy.StatusUndefined), string(deploy.StatusAvailable), string(deploy.StatusDeploying), string(deploy.StatusOrphaned),
	string(deploy.StatusNonCompliant), string(deploy.StatusUnavailable)}

// encode returns the stored form of all but key and seq.
func (r *record) encode(p *packer) []byte {
	e := &enc{b: []byte{recordFormat}}
	e.uint(r.nonce)
	e.holder(r.holder)
	e.int(r.fence)
	e.time(r.until)
	e.int(r.wave)
	e.idList(r.running, p)
	e.idList(r.before, p)
	e.int(r.tx)
	e.idList(r.misfits, p)
	e.len(len(r.counts))
	for _, status := range slices.Sorted(maps.Keys(r.counts)) {
		e.word(string(status), statusWords)
		e.len(r.counts[status])
	}
	e.len(r.tickets)
	e.len(r.outbox)
	e.time(r.due)
	e.bool(r.foreign)
	e.int(r.acted)
	e.len(len(r.refs))
	for _, f := range r.refs {
		e.byte(byte(f.kind))
		e.int(f.first)
		e.int(f.last - f.first)
		e.len(f.size)
		e.len(f.objects)
		e.hex(f.name)
	}
	e.entries(r.tail)
	return e.b
}

func decodeRecord(key string, seq int64, b []byte, p *packer) (*record, error) {
	d := &dec{b: b}
	if d.byte() != recordFormat {
		return nil, damaged("the record of %s has another format", key)
	}
	r := &record{key: key, seq: seq, nonce: d.uint(), holder: d.holder(), fence: d.int(), until: d.time(), wave: d.int()}
	r.running, r.before = d.idList(p), d.idList(p)
	r.tx = d.int()
	r.misfits = d.idList(p)
	if n := d.len(); n > 0 {
		r.counts = make(map[deploy.Status]int, n)
		for ; n > 0 && !d.bad; n-- {
			status := deploy.Status(d.word(statusWords))
			r.counts[status] = int(d.uint()) //nolint:gosec // a count
		}
	}
	r.tickets, r.outbox, r.due, r.foreign, r.acted = int(d.uint()), int(d.uint()), d.time(), d.bool(), d.int() //nolint:gosec // counts
	for n := d.len(); n > 0 && !d.bad; n-- {
		f := ref{kind: refKind(d.byte()), first: d.int()}
		f.last, f.size, f.objects, f.name = f.first+d.int(), int(d.uint()), int(d.uint()), d.hex() //nolint:gosec // sizes
		r.refs = append(r.refs, f)
	}
	r.tail = d.entries()
	if d.bad || len(d.b) != 0 {
		return nil, damaged("the record of %s does not decode", key)
	}
	return r, nil
}

// holder writes the name of a process, "#" and the id of a taking; both are mostly hexadecimal.
func (e *enc) holder(s string) {
	process, taking, _ := strings.Cut(s, "#")
	if process+"#"+taking != s {
		e.byte(0)
		e.text(s)
		return
	}
	e.byte(1)
	e.hex(process)
	e.hex(taking)
}

func (d *dec) holder() string {
	if d.byte() == 0 {
		return d.text()
	}
	return d.hex() + "#" + d.hex()
}

func (e *enc) entries(list []entry) {
	e.len(len(list))
	for _, x := range list {
		e.int(x.seq)
		e.bytes(x.data)
		if len(x.data) > 0 {
			continue
		}
		e.hex(x.name)
		e.len(x.size)
		e.len(x.n)
		for i := range x.ids {
			e.hex(x.ids[i])
			e.time(x.finished[i])
		}
	}
}

func (d *dec) entries() []entry {
	var out []entry
	for n := d.len(); n > 0 && !d.bad; n-- {
		x := entry{seq: d.int(), data: d.bytes()}
		if len(x.data) == 0 {
			x.object = &object{name: d.hex(), size: int(d.uint()), n: int(d.uint())} //nolint:gosec // sizes
			for i := range x.ids {
				x.ids[i], x.finished[i] = d.hex(), d.time()
			}
		}
		out = append(out, x)
	}
	return out
}
