package schema

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest returns the element of names whose spelling is most similar to name, ignoring case. It
// returns "" if none is similar, that is, if more than two letters and more than a third of them
// differ. If several are equally similar, the first is returned.
func Nearest(name string, names []string) string {
	letters := []rune(strings.ToLower(name))
	if len(letters) == 0 || len(letters) > 200 {
		return ""
	}
	least := max(2, len(letters)/3) + 1
	if len(letters) < 4 {
		least = 2
	}
	best := ""
	for _, n := range names {
		d := distance(letters, []rune(strings.ToLower(n)), least)
		if d < least && d < len(letters) {
			best, least = n, d
		}
	}
	return best
}

// nearestHint returns Nearest as a hint for a message.
func nearestHint(name string, names []string) string {
	if near := Nearest(name, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// distance returns the number of letters to insert, delete, replace or swap with their neighbour to
// turn a into b. The result is exact up to enough. A larger distance yields a number above enough.
func distance(a, b []rune, enough int) int {
	if abs(len(a)-len(b)) > enough {
		return enough + 1
	}
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		if slices.Min(row) > enough {
			return enough + 1
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

func abs(n int) int { return max(n, -n) }
