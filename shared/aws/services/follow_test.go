//go:build servers

package services_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// TestFollowers holds that who follows something is found without the others, as its record was
// written last, by whichever process.
func TestFollowers(t *testing.T) {
	t.Parallel()
	table, via := newTable(t, server.DynamoDB), awstest.Config(server.URL(server.DynamoDB), nil)
	one, two := process(t, via, table), process(t, via, table)
	holds := func(why string, want map[string]inventory.Following) {
		t.Helper()
		got, err := two.Followers(t.Context(), env)
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: %v: %s", why, err, cmp.Diff(want, got))
		}
		some, err := one.Followed(t.Context(), env)
		if err != nil || some != (len(want) > 0) {
			t.Errorf("%s: %v: somebody follows something: %v", why, err, some)
		}
	}
	r := order("one")
	put(t, one, order("other"))
	write := func(why string, change func()) {
		t.Helper()
		change()
		revs, err := one.Write(t.Context(), env, []inventory.Change{{Record: r}})
		if err != nil {
			t.Fatalf("%s: %v", why, err)
		}
		r.Rev = revs[0]
	}
	none := map[string]inventory.Following{}
	write("it follows nothing", func() {})
	holds("it follows nothing", none)
	write("it begins to", func() { r.Follows = []string{"a", "b"} })
	holds("it begins to", map[string]inventory.Following{"one": {Resources: []string{"a", "b"}}})
	write("it is told", func() { r.Outcome = lifecycle.Failed })
	holds("it is told", map[string]inventory.Following{
		"one": {Resources: []string{"a", "b"}, Outcome: lifecycle.Failed},
	})
	one = process(t, via, table) // which knows nothing of what was
	write("it ends", func() { r.Deleted = true })
	holds("it ends", none)
	write("nothing changes", func() {})
	holds("nothing changes", none)
}
