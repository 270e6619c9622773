package jobs

import (
	"context"

	"southbound/shared/api/comparisons"
	"southbound/shared/api/environments"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Service stores and works on jobs.
type Service struct {
	Env         *environments.Service
	Comparisons *comparisons.Service
	// Jobs, if not nil, stores the records of jobs. Start calls Work for one, in this process
	// or in another, and does not wait for it. Without Jobs, requests for comparisons are
	// rejected.
	Jobs  state.Jobs
	Start func(ctx context.Context, env, id string) error
	// ByRunner, if not nil, reports whether only runners reach an agent: they read its things,
	// in parts of jobs. NotifyRunner notifies a runner of an agent about a waiting part; it is
	// called again if no runner takes the part.
	ByRunner     func(resource.Agent) bool
	NotifyRunner func(ctx context.Context, env, agent, part string) error
}
