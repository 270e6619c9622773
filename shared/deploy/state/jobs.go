package state

import (
	"context"
	"math/rand/v2"
	"time"
)

// Job is the record of a piece of work that a client waits for. Its content is defined by the
// component that creates it; see docs/design/jobs.md.
type Job struct {
	ID      string    // at most 200 bytes
	Rev     int64     // of the last write, never used twice; 0: not stored
	Expires time.Time // from then on, the record no longer exists
	Body    []byte    // at most 100,000 bytes
}

// Jobs keeps records of jobs. It is shared by any number of processes. Its errors are those of
// State.
type Jobs interface {
	// PutJob stores a record if the stored record of its id has the revision j.Rev; 0 means that
	// there is none. It returns the new revision, which no record has had before. Otherwise it is
	// Conflict.
	PutJob(ctx context.Context, env string, j Job, now time.Time) (int64, error)
	// Jobs returns the records of an environment whose ids begin with a text, sorted by id.
	Jobs(ctx context.Context, env, begin string, now time.Time) ([]Job, error)
}

// NewRev returns a revision for a record of a job that is never used twice.
func NewRev() int64 { return 1 + rand.Int64N(1<<53-1) } // it need not be a secret
