package local

import (
	"context"
	"strconv"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/service/inventory"
)

// Events of instances are kept for good. The texts of their compiles are rows of their own, which
// each write with events removes once they are old.

// putEvents stores events of an instance after the event with the number last.
func putEvents(
	c *sqlite.Conn, env, id string, events []inventory.Event, last int64,
) error {
	for i, e := range events {
		e.Seq = last + int64(i) + 1
		e, texts, some := e.Apart()
		seq := strconv.FormatInt(e.Seq, 10)
		if err := query(c, "INSERT INTO instance_events (env, id, seq, body) VALUES (?, ?, ?, ?)",
			nil, env, id, e.Seq, []byte(sealed(e, "instance_events", env, id, seq))); err != nil {
			return err
		}
		if !some {
			continue
		}
		if err := query(c, "INSERT INTO instance_texts (env, id, seq, at, body) VALUES (?, ?, ?, ?, ?)",
			nil, env, id, e.Seq, e.At.UnixMicro(),
			[]byte(sealed(texts, "instance_texts", env, id, seq))); err != nil {
			return err
		}
	}
	return nil
}

// dropTexts removes texts of compiles that are old at a time; a zero time removes none.
func dropTexts(c *sqlite.Conn, env string, now time.Time) error {
	if now.IsZero() {
		return nil
	}
	return query(c, "DELETE FROM instance_texts WHERE env = ? AND at < ?", nil, env,
		inventory.TextsSince(now).UnixMicro())
}

// Events implements inventory.Store.
func (n *Instances) Events(
	ctx context.Context, env, id string, after int64, limit int,
) ([]inventory.Event, error) {
	var out []inventory.Event
	err := n.home.read(ctx, "read events", func(c *sqlite.Conn) error {
		var err error
		out, err = list(c, "SELECT body, env, id, seq FROM instance_events WHERE env = +? AND "+
			"id = +? AND seq > +? ORDER BY seq LIMIT ?", sealedRow[inventory.Event]("instance_events"),
			env, id, after, inventory.Page(limit))
		if err != nil || len(out) == 0 {
			return err
		}
		first := out[0].Seq
		return query(c, "SELECT body, env, id, seq FROM instance_texts WHERE env = +? AND "+
			"id = +? AND seq BETWEEN +? AND +?", func(s *sqlite.Stmt) error {
			var t inventory.Texts
			err := unsealRow(s, 0, &t, "instance_texts")
			if at := t.Seq - first; err == nil && at >= 0 && at < int64(len(out)) {
				out[at] = out[at].With(t) // events have no gaps
			}
			return err
		}, env, id, first, out[len(out)-1].Seq)
	})
	return out, err
}
