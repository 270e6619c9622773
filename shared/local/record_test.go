package local

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/resource"
)

// TestRecord pins that every field of a row is read as it was written.
func TestRecord(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		row := deploytest.AnyRow(r)
		rec, got := recordOf(&row, row.Rev), state.Row{}
		err := rec.read(&got)
		if diff := cmp.Diff(row, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	}
}

// TestFlippedBits pins that no flipped bit in a record goes unnoticed: in its body it leaves out the
// body, and anywhere else the record is Damaged.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	row := state.Row{
		ID:      "t::T[a,name=x]",
		Intent:  state.Intent{Agent: "a", Hash: "h", Body: []byte("{}")},
		Outcome: state.Outcome{Reason: "why"},
	}
	rec := recordOf(&row, 1)
	for i := range 8 * len(rec.state) {
		bad := rec
		bad.state = slices.Clone(rec.state)
		bad.state[i/8] ^= 1 << (i % 8)
		if err := bad.read(&state.Row{}); !fault.Is(err, fault.Damaged) {
			t.Errorf("bit %d of the state: %v", i, err)
		}
	}
	for i := range 8 * len(rec.body) {
		bad, got := rec, state.Row{}
		bad.body = slices.Clone(rec.body)
		bad.body[i/8] ^= 1 << (i % 8)
		if err := bad.read(&got); err != nil || got.Body != nil || got.Reason != "why" {
			t.Errorf("bit %d of the body: %v, %+v", i, err, got)
		}
	}
	actions := []state.Action{{ID: "1", Resource: "t::T[a,name=x]", Reason: "why", Version: 3}}
	stored := must(encodeActions(actions))(t)
	for i := range 8 * len(stored) {
		bad := slices.Clone(stored)
		bad[i/8] ^= 1 << (i % 8)
		if got, err := decodeActions(bad); err == nil && !reflect.DeepEqual(got, actions) {
			t.Errorf("bit %d of an action: %+v", i, got)
		} else if err != nil && !fault.Is(err, fault.Damaged) {
			t.Errorf("bit %d of an action: %v", i, err)
		}
	}
}

// TestIDList pins that lists of ids are read as they were written.
func TestIDList(t *testing.T) {
	t.Parallel()
	var many []resource.ID
	for i := range 2000 {
		many = append(many, resource.ID(fmt.Sprintf("fs::File[web1,path=/srv/tree/f%06d]", i)))
	}
	for name, ids := range map[string][]resource.ID{
		"None": nil, "One": {"a"}, "Many": many, "Same": {"a", "a"}, "Empty": {"", "x", ""},
		"Odd": {"x\n[\"", "\x01", "\xff", "x"},
	} {
		got, err := splitIDs(joinIDs(ids))
		if err != nil || !slices.Equal(got, ids) {
			t.Errorf("%s: %q became %q (%v)", name, ids, got, err)
		}
	}
}

// TestIDListDamaged pins that a list that has changed is not taken for another one.
func TestIDListDamaged(t *testing.T) {
	t.Parallel()
	stored := joinIDs([]resource.ID{"fs::File[a,path=/a]", "fs::File[a,path=/b]"})
	for i := range stored {
		for bit := range 8 {
			b := slices.Clone(stored)
			b[i] ^= 1 << bit
			if ids, err := splitIDs(b); !fault.Is(err, fault.Damaged) {
				t.Fatalf("bit %d of byte %d: %q (%v)", bit, i, ids, err)
			}
		}
	}
	for n := 1; n < len(stored); n++ {
		if ids, err := splitIDs(stored[:n]); !fault.Is(err, fault.Damaged) {
			t.Errorf("%d bytes: %q (%v)", n, ids, err)
		}
	}
}
