package local

import (
	"context"
	"encoding/json"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

var _ state.AuditLog = (*Home)(nil)

// PutAudit implements state.AuditLog. It keeps the newest records of the environment.
func (h *Home) PutAudit(ctx context.Context, env string, r state.AuditRecord) error {
	return h.putAudit(ctx, env, r, state.AuditKept)
}

func (h *Home) putAudit(ctx context.Context, env string, r state.AuditRecord, kept int) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fault.Wrap(fault.Internal, "write audit", err)
	}
	return h.write(ctx, "write audit", func(c *sqlite.Conn) error {
		if err := query(c, "INSERT OR REPLACE INTO audit (env, id, at, body) VALUES (?, ?, ?, ?)", nil,
			env, r.ID, nanos(r.At), body); err != nil {
			return err
		}
		return query(c, "DELETE FROM audit WHERE env = +? AND id <= "+
			"(SELECT id FROM audit WHERE env = +? ORDER BY id DESC LIMIT 1 OFFSET ?)", nil, env, env, kept)
	})
}

// AuditRecords implements state.AuditLog.
func (h *Home) AuditRecords(
	ctx context.Context, env string, q state.AuditQuery,
) ([]state.AuditRecord, error) {
	w := whereEnv(env)
	if q.Before != "" {
		w.and("id < +?", q.Before)
	}
	if !q.Since.IsZero() {
		w.and("at >= +?", nanos(q.Since))
	}
	return readList(ctx, h, "read audit", "SELECT body FROM audit"+w.sql+" ORDER BY id DESC LIMIT ?",
		func(s *sqlite.Stmt) (r state.AuditRecord, err error) {
			if json.Unmarshal(columnBytes(s, 0), &r) != nil {
				err = fault.New(fault.Damaged, "read audit", "a record does not decode")
			}
			return r, err
		}, append(w.args, q.Limit)...)
}
