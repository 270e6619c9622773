package environments

import (
	"context"
	"time"

	"southbound/shared/api/paging"
	"southbound/shared/deploy"
)

// Reader reads environments as a whole.
type Reader interface {
	// Environments returns the names of all environments, sorted.
	Environments(ctx context.Context) ([]string, error)
	// Summaries returns the state of all environments, sorted by name.
	Summaries(ctx context.Context) ([]Summary, error)
	// Progress returns the progress of an environment.
	Progress(ctx context.Context, env string) (Progress, error)
	// AuditPage returns a page of the requests that changed something, newest first.
	AuditPage(ctx context.Context, env string, q AuditQuery) (paging.Page[Audited], error)
	// Changes returns what has changed in an environment since the call that returned the token
	// after. If the token is "" or no longer known, everything may have changed: More and all kinds
	// are set. If nothing has changed, Changes waits up to wait for a change. Then it returns the
	// same token, and no changes.
	Changes(ctx context.Context, env, after string, wait time.Duration) (Changes, error)
}

// Operator acts on environments as a whole.
type Operator interface {
	// Halt stops all claims, or resumes them.
	Halt(ctx context.Context, env string, halted bool) error
	// Collect removes old data; see deploy.Engine.Collect.
	Collect(ctx context.Context, env string, grace time.Duration) (deploy.Collected, error)
}
