package fs

import "testing"

func TestRoom(t *testing.T) {
	for _, tc := range []struct {
		why   string
		limit uint64
		want  int
	}{
		{"plenty", 524288, group},
		{"no limit", 1<<64 - 1, group},
		{"a usual one leaves room for others", 1024, 32},
		{"a small one", 200, 6},
		{"next to none still goes on", 16, 4},
	} {
		if got := room(tc.limit); got != tc.want {
			t.Errorf("%s: %d changes with %d files, expected %d", tc.why, got, tc.limit, tc.want)
		}
	}
}
