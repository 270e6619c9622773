package local

import (
	"context"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// Kept implements state.Keeps.
func (h *Home) Kept(ctx context.Context, env string, ids []resource.ID) ([]state.Kept, error) {
	var out []state.Kept
	err := h.read(ctx, "read kept states", func(c *sqlite.Conn) error {
		for _, id := range ids {
			if err := query(c, "SELECT rev, outputs, body FROM kept WHERE env = ? AND id = ?",
				func(s *sqlite.Stmt) error {
					out = append(out, state.Kept{ID: id, Revision: s.ColumnText(0),
						Outputs: s.ColumnText(1), Sealed: columnBytes(s, 2)})
					return nil
				}, env, string(id)); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// KeptOutputs implements state.Keeps.
func (h *Home) KeptOutputs(
	ctx context.Context, env string, ids []resource.ID,
) (map[resource.ID]string, error) {
	out := map[resource.ID]string{}
	err := h.read(ctx, "read revisions of outputs", func(c *sqlite.Conn) error {
		for _, id := range ids {
			if err := query(c, "SELECT outputs FROM kept WHERE env = ? AND id = ? AND outputs <> ''",
				func(s *sqlite.Stmt) error {
					out[id] = s.ColumnText(0)
					return nil
				}, env, string(id)); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// KeptIDs implements state.Keeps.
func (h *Home) KeptIDs(ctx context.Context, env string) ([]resource.ID, error) {
	return readList(ctx, h, "list kept states", "SELECT id FROM kept WHERE env = ? ORDER BY id",
		text[resource.ID], env)
}

// keep writes and removes kept states.
func (t *tx) keep() error {
	for _, id := range t.in.DropKept {
		if err := query(t.c, "DELETE FROM kept WHERE env = ? AND id = ?", nil, t.env,
			string(id)); err != nil {
			return err
		}
	}
	for i := range t.in.Keep {
		k := &t.in.Keep[i]
		if err := query(t.c,
			"INSERT OR REPLACE INTO kept (env, id, rev, outputs, body) VALUES (?, ?, ?, ?, ?)",
			nil, t.env, string(k.ID), k.Revision, k.Outputs, k.Sealed); err != nil {
			return err
		}
	}
	return nil
}
