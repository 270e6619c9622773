package aws

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/aws/dynamo"
	"southbound/shared/internal/simtest/deploytest"
)

// TestConformance pins that the port keeps its contract on the model: with the limits of a home, and
// with limits so small that a transaction has two rows, and each value items of its own.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]*dynamo.Limits{
		"Home": nil, "Small": {Page: 3, Bytes: 1 << 20, Value: 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deploytest.TestState(t, func(t *testing.T) deploytest.StateHarness {
				t.Helper()
				table := NewTable("t")
				var n, holders atomic.Int64
				table.Page = func() int { return int(n.Add(1)%50 + 1) }
				holder := func() string { return fmt.Sprintf("h#%d", holders.Add(1)) }
				return deploytest.StateHarness{A: stateOn(t, table, limits),
					B: stateOn(t, table, limits), HolderA: holder, HolderB: holder}
			})
		})
	}
}

// stateOn returns the state on a table, as a process that waits shortly.
func stateOn(t *testing.T, api dynamo.API, limits *dynamo.Limits) *dynamo.State {
	t.Helper()
	s, err := dynamo.New(dynamo.Config{API: api, Table: "t", Host: dynamo.Host{Limits: limits,
		Sleep: func(_ context.Context, d time.Duration) error {
			time.Sleep(d / 10)
			return nil
		}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestMissingItemsAreProgress wants many items that do not exist to be requested to the end, though
// every answer leaves most of them unprocessed: DynamoDB does so when it is busy.
func TestMissingItemsAreProgress(t *testing.T) {
	t.Parallel()
	table := NewTable("t")
	table.Page = func() int { return 1 }
	s := stateOn(t, table, nil)
	var numbers []int
	for n := range 30 {
		numbers = append(numbers, n+1)
	}
	if got, err := s.Versions(t.Context(), "e", numbers...); err != nil || len(got) > 0 {
		t.Errorf("%d versions, %v", len(got), err)
	}
}
