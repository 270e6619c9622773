package redact

import (
	"fmt"
	"testing"
)

// BenchmarkInTurn adds secrets and cleans a line after each, as a machine does that names secrets and
// writes lines in turn.
func BenchmarkInTurn(b *testing.B) {
	for _, n := range []int{250, 1000, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				var s Set
				for i := range n {
					s.Add(fmt.Sprintf("secret-%06d/x", i))
					s.Clean("an ordinary line about secret-000001/x, as long as most of them are", "***")
				}
			}
		})
	}
}

// BenchmarkCut cleans texts that were cut, of many secrets.
func BenchmarkCut(b *testing.B) {
	var s Set
	for i := range 1000 {
		s.Add(fmt.Sprintf("secret-%06d/x", i))
	}
	for b.Loop() {
		s.Clean("… of what a program says, which ends in sec…", "***")
	}
}
