package state

import (
	"context"
	"slices"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// ConnectLimiter may be implemented by a Connector that has a limit for the time of connecting to
// an agent. The lease of an agent is prolonged by that limit when a batch has to connect. So an agent
// whose holder was killed may stay held that much longer.
type ConnectLimiter interface {
	// ConnectLimit returns the longest time that Connect may take for an agent.
	ConnectLimit(a resource.Agent) time.Duration
}

// RenewingCaller may be implemented by a Caller that can do something regularly while a call runs. The
// lease of an agent is then renewed during a long call, and is not taken for its whole limit before.
type RenewingCaller interface {
	Caller
	// CallRenewing is Call, and calls renew whenever the call has run for another period of every.
	// If renew fails, the context of f is cancelled, and renew is not called again. CallRenewing
	// returns after the last renew has returned.
	CallRenewing(ctx context.Context, limit, every time.Duration,
		renew func(ctx context.Context) error, f func(ctx context.Context)) error
}

// SecretVersions may be implemented by Secrets that can return the version of a secret without
// reading its value. Then an export does not need permission to read the value.
type SecretVersions interface {
	// Version returns the current version of a reference. Its errors are those of Resolve.
	Version(ctx context.Context, s resource.Secret) (string, error)
}

// SecretBatches may be implemented by Secrets that can fetch several secrets in one request.
type SecretBatches interface {
	// Prefetch fetches the data for the following calls of Version, or of Resolve if values is set.
	// It leaves errors to those calls.
	Prefetch(ctx context.Context, refs []resource.Secret, values bool)
}

// ChangeLog may be implemented by a State that keeps the ids of rows that the last commits have
// written.
type ChangeLog interface {
	// Changed returns the rows that commits have written or removed since the commit with a number.
	Changed(ctx context.Context, env string, since int64) (Changed, error)
}

// Changed are the rows that were written since a commit.
type Changed struct {
	// Known is false if the log does not go back that far: any row may have been written.
	Known bool
	IDs   []resource.ID // each once
	Last  int64         // the number of the last commit; 0: there was none
}

// Verifier is implemented by Files whose bytes another program may change or remove.
type Verifier interface {
	// Verify reads files and returns an error, NotFound or Damaged, unless the bytes of all files
	// match their hashes. A file that was read just before and has not been written since need not
	// be read again.
	Verify(ctx context.Context, hashes []string) error
}

// Unreadable reports whether an error means that stored data is gone or has other bytes.
func Unreadable(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Damaged)
}

// Transient reports whether the cause of an error may pass without a change.
func Transient(err error) bool {
	passing := []fault.Kind{fault.Unavailable, fault.Busy, fault.Timeout, fault.Conflict,
		fault.Fenced, fault.Canceled}
	return slices.Contains(passing, fault.KindOf(err))
}
