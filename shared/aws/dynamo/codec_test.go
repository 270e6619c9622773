package dynamo

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/internal/simtest/deploytest"
)

// TestAnyRowComesBack pins that every value of every field survives.
func TestAnyRowComesBack(t *testing.T) {
	t.Parallel()
	s, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2)) // the same every time
	for range 300 {
		row := deploytest.AnyRow(r)
		got, err := s.row(s.rowItem("e", &row))
		if diff := cmp.Diff(&row, got, cmpopts.EquateEmpty()); diff != "" || err != nil {
			t.Fatalf("%v (-want +got):\n%s", err, diff)
		}
	}
}
