package rowcodec_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/binform"
	"southbound/shared/internal/simtest/deploytest"
)

// TestAnyRowComesBack pins that every value of every field survives.
func TestAnyRowComesBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) // the same every time
	for range 300 {
		row := deploytest.AnyRow(r)
		w := &binform.Writer{}
		rowcodec.Write(w, &row)
		d := &binform.Reader{B: w.B}
		got := state.Row{ID: row.ID, Rev: row.Rev}
		got.Lane = row.Lane
		rowcodec.Read(d, &got)
		if diff := cmp.Diff(row, got, cmpopts.EquateEmpty()); diff != "" || !d.Done() {
			t.Fatalf("bad %v, left %d (-want +got):\n%s", d.Bad, len(d.B), diff)
		}
	}
}
