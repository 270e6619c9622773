package rowcodec_test

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/internal/binform"
	"southbound/shared/internal/simtest/deploytest"
)

// TestAnyRowComesBack pins that every value of every field survives, with its intent and on top of
// the row before.
func TestAnyRowComesBack(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2)) // the same every time
	for range 300 {
		row := deploytest.AnyRow(r)
		for _, intent := range []bool{true, false} {
			w := &binform.Writer{}
			rowcodec.Write(w, &row, intent)
			d := &binform.Reader{B: w.B}
			got := rowcodec.Stored{}
			got.ID = row.ID
			rowcodec.Read(d, &got)
			if diff := cmp.Diff(row, got.After(&row), cmpopts.EquateEmpty()); diff != "" ||
				!d.Done() {
				t.Fatalf("intent %v, bad %v, left %d (-want +got):\n%s", intent, d.Bad, len(d.B),
					diff)
			}
		}
	}
}
