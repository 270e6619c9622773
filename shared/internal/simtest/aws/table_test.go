package aws

import (
	"context"
	"fmt"
	"testing"
	"time"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/resource"
)

// TestConformance pins that the port keeps its contract on the models: as it is, and with limits so
// small that every way of storing is taken.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		limits *dynamo.Limits
	}{
		{"Usual", nil},
		{"Objects", &dynamo.Limits{Inline: 1, Record: 1, Refs: 2, Objects: 2, Released: 1,
			Together: 1, IDs: 1, Forget: 1, Sources: 1}},
		{"Items", &dynamo.Limits{Inline: 300 << 10, Record: 1, Refs: 2, Objects: 2, Released: 1,
			Together: 1, IDs: 8 << 10, Forget: 20, Sources: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			deploytest.TestState(t, func(t *testing.T) deploytest.StateHarness {
				t.Helper()
				table, objects, n := NewTable("t"), NewObjects(), 0
				table.Page = func() int { n++; return n%3 + 1 }
				open := func() *dynamo.State {
					s, err := dynamo.New(dynamo.Config{API: table, Table: "t", Objects: objects,
						Host: dynamo.Host{Plain: true, Limits: c.limits, Each: oneByOne}})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				holders := 0
				holder := func() string { holders++; return fmt.Sprintf("h#%d", holders) }
				return deploytest.StateHarness{A: open(), B: open(), HolderA: holder,
					HolderB: holder, Serial: true}
			})
		})
	}
}

func oneByOne(n, _ int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

// TestMissingItemsAreProgress wants many items that do not exist to be asked for to the end, though
// every answer leaves most of them unprocessed: DynamoDB does so when it is busy.
func TestMissingItemsAreProgress(t *testing.T) {
	t.Parallel()
	table := NewTable("t")
	table.Page = func() int { return 1 }
	atOnce := func(context.Context, time.Duration) error { return nil }
	s := stateOn(t, table, NewObjects(), atOnce)
	var numbers []int
	for n := range 30 {
		numbers = append(numbers, n+1)
	}
	if got, err := s.Versions(t.Context(), "e", numbers...); err != nil || len(got) > 0 {
		t.Errorf("%d versions, %v", len(got), err)
	}
}

// TestUncertainStaysUncertain pins that a commit does not make the model sure of what runs, if it
// was not before: what its holder learned from the lease may be more than the model knows of.
func TestUncertainStaysUncertain(t *testing.T) {
	t.Parallel()
	row := rowIn("a/0", "n0")
	r := running{may: []resource.ID{row.ID}}
	after := r.ended([]state.Row{row}).after([]resource.ID{"next"}, true, false)
	if !includes(after.may, []resource.ID{row.ID}) {
		t.Errorf("what conflicted may not run any more: %+v", after)
	}
}
