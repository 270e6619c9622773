//go:build servers

package dynamo

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"
	"testing/quick"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// anyRow makes a row of any values.
func anyRow(r *rand.Rand) state.Row {
	text := func() string {
		return []string{"", "a", "0abc", "00ff", "0FF0", "deployed", string([]byte{0xff, 0}), "ünï"}[r.IntN(8)]
	}
	texts := func() []string {
		var out []string
		for range r.IntN(3) {
			out = append(out, text())
		}
		return out
	}
	at := func() time.Time {
		if r.IntN(3) == 0 {
			return time.Time{}
		}
		return time.Unix(0, r.Int64()-r.Int64()).UTC()
	}
	is := func() bool { return r.IntN(2) == 0 }
	row := state.Row{ID: resource.ID(text()), Rev: r.Int64(), Version: r.IntN(1000), Hash: text(), Body: []byte(text()), Orphaned: is(), Removing: is(),
		Ticket: r.Int64() - r.Int64(), Priority: state.Priority(r.IntN(9)), NotBefore: at(), Compliance: state.Compliance(text()), LastRun: state.RunFailed,
		Blocked: state.Blocked(text()), Missing: texts(), Deployed: text(), LastAt: at(), LastAction: text(), Reason: text(), Class: provider.Class(text()),
		Attempts: r.IntN(9), NextAt: at(), Checked: r.Int64(), Waiting: []byte(text()), Creating: text(), ChangedAt: at(), SucceededAt: at(), WantFacts: is(),
		PossiblyChanged: is(), Hidden: texts(), Left: texts(), Notes: []byte(text()), TriedAt: at()}
	for _, t := range texts() {
		row.Causes = append(row.Causes, resource.ID(t))
	}
	return row
}

// TestAnyRowComesBack pins that every value of every field survives, with its intent and on top of
// the row before.
func TestAnyRowComesBack(t *testing.T) {
	t.Parallel()
	if n := reflect.TypeFor[state.Row]().NumField(); n != 35 {
		t.Errorf("a row has %d fields: the codec knows 35; add what is new to it, to anyRow, and to this number", n)
	}
	r := rand.New(rand.NewPCG(1, 2)) // the same every time
	for range 2000 {
		row := anyRow(r)
		for _, intent := range []bool{true, false} {
			e := &enc{}
			e.row(&row, intent)
			d := decode(e.B)
			got := d.row()
			back := got.after(&row)
			if diff := cmp.Diff(row, back, cmpopts.EquateEmpty()); diff != "" || !d.Done() {
				t.Fatalf("intent %v, bad %v, left %d (-want +got):\n%s", intent, d.Bad, len(d.B), diff)
			}
		}
		held := newImage("a/0")
		row.Lane = "a/0"
		err := held.put(7, &storedRow{Row: row, has: bitsOf(&row, true)})
		if got, _ := held.row(row.ID); err != nil || !cmp.Equal(row, got, cmpopts.EquateEmpty()) {
			t.Fatalf("%v (-want +got):\n%s", err, cmp.Diff(row, got, cmpopts.EquateEmpty()))
		}
	}
}

// TestImageIsSmall bounds what a row takes in memory beside its intent: functions hold lanes of a
// hundred thousand.
func TestImageIsSmall(t *testing.T) {
	const n, limit = 20000, 330
	m := newImage("a/0")
	body := []byte("{}")
	used := func() int64 {
		var s runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&s)
		return int64(s.HeapAlloc) // far less than 2^63
	}
	before, at := used(), time.Unix(1_800_000_000, 5)
	for i := range n {
		row := state.Row{ID: resource.ID(fmt.Sprintf("std::Null[web1,name=resource-%06d]", i)), Rev: 9,
			Version: 3, Hash: "0011223344556677", Body: body, Ticket: at.UnixNano(), LastRun: state.RunSuccess,
			LastAction: "00112233445566778899aabbccddeeff", LastAt: at, SucceededAt: at, ChangedAt: at}
		row.Deployed = row.Hash
		if err := m.put(1, &storedRow{Row: row, has: bitsOf(&row, true)}); err != nil {
			t.Fatal(err)
		}
	}
	if each := (used() - before) / n; each > limit {
		t.Errorf("a row of an image takes %d bytes, at most %d are expected", each, limit)
	}
	runtime.KeepAlive(m)
}

