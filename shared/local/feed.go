package local

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

const (
	// feedKept is how many entries of the feed an environment keeps.
	feedKept = 1000
	// feedPoll is how often a waiting call looks for writes of other processes.
	feedPoll = time.Second
	// anyResource is the kind of an entry without ids: any resource may have changed.
	anyResource state.ChangeKind = 1 << 32
)

var _ state.Feed = (*Home)(nil)

// writtenSignal wakes calls that wait for a write of this process.
type writtenSignal struct {
	mu   sync.Mutex
	next chan struct{} // closed by the next write; nil: no call waits
}

// wait returns a channel that the next write closes.
func (w *writtenSignal) wait() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next == nil {
		w.next = make(chan struct{})
	}
	return w.next
}

// written wakes all waiting calls.
func (w *writtenSignal) written() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.next != nil {
		close(w.next)
		w.next = nil
	}
}

// feed adds an entry to the feed of an environment. An entry without kinds and ids is not added.
func feed(c *sqlite.Conn, env string, kinds state.ChangeKind, ids ...resource.ID) error {
	if len(ids) > state.MaxChanged {
		kinds, ids = kinds|anyResource, nil
	}
	if kinds == 0 && len(ids) == 0 {
		return nil
	}
	n, err := one(c, "INSERT INTO changes (env, n, kinds, ids) SELECT ?1, coalesce(max(n), 0) + 1, "+
		"?2, ?3 FROM changes WHERE env = +?1 RETURNING n", integer, env, int64(kinds), joinIDs(ids))
	if err != nil {
		return err
	}
	return query(c, "DELETE FROM changes WHERE env = +? AND n <= +?", nil, env, n-feedKept)
}

// feed adds the entry of a commit.
func (t *tx) feed() error {
	in, kinds := t.in, t.changes.Kinds
	for _, k := range []struct {
		kinds state.ChangeKind
		is    bool
	}{
		{anyResource, t.changes.More},
		{state.ChangedVersions, in.Version != nil || len(in.Forget) > 0},
		{state.ChangedAgents, len(in.Agents)+len(in.DropAgents) > 0},
		{state.ChangedParameters, len(in.Parameters)+len(in.DropParameters) > 0},
		{state.ChangedActions, len(in.Actions) > 0},
	} {
		if k.is {
			kinds |= k.kinds
		}
	}
	started := in.Next
	if !t.out.Started {
		started = nil
	}
	if len(in.Rows) > state.MaxChanged || len(in.Checked)+len(started) > 2*state.MaxChanged {
		return feed(t.c, t.env, kinds|anyResource)
	}
	ids := make([]resource.ID, 0, len(in.Rows)+len(in.Checked)+len(started))
	for i := range in.Rows {
		ids = append(ids, in.Rows[i].ID)
	}
	ids = append(append(ids, in.Checked...), started...)
	slices.Sort(ids)
	return feed(t.c, t.env, kinds, slices.Compact(ids)...)
}

// feedRunning adds an entry for resources that no longer run.
func feedRunning(c *sqlite.Conn, env string, runs running) error {
	ids, err := splitIDs(runs)
	if err != nil {
		return err
	}
	return feed(c, env, 0, ids...)
}

// Changes implements state.Feed. Writes of this process wake a waiting call; it looks for writes of
// other processes once a second.
func (h *Home) Changes(
	ctx context.Context, env, after string, wait time.Duration,
) (state.Changes, error) {
	until := time.NewTimer(wait)
	defer until.Stop()
	poll := time.NewTicker(feedPoll)
	defer poll.Stop()
	for {
		written := h.writtenSignal.wait()
		out, err := h.changes(ctx, env, after)
		if err != nil || out.Token != after || wait <= 0 {
			return out, err
		}
		select {
		case <-written:
		case <-poll.C:
		case <-until.C:
			return out, nil
		case <-h.closing:
			return out, nil
		case <-ctx.Done():
			return out, fault.Ended(ctx)
		}
	}
}

// changes reads the entries of the feed after a token.
func (h *Home) changes(ctx context.Context, env, after string) (out state.Changes, err error) {
	since, notNumber := strconv.ParseInt(after, 10, 64)
	known := notNumber == nil && strconv.FormatInt(since, 10) == after && since >= 0
	last, entries := int64(0), int64(0)
	var ids []resource.ID
	err = h.read(ctx, "read changes", func(c *sqlite.Conn) (err error) {
		last, err = one(c, "SELECT max(n) FROM changes WHERE env = +?", integer, env)
		if err != nil || !known || last-since > feedKept {
			return err
		}
		return query(c, "SELECT kinds, ids FROM changes WHERE env = +? AND n > +?",
			func(s *sqlite.Stmt) error {
				entries++
				out.Kinds |= state.ChangeKind(s.ColumnInt64(0))
				more, err := splitIDs(columnBytes(s, 1))
				ids = append(ids, more...)
				return err
			}, env, since)
	})
	token := strconv.FormatInt(last, 10)
	if err != nil || !known || last-since != entries {
		return state.Everything(token), err
	}
	out.Token, out.More = token, out.Kinds.Has(anyResource)
	out.Kinds &^= anyResource
	if !out.More {
		out.SetResources(ids)
	}
	return out, nil
}
