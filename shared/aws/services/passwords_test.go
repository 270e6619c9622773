//go:build servers

package services_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
)

// TestPasswords makes one password in many processes at once, with requests and answers that are
// lost: all have the same one, and no other environment has it.
func TestPasswords(t *testing.T) {
	t.Parallel()
	table := newTable(t, server.DynamoDB)
	c := awstest.Config(server.URL(server.DynamoDB), &awstest.Faults{Decide: awstest.NowAndThen(4)})
	long := strings.Repeat("a long name ", 200)
	for _, name := range []string{"db", "", long} {
		const many = 5
		made := make([]string, many)
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				var err error
				p := process(t, c, table).Passwords(env)
				made[i], err = p.Make(t.Context(), name, fmt.Sprint("password", i))
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := process(t, c, table).Passwords(env).Password(t.Context(), name)
		if err != nil || got == "" {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		for i := range made {
			if made[i] != got {
				t.Errorf("%q: %q was made, and %q is there", name, made[i], got)
			}
		}
	}
	other, err := process(t, c, table).Passwords("other").Password(t.Context(), "db")
	if err != nil || other != "" {
		t.Errorf("another environment has %q: %v", other, err)
	}
}