func TestAnyRecordComesBack(t *testing.T) {
	t.Parallel()
	p, err := newPacker(false)
	if err != nil {
		t.Fatal(err)
	}
	f := func(nonce uint64, holder string, fence, wave, tx int64, ran []string, tickets, outbox uint16, foreign bool, name string, size uint16) bool {
		rec := &record{key: "k", seq: 7, nonce: nonce, holder: holder, fence: fence, until: time.Unix(1, 2).UTC(), wave: wave, tx: tx,
			before: idList{object: "00ff"}, counts: map[state.Status]int{state.StatusFailed: int(tickets), "other": 3}, tickets: int(tickets),
			outbox: int(outbox), foreign: foreign, acted: int64(outbox), refs: []ref{{kind: pageRef, first: 3, last: 9, size: int(size), objects: 2, name: name}},
			tail: []entry{{seq: 1, data: []byte("x")}, {seq: 2, object: &object{name: "ab", size: 3, n: 1, ids: [2]string{name, "z"}}}}}
		for _, id := range ran {
			rec.running.ids = append(rec.running.ids, resource.ID(id))
		}
		got, err := decodeRecord("k", 7, rec.encode(p), p)
		return err == nil && cmp.Diff(rec, got, cmp.AllowUnexported(record{}, idList{}, ref{}, entry{}, object{}), cmpopts.EquateEmpty()) == ""
	}
	if err := quick.Check(f, nil); err != nil {
		t.Error(err)
	}
}

// FuzzDecode pins that bytes from anywhere are refused or read, never more.
func FuzzDecode(f *testing.F) {
	p, err := newPacker(false)
	if err != nil {
		f.Fatal(err)
	}
	row := anyRow(rand.New(rand.NewPCG(3, 4))) // the same every time
	d := delta{run: true, whole: true, rows: []storedRow{{Row: row, has: hasIntent}}, gone: []resource.ID{"x"}, epoch: 1, checked: []resource.ID{"y"},
		waveDone: 2, add: []state.Outbox{{ID: "o"}}, drop: []string{"p"}, params: []state.Parameter{{Name: "n"}},
		without: []droppedParameter{{ParameterKey: state.ParameterKey{Name: "m"}}}, actions: []state.Action{{ID: "a"}}}
	raw, err := d.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add((&record{running: idList{ids: []resource.ID{"x"}}, tail: []entry{{seq: 1, data: raw}}}).encode(p))
	f.Add((&head{paused: []string{"a"}}).encode())
	f.Add((&forward{parts: map[string]*part{"l/=a": {rows: []state.Row{row}, from: []string{""}}}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := wholeDelta(b)
		if err == nil {
			err = newImage("a/0").apply(1, d)
		}
		if _, read := newImage("a/0").read(1, b); (read == nil) != (err == nil) {
			t.Errorf("in one go %v, row by row %v", err, read)
		}
		_, _ = decodeRecord("k", 1, b, p)
		_, _ = headOf("e", item{attrBody: attributevalue.Blob(b)})
		_, _ = decodeForward(b)
		_, _ = pageEntries(item{attrBody: attributevalue.Blob(b)})
		_, _ = p.unpack(b)
	})
}

// TestReadRowByRow pins that to read the rows of a lane takes the room of the rows alone: they are
// not held twice.
func TestReadRowByRow(t *testing.T) {
	const n = 2000
	rng := rand.New(rand.NewPCG(5, 6)) // the same every time
	d := delta{run: true, whole: true}
	for i := range n {
		row := anyRow(rng)
		row.ID = resource.ID(fmt.Sprint(i))
		d.rows = append(d.rows, storedRow{Row: row, has: bitsOf(&row, true)})
	}
	raw, err := d.encode()
	if err != nil {
		t.Fatal(err)
	}
	allocated := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	m := newImage("a/0")
	one := allocated(func() { _, err = m.read(1, raw) })
	if err != nil || len(m.rows) != n {
		t.Fatal(err, len(m.rows))
	}
	both := allocated(func() {
		whole, err := wholeDelta(raw)
		if err == nil {
			err = newImage("a/0").apply(1, whole)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if rows := n * uint64(unsafe.Sizeof(storedRow{})); one+rows/2 > both {
		t.Errorf("%d bytes to read %d rows one by one, %d with a list of %d", one, n, both, rows)
	}
}
