package child

import (
	"slices"
	"testing"
)

// TestStat pins how /proc/PID/stat is read, whatever the name of the program is.
func TestStat(t *testing.T) {
	t.Parallel()
	const rest = " 7 8 8 0 -1 4194304 1 0 0 0 3 4 0 0 20 0 1 0 4711 1000 2 18446744073709551615 1 1"
	for stat, want := range map[string]Process{
		"5 (python3) S": {State: 'S'}, "5 (a) R) S (b) S": {State: 'S'}, "5 () T": {State: 'T'},
		"5 (python3) Z": {State: 'Z'}, "5 (python3) X": {State: 'X'}, "": {},
	} {
		p, ok := parseStat(5, stat+rest)
		if ok != (want.State != 0) {
			t.Errorf("%q: %v", stat, ok)
		}
		if ok && (p.PID != 5 || p.Parent != 7 || p.Group != 8 || p.Started != 4711 || p.Held == 0 ||
			p.State != want.State || p.Ended() != (p.State == 'Z' || p.State == 'X')) {
			t.Errorf("%q: %+v", stat, p)
		}
	}
}

// TestFamily pins which processes belong to one: its descendants in any session, and its group.
func TestFamily(t *testing.T) {
	t.Parallel()
	all := []Process{
		// a grandchild in a group of its own, listed before its parent
		{PID: 13, Parent: 12, Group: 13},
		{PID: 1}, {PID: 10, Parent: 1, Group: 10}, {PID: 12, Parent: 10, Group: 12},
		// an orphan, and its child
		{PID: 14, Parent: 1, Group: 10}, {PID: 15, Parent: 14, Group: 15},
		{PID: 20, Parent: 1, Group: 20},
	}
	var got []int
	for _, p := range Family(10, all) {
		got = append(got, p.PID)
	}
	if want := []int{13, 10, 12, 14, 15}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
