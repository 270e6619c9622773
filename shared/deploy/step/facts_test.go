package step

import (
	"testing"

	"southbound/shared/deploy/state"
)

// TestFollowed: a resource gets another value of a fact to which it refers.
func TestFollowed(t *testing.T) {
	t.Parallel()
	purged := []byte(`{"attributes":{"n":"1"},"id":"t::T[a,n=1]","purged":true}`)
	check(t, map[string]step{
		"FactChanged": {
			reason: "another value is another intent, for which the outcome does not count",
			was:    failed,
			event:  ValueKnown{Hash: "i", Body: purged},
			want:   func(r *state.Row) { r.Hash, r.Body = "i", purged },
			then:   newest,
		},
		"FactChangedSkipped": {
			reason: "it runs for the new value, and is skipped again if it has to be",
			was:    skipped,
			event:  ValueKnown{Hash: "i", Body: purged},
			want:   func(r *state.Row) { r.Hash, r.Body = "i", purged },
			then:   newest,
		},
		"FactDoesNotFit": {
			reason: "it keeps its thing as it is until a value fits",
			event:  ValueKnown{Problem: "size: expected an Integer", Missing: []string{"f"}},
			want: func(r *state.Row) {
				r.Problem, r.Missing = "size: expected an Integer", []string{"f"}
			},
		},
		"FactOfRemoved": {reason: "it is to be purged, whatever its values",
			was:   func(r *state.Row) { r.Removing = true },
			event: ValueKnown{Hash: "i", Body: purged}},
	})
}
