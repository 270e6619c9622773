package state

import (
	"context"
	"time"
)

// The bounds of the audit of an environment. The embedded home bounds the number of its records,
// the AWS home their age.
const (
	AuditKept    = 10_000
	AuditKeptFor = 400 * 24 * time.Hour
)

// AuditRecord is a request of a person, with its outcome. See docs/design/audit.md.
type AuditRecord struct {
	ID      string    `json:"id"` // grows with time; at most 200 bytes
	At      time.Time `json:"at"`
	By      string    `json:"by"`  // who
	Via     string    `json:"via"` // how that is known
	Act     string    `json:"act"`
	Targets []string  `json:"targets,omitempty"`
	More    int       `json:"more,omitempty"` // number of omitted targets
	Message string    `json:"message,omitempty"`
	// Outcome is "" until the act has ended; it stays "" if the process ended before.
	Outcome string    `json:"outcome,omitempty"`
	Error   string    `json:"error,omitempty"`
	Ended   time.Time `json:"ended,omitzero"`
}

// AuditQuery selects records.
type AuditQuery struct {
	Before string    // only records with a lesser id; "": all
	Since  time.Time // only records that began then or later; zero: all
	Limit  int       // at least 1
}

// AuditLog keeps the records of requests. Its errors are those of State.
type AuditLog interface {
	// PutAudit stores a record, which replaces one with the same id. It may remove the oldest
	// records of the environment.
	PutAudit(ctx context.Context, env string, r AuditRecord) error
	// AuditRecords returns the records that q selects, newest first.
	AuditRecords(ctx context.Context, env string, q AuditQuery) ([]AuditRecord, error)
}
