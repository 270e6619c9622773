// Package preview holds the results of orders and models before they are stored.
package preview

import (
	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/service/inventory"
)

// Outcome is the expected result for an instance.
type Outcome struct {
	Record inventory.Record
	// Path are the states that the instance would pass through, in order.
	Path []string
	// Problems are the reasons why the order or the move would be rejected.
	Problems diag.Problems
	// Planned are the changes of its resources, and of resources that it shares with others.
	Planned []deploy.PlannedChange
	// Leaving means that a rollout skips the instance.
	Leaving bool
}
