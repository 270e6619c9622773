package deploy_test

import (
	"fmt"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestEachRowOfSet pins that the resources of a set are read without those of other sets, whatever
// number of resources there is.
func TestEachRowOfSet(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var rs []resource.Resource
	for i := range 200 {
		one := res(fmt.Sprintf("r%03d", i))
		switch {
		case i%50 == 0:
			one.Set = "few"
		case i%3 == 0:
			one.Set = "many"
		}
		rs = append(rs, one)
	}
	want := map[string]int{}
	for i := range rs {
		want[rs[i].Set]++
	}
	r.release(rs...)
	config, store := r.e.Config, &countsRows{Home: r.home}
	config.State = store
	e := deploy.New(config)
	for terms, n := range map[string]int{"set=": want[""], "set=few": want["few"], "set=many": want["many"],
		"set=few set=many": want["few"] + want["many"], "set= set=few": want[""] + want["few"]} {
		filter, err := state.ParseFilter(strings.Fields(terms))
		if err != nil {
			t.Fatal(err)
		}
		store.read = 0
		var ids []resource.ID
		if err := e.EachRow(t.Context(), "e", filter, func(row *state.Row) error {
			ids = append(ids, row.ID)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if len(ids) != n {
			t.Errorf("%s: %d resources, want %d", terms, len(ids), n)
		}
		if filter.OfNamed() && store.read != n {
			t.Errorf("%s: %d rows were read for %d resources", terms, store.read, n)
		}
		for i := 1; i < len(ids); i++ {
			if ids[i-1] >= ids[i] {
				t.Fatalf("%s: %s stands before %s", terms, ids[i-1], ids[i])
			}
		}
	}
}
