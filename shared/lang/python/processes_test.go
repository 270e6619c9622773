package python

import (
	"slices"
	"testing"
)

// TestStat holds how a process is told by the system, whatever its name is.
func TestStat(t *testing.T) {
	t.Parallel()
	const rest = " 7 8 8 0 -1 4194304 1 0 0 0 3 4 0 0 20 0 1 0 4711 1000 2 18446744073709551615 1 1"
	for name, want := range map[string]bool{
		"5 (python3) S": true, "5 (a) R) S (b) S": true, "5 () S": true,
		"5 (python3) Z": false, "5 (python3) X": false, "": false,
	} {
		p, ok := parseStat(5, name+rest)
		if ok != want || ok && (p.parent != 7 || p.group != 8 || p.started != 4711 || p.held == 0) {
			t.Errorf("%q: %+v, %v", name, p, ok)
		}
	}
}

// TestFamily holds who belongs to a process: its descendants in whichever session, and its group.
func TestFamily(t *testing.T) {
	t.Parallel()
	all := []process{
		// a grandchild in a group of its own, listed before its parent
		{pid: 13, parent: 12, group: 13},
		{pid: 1}, {pid: 10, parent: 1, group: 10}, {pid: 12, parent: 10, group: 12},
		// an orphan, and its child
		{pid: 14, parent: 1, group: 10}, {pid: 15, parent: 14, group: 15},
		{pid: 20, parent: 1, group: 20},
	}
	var got []int
	for _, p := range familyOf(10, all) {
		got = append(got, p.pid)
	}
	if want := []int{13, 10, 12, 14, 15}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestBefore holds which processes are from before a run: all that were there when it began,
// however soon after the run before.
func TestBefore(t *testing.T) {
	t.Parallel()
	m := &moment{hundredths: 500, last: 70}
	for _, c := range []struct {
		p    process
		m    *moment
		want bool
		why  string
	}{
		{process{pid: 90, started: 499}, m, true, "its number was given again since"},
		{process{pid: 70, started: 500}, m, true, "the last of the run before"},
		{process{pid: 71, started: 500}, m, false, "the first of the run"},
		{process{pid: 9, started: 501}, m, false, "numbers have begun anew"},
		{process{pid: 9, started: 500}, &moment{hundredths: 500}, false, "numbers are not known"},
		{process{pid: 9, started: 500}, nil, false, "nothing outlives the process"},
		{process{pid: 9, started: 500}, &never, true, "no run goes on"},
	} {
		if got := c.p.before(c.m); got != c.want {
			t.Errorf("%+v: %v, but %s", c.p, got, c.why)
		}
	}
}
