package local

import (
	"context"

	"zombiezen.com/go/sqlite"

	"southbound/shared/service/callback"
	"southbound/shared/service/inventory"
)

// Callbacks is the store of the callbacks of a home. It implements callback.Store.
type Callbacks struct{ home *Home }

var _ callback.Store = (*Callbacks)(nil)

// Callbacks returns the store of callbacks.
func (h *Home) Callbacks() *Callbacks { return &Callbacks{h} }

const (
	readCallbacks  = "read callbacks"
	writeCallbacks = "write callbacks"
)

// putPending records pending callbacks for events of an instance, if there are callbacks.
func putPending(c *sqlite.Conn, env string, r *inventory.Record, from, last int64) error {
	return query(c, "INSERT INTO callback_pending (env, id, service, since, last, told) "+
		"SELECT ?1, ?2, ?3, ?4, ?5, ?6 WHERE EXISTS (SELECT 1 FROM callbacks WHERE env = ?1) "+
		"ON CONFLICT DO UPDATE SET last = excluded.last", nil,
		env, r.ID, r.Service, from, last, []byte("{}"))
}

// Register implements callback.Store.
func (b *Callbacks) Register(ctx context.Context, env string, cb callback.Callback) error {
	return b.home.write(ctx, writeCallbacks, func(c *sqlite.Conn) error {
		all, err := list(c, selectCallbacks, storedCallback, env)
		if err != nil {
			return err
		}
		for i := range all {
			if all[i].ID == cb.ID && all[i].Same(&cb) {
				return nil
			}
			if all[i].ID == cb.ID {
				return callback.ErrOther(cb.ID)
			}
		}
		if len(all) >= callback.MaxCallbacks {
			return callback.ErrMany()
		}
		return query(c, "INSERT INTO callbacks (env, id, body, health) VALUES (?, ?, ?, ?)", nil,
			env, cb.ID, []byte(sealed(cb, "callbacks", env, cb.ID)), []byte("{}"))
	})
}

// Unregister implements callback.Store.
func (b *Callbacks) Unregister(ctx context.Context, env, id string) error {
	return b.home.write(ctx, writeCallbacks, func(c *sqlite.Conn) error {
		if err := query(c, "DELETE FROM callbacks WHERE env = ? AND id = ?", nil, env,
			id); err != nil {
			return err
		}
		if c.Changes() == 0 {
			return callback.ErrNone(id)
		}
		return query(c, "DELETE FROM callback_pending WHERE env = ?1 AND "+
			"NOT EXISTS (SELECT 1 FROM callbacks WHERE env = ?1)", nil, env)
	})
}

// Callbacks implements callback.Store.
func (b *Callbacks) Callbacks(ctx context.Context, env string) ([]callback.Callback, error) {
	return readList(ctx, b.home, readCallbacks, selectCallbacks, storedCallback, env)
}

const selectCallbacks = "SELECT health, body, env, id FROM callbacks WHERE env = ? ORDER BY id"

func storedCallback(s *sqlite.Stmt) (cb callback.Callback, err error) {
	if err = unsealRow(s, 1, &cb, "callbacks"); err == nil {
		err = instanceJSON(columnBytes(s, 0), &cb.Health)
	}
	return cb, err
}

// Report implements callback.Store.
func (b *Callbacks) Report(ctx context.Context, env, id string, h callback.Health) error {
	return b.home.write(ctx, writeCallbacks, func(c *sqlite.Conn) error {
		return query(c, "UPDATE callbacks SET health = ? WHERE env = ? AND id = ?", nil,
			[]byte(toJSON(h)), env, id)
	})
}

const selectPending = "SELECT id, service, since, last, told FROM callback_pending WHERE env = ? "

func storedPending(s *sqlite.Stmt) (callback.Pending, error) {
	p := callback.Pending{Instance: s.ColumnText(0), Service: s.ColumnText(1), From: s.ColumnInt64(2),
		Last: s.ColumnInt64(3), Delivered: map[string]int64{}}
	err := instanceJSON(columnBytes(s, 4), &p.Delivered) // the column told
	return p, err
}

// Pending implements callback.Store.
func (b *Callbacks) Pending(
	ctx context.Context, env, after string,
) ([]callback.Pending, error) {
	return readList(ctx, b.home, readCallbacks, selectPending+"AND id > ? ORDER BY id LIMIT ?",
		storedPending, env, after, callback.MaxPending)
}

// Delivered implements callback.Store.
func (b *Callbacks) Delivered(
	ctx context.Context, env, instance, id string, seq int64, all []string,
) error {
	return b.home.write(ctx, writeCallbacks, func(c *sqlite.Conn) error {
		p, err := one(c, selectPending+"AND id = ?", storedPending, env, instance)
		if err != nil || p.Instance == "" {
			return err
		}
		p.Delivered[id] = max(p.Delivered[id], seq)
		if p.Done(all) {
			return query(c, "DELETE FROM callback_pending WHERE env = ? AND id = ?", nil, env,
				instance)
		}
		return query(c, "UPDATE callback_pending SET told = ? WHERE env = ? AND id = ?", nil,
			[]byte(toJSON(p.Delivered)), env, instance)
	})
}
