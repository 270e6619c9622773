package local

import (
	"fmt"
	"slices"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestIDList pins that lists of ids are read as they were written, and that neighbours take little
// room.
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
	if n := len(joinIDs(many)); n > 8*len(many) {
		t.Errorf("%d neighbours take %d bytes", len(many), n)
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
