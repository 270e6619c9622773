package agents

import (
	"context"

	"southbound/shared/api/paging"
)

// Reader reads agents.
type Reader interface {
	// Agents returns the agents by name.
	Agents(ctx context.Context, env string) ([]Agent, error)
	// AgentsPage returns a page of the agents. It is sorted by name or name.desc.
	AgentsPage(ctx context.Context, env string, q Query) (paging.Page[Agent], error)
}

// Operator acts on agents.
type Operator interface {
	// Pause stops claims of agents, or resumes them.
	Pause(ctx context.Context, env string, paused bool, agents ...string) error
	// Prune returns the objects outside the stack that were created for agents which no version
	// names and for which nothing is scheduled. With remove, Prune also deletes them. A home that
	// creates no objects for agents returns nothing.
	Prune(ctx context.Context, env string, remove bool) ([]Pruned, error)
}
