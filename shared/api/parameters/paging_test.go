package parameters

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/api/paging"
	"southbound/shared/deploy/state"
)

// TestChangesOfOneInstant pages through what became of a parameter in one instant, while more comes:
// nothing is left out, and nothing is there twice.
func TestChangesOfOneInstant(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	change := func(value string, at time.Time) state.ParameterChange {
		return state.ParameterChange{
			Parameter: state.Parameter{Name: "p", Value: value, Updated: at}}
	}
	list := []state.ParameterChange{change("later", at.Add(1)), change("c", at), change("b", at),
		change("b", at), change("a", at), change("earlier", at.Add(-1))}
	var got []string
	g := paging.KeyPaging{Limit: paging.Limit{Limit: 1}}
	for range 20 {
		now := slices.Clone(list)
		page, err := paging.ByKeys(now, changeKeys(now), g, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Items {
			got = append(got, c.Value)
		}
		if g.Cursor = page.Next; g.Cursor == "" {
			break
		}
		if len(got)%2 == 1 { // one more of the instant that is read, and a later one
			list = slices.Insert(list, 1, change(fmt.Sprint("new", len(got)), at))
			list = slices.Insert(list, 0, change("latest", at.Add(2)))
		}
	}
	got = slices.DeleteFunc(got, func(v string) bool { return strings.HasPrefix(v, "new") })
	if want := "later c b b a earlier"; strings.Join(got, " ") != want {
		t.Errorf("%v, expected %s", got, want)
	}
}
