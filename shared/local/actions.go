package local

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// packWindow is the window of the encoder: how far back it finds repetitions in the actions of a
// commit. It is also about the memory that the encoder uses for the window.
const packWindow = 256 << 10

// The actions of one commit are stored as one row of compressed JSON, whose checksum zstd verifies.
// Hashes of the resource ids are stored beside them, for finding the actions of a resource. The
// encoder and the decoder are costly to create, so each is created once, on first use.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		e, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(packWindow),
			zstd.WithLowerEncoderMem(true))
		return e
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(1<<30))
		return d
	})
)

func (t *tx) actions() error {
	if len(t.in.Actions) == 0 {
		return nil
	}
	return putActions(t.c, t.env, t.in.Actions)
}

// putActions stores actions as one row.
func putActions(c *sqlite.Conn, env string, actions []state.Action) error {
	record, err := encodeActions(actions)
	if err != nil {
		return err
	}
	first, last := actions[0].ID, actions[0].ID
	var oldest, latest time.Time
	hashes := make([]byte, 0, sumSize*len(actions))
	notable := 0
	for i := range actions {
		a := &actions[i]
		first, last = min(first, a.ID), max(last, a.ID)
		if a.Notable() {
			notable++
		}
		if a.Finished.After(latest) {
			latest = a.Finished
		}
		if i == 0 || a.Finished.Before(oldest) {
			oldest = a.Finished
		}
		hashes = append(hashes, shortHash(a.Resource)...)
	}
	// If a commit is repeated because its answer was lost, it replaces the row that it wrote.
	if err := query(c, "DELETE FROM actions WHERE env = ? AND last = ? AND first = ?", nil, env,
		last, first); err != nil {
		return err
	}
	return query(c,
		"INSERT INTO actions (env, first, last, oldest, finished, resources, notable, record) "+
			"VALUES (?, ?, ?, ?, ?, ?, ?, ?)", nil,
		env, first, last, nanos(oldest), nanos(latest), hashes, notable, record)
}

// shortHash returns a short hash of an id, for finding the actions of a resource.
func shortHash(id resource.ID) []byte {
	return binary.LittleEndian.AppendUint32(nil, sumOf([]byte(id)))
}

// Actions implements state.State. There may be very many actions, so rows in which all actions are
// older than the requested ones are not read.
func (h *Home) Actions(
	ctx context.Context, env string, q state.ActionQuery,
) ([]state.Action, error) {
	w := whereEnv(env)
	if q.Resource != "" {
		w.and("instr(resources, ?) > 0", shortHash(q.Resource)) // other resources may match too
	}
	if q.Notable {
		w.and("notable > 0")
	}
	if q.After != "" {
		w.and("last > +?", q.After)
	}
	if q.Before != "" {
		w.and("first < +?", q.Before)
	}
	if !q.Since.IsZero() {
		w.and("finished >= +?", nanos(q.Since))
	}
	if !q.Until.IsZero() {
		w.and("oldest < +?", nanos(q.Until))
	}
	if len(q.IDs) > 0 {
		w.and("last >= +?", slices.Min(q.IDs))
		w.and("first <= +?", slices.Max(q.IDs))
	}
	set := state.ActionSet{}
	err := h.read(ctx, "read actions", func(c *sqlite.Conn) error {
		return query(c, "SELECT last, record FROM actions"+w.sql+" ORDER BY last DESC", func(s *sqlite.Stmt) error {
			if set.Complete(q.Limit, s.ColumnText(0)) {
				return errEnough
			}
			actions, err := decodeActions(columnBytes(s, 1))
			for i := range actions {
				if q.Selects(&actions[i]) {
					set.Take(&actions[i])
				}
			}
			return err
		}, w.args...)
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return set.Newest(q.Limit), err
}

// errEnough ends a query early, when no further rows are needed.
var errEnough = errors.New("enough was read")

// DropActions implements state.State.
func (h *Home) DropActions(ctx context.Context, env string, before time.Time) (int, error) {
	n := 0
	err := h.write(ctx, "remove actions", func(c *sqlite.Conn) error {
		var keep [][]state.Action // the newer actions of rows that also hold older ones
		var err error
		if n, keep, err = takeActions(c, env, before); err != nil {
			return err
		}
		if err := query(c, "DELETE FROM parameter_changes WHERE env = ? AND at < ?", nil, env,
			nanos(before)); err != nil {
			return err
		}
		for _, actions := range keep {
			if err := putActions(c, env, actions); err != nil {
				return err
			}
		}
		if n == 0 {
			return nil
		}
		return feed(c, env, state.ChangedActions)
	})
	return n, err
}

// historyHint is the hint for damaged records that are only displayed.
const historyHint = "it is only a part of a history, on which nothing that is deployed depends; " +
	"if it is needed, restore the database from a copy"

// takeActions removes the rows that hold actions finished before a time. It returns the number of
// these actions, and the newer actions in the removed rows. A damaged row is removed if all actions
// in it are older than the time.
func takeActions(
	c *sqlite.Conn, env string, before time.Time,
) (n int, keep [][]state.Action, err error) {
	var gone []int64
	if err := query(c, "SELECT k, finished, record FROM actions WHERE env = ? AND oldest < ?",
		func(s *sqlite.Stmt) error {
			actions, err := decodeActions(columnBytes(s, 2))
			if err != nil && s.ColumnInt64(1) >= nanos(before) {
				return nil
			}
			left := slices.DeleteFunc(actions, func(a state.Action) bool {
				return a.Finished.Before(before)
			})
			n += len(actions) - len(left)
			if len(left) > 0 {
				keep = append(keep, left)
			}
			gone = append(gone, s.ColumnInt64(0))
			return nil
		}, env, nanos(before)); err != nil {
		return 0, nil, err
	}
	for _, k := range gone {
		if err := query(c, "DELETE FROM actions WHERE k = ?", nil, k); err != nil {
			return 0, nil, err
		}
	}
	return n, keep, nil
}
