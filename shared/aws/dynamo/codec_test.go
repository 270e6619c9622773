//go:build servers

package dynamo

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/quick"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/aws/attributevalue"
	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/resource"
)

// TestImageHoldsAnyRow pins that every value of every field survives in an image.
func TestImageHoldsAnyRow(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) // the same every time
	for range 2000 {
		row := deploytest.AnyRow(r)
		held := newImage("a/0")
		row.Lane = "a/0"
		err := held.put(7, whole(row))
		if got, _ := held.row(row.ID); err != nil || !cmp.Equal(row, got, cmpopts.EquateEmpty()) {
			t.Fatalf("%v (-want +got):\n%s", err, cmp.Diff(row, got, cmpopts.EquateEmpty()))
		}
	}
}

// whole returns a row as it is stored with its intent.
func whole(r state.Row) *rowcodec.Stored {
	out := rowcodec.Of(r, true)
	return &out
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
		row := state.Row{
			ID:     resource.ID(fmt.Sprintf("std::Null[web1,name=resource-%06d]", i)),
			Rev:    9,
			Intent: state.Intent{Version: 3, Hash: "0011223344556677", Body: body, Generation: at.UnixNano()},
			Outcome: state.Outcome{LastRun: state.RunSuccess,
				LastAction: "00112233445566778899aabbccddeeff", LastAt: at,
				SucceededAt: at, ChangedAt: at},
		}
		row.Deployed = row.Hash
		if err := m.put(1, whole(row)); err != nil {
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
	f := func(nonce uint64, holder string, fence, wave, tx int64, ran []string, tickets,
		outbox uint16, foreign bool, name string, size uint16) bool {
		rec := &record{key: "k", seq: 7, nonce: nonce, holder: holder, fence: fence,
			until: time.Unix(1, 2).UTC(), wave: wave, tx: tx, before: idList{object: "00ff"},
			counts: map[rowKind]int{{"t::One", state.StatusFailed}: int(tickets), {"t::One", "other"}: 3,
				{"", state.StatusDeployed}: 1},
			tickets: int(tickets), outbox: int(outbox), foreign: foreign, acted: int64(outbox),
			refs: []ref{{kind: pageRef, first: 3, last: 9, size: int(size), objects: 2,
				name: name}},
			tail: []entry{{seq: 1, data: []byte("x")},
				{seq: 2, object: &object{name: "ab", size: 3, n: 1, ids: [2]string{name, "z"}}}}}
		for _, id := range ran {
			rec.running.ids = append(rec.running.ids, resource.ID(id))
		}
		got, err := decodeRecord("k", 7, rec.encode(p), p)
		return err == nil && cmp.Diff(rec, got,
			cmp.AllowUnexported(record{}, idList{}, ref{}, entry{}, object{}),
			cmpopts.EquateEmpty()) == ""
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
	row := deploytest.AnyRow(rand.New(rand.NewPCG(3, 4))) // the same every time
	d := delta{run: true, whole: true, rows: []rowcodec.Stored{*whole(row)},
		gone: []resource.ID{"x"}, epoch: 1, checked: []resource.ID{"y"},
		waveDone: 2, add: []state.Outbox{{ID: "o"}}, drop: []string{"p"},
		params:  []state.Parameter{{Name: "n"}},
		without: []droppedParameter{{ParameterKey: state.ParameterKey{Name: "m"}}},
		actions: []state.Action{{ID: "a"}}}
	raw, err := d.encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add((&record{running: idList{ids: []resource.ID{"x"}}, tail: []entry{{seq: 1, data: raw}}}).
		encode(p))
	f.Add((&head{paused: []string{"a"}}).encode())
	f.Add((&forward{parts: map[string]*part{"l/=a": {rows: []state.Row{row}, from: []string{""}}}}).
		encode())
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
		row := deploytest.AnyRow(rng)
		row.ID = resource.ID(fmt.Sprint(i))
		d.rows = append(d.rows, *whole(row))
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
	if rows := n * uint64(unsafe.Sizeof(rowcodec.Stored{})); one+rows/2 > both {
		t.Errorf("%d bytes to read %d rows one by one, %d with a list of %d", one, n, both, rows)
	}
}
