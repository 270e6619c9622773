package instances_test

import (
	"context"
	"fmt"
	"testing"

	"southbound/shared/api/instances"
	"southbound/shared/api/resources"
	"southbound/shared/deploy/state"
	"southbound/shared/service/orders"
)

// lister has three resources of instance i1 and one of no instance. It records the filter.
type lister struct{ filter []string }

func (l *lister) Resources(
	_ context.Context, _ string, filter []string, f func(*resources.Resource) error,
) error {
	l.filter = filter
	for _, r := range []resources.Resource{{Set: "i1", Status: state.StatusDeployed},
		{Set: "i1", Status: state.StatusDeploying}, {Set: "i1", Status: state.StatusFailed},
		{Set: "other", Status: state.StatusDeployed}} {
		if err := f(&r); err != nil {
			return err
		}
	}
	return nil
}

// TestCountProgress pins that the progress of a page of instances selects the resources by set, and
// that a long list reads all resources, since a filter has a limited number of terms.
func TestCountProgress(t *testing.T) {
	t.Parallel()
	for n, terms := range map[int]int{0: 0, 1: 1, 2: 2, 100: 100, 101: 0} {
		all := make([]orders.Instance, n)
		for i := range all {
			all[i].ID = fmt.Sprintf("i%d", i+1)
		}
		var l lister
		if err := instances.CountProgress(t.Context(), &l, "e", all); err != nil {
			t.Fatal(err)
		}
		if len(l.filter) != terms {
			t.Errorf("%d instances: %d terms, want %d", n, len(l.filter), terms)
		}
		for i := range all {
			want := orders.Progress{}
			if i == 0 {
				want = orders.Progress{Total: 3, Deployed: 1, Waiting: 1, Failed: 1}
			}
			if *all[i].Progress != want {
				t.Errorf("%d instances: %+v of %s, want %+v", n, *all[i].Progress, all[i].ID, want)
			}
		}
	}
}
