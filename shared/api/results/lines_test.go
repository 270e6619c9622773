package results_test

import (
	"reflect"
	"testing"

	"southbound/shared/api/results"
	"southbound/shared/deploy"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// TestPlanned requires that a line gives the whole change back, so that no shown part of a plan is
// lost on its way through the API.
func TestPlanned(t *testing.T) {
	t.Parallel()
	ids := []resource.ID{"t::T[a,n=y]"}
	want := results.PlanLine{ID: "t::T[a,n=x]", Action: "update",
		Changes: map[string]diff.Diff{"zone": {Current: "a", Desired: "b"}}, Replace: true,
		CreateFirst: true, Deletes: true, Reason: "why", Failed: true, ReloadFor: ids,
		MovedFrom: ids[0], Rechecked: true, After: ids,
		KnownAfter: []deploy.AwaitedFact{{Attribute: "zone", Fact: "v", Of: ids[0]}}}
	for i, v := 0, reflect.ValueOf(want); i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("give %s a value here", v.Type().Field(i).Name)
		}
	}
	change := want.Planned()
	if got := results.PlanLineOf(&change); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
