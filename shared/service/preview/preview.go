// Package preview is what orders and models would come to, before anything of it is stored.
package preview

import (
	"southbound/shared/deploy"
	"southbound/shared/diag"
	"southbound/shared/service/inventory"
)

// Outcome is what an instance would come to.
type Outcome struct {
	Record inventory.Record
	// Path are the states that it would go through, the last one last.
	Path []string
	// Problems are why it would be rejected, or could not be moved.
	Problems diag.Problems
	// Planned are the changes of its resources, and of those that it shares with others.
	Planned []deploy.PlannedChange
	// Leaving: a rollout leaves it alone.
	Leaving bool
}
