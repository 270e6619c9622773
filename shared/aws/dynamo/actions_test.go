package dynamo

import (
	"testing"
	"time"

	"southbound/shared/deploy/state"
)

// TestOnlyActionsAreLookedFor has nobody read an object for its actions that holds other things to
// log alone: a page that a slow planner has written again may name one that a collection took.
func TestOnlyActionsAreLookedFor(t *testing.T) {
	t.Parallel()
	f := finder{}
	parameters := describe(&delta{params: []state.Parameter{{Name: "p", Value: "1"}}})
	if parameters.n != 1 || f.may(parameters) {
		t.Errorf("an object without actions is read for them: %+v", parameters)
	}
	actions := describe(&delta{actions: []state.Action{{ID: "a1", Finished: time.Unix(1, 0)}}})
	if !f.may(actions) {
		t.Errorf("an object with actions is not read: %+v", actions)
	}
}
