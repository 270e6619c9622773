package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/resource"
)

// benchRow is a row as a planner writes it first, with a body of 300 bytes.
func benchRow(n int) state.Row {
	id := resource.NewID("fs::File", "web1",
		resource.Key{Name: "path", Value: fmt.Sprintf("/srv/site/pages/page-%06d.html", n)})
	body := fmt.Appendf(nil, `{"id":%q,"attributes":{"content":"`, id)
	for len(body) < 270 {
		body = append(body, "page content "...)
	}
	body = append(body, `","mode":"0644"},"managed":true}`...)
	return state.Row{
		ID: id,
		Intent: state.Intent{Agent: "web1", Version: 1, Hash: fmt.Sprintf("%064x", n), Body: body,
			Generation: int64(n + 1), Priority: state.PriorityNewVersion},
		Outcome: state.Outcome{Compliance: state.HasUpdate, LastRun: state.RunNew,
			Blocked: state.NotBlocked},
	}
}

func benchRows(n int) []state.Row {
	rows := make([]state.Row, n)
	for i := range rows {
		rows[i] = benchRow(i)
	}
	return rows
}

// benchHome has n rows, all scheduled, and a lease on their lane.
func benchHome(b *testing.B, n int) (*Home, state.Guard, []state.Row) {
	b.Helper()
	h, err := Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close() })
	l, err := h.Acquire(context.Background(), "e", "web1", h.Holder(), time.Now(),
		time.Now().Add(time.Hour))
	if err != nil {
		b.Fatal(err)
	}
	g, rows := state.Guard{Key: l.Key, Fence: l.Fence}, benchRows(n)
	if _, err := h.Commit(context.Background(), "e",
		state.Commit{Guard: g, Rows: rows, Plan: true}); err != nil {
		b.Fatal(err)
	}
	for i := range rows {
		rows[i].Rev = 1
	}
	return h, g, rows
}

// benchDone makes the result of a run, and its action.
func benchDone(h *Home, r state.Row) (state.Row, state.Action) {
	now := time.Now().UTC()
	a := state.Action{ID: h.NewID(), Resource: r.ID, Version: 1, Action: state.ActionDeploy,
		Outcome: state.StatusDeployed, Change: diff.Created,
		Started: now, Finished: now, Changes: map[string]diff.Diff{
			"content": {Current: nil, Desired: "page content"}}, Pack: "0123456789abcdef"}
	r.Observed, r.Deployed, r.Compliance, r.LastRun = r.Generation, r.Hash, state.Compliant,
		state.RunSuccess
	r.Ran, r.LastAt, r.SucceededAt, r.LastAction = r.Hash, now, now, a.ID
	return r, a
}

func BenchmarkOpen(b *testing.B) {
	h, _, _ := benchHome(b, 10000)
	for b.Loop() {
		again, err := Open(h.Dir)
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		_ = again.Close()
		b.StartTimer()
	}
}

func BenchmarkOpenCloseNew(b *testing.B) {
	dir := b.TempDir()
	for n := 0; b.Loop(); n++ {
		h, err := Open(filepath.Join(dir, fmt.Sprint(n)))
		if err != nil {
			b.Fatal(err)
		}
		_ = h.Close()
	}
}

func BenchmarkInsert10000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		h, g, _ := benchHome(b, 0)
		rows := benchRows(10000)
		b.StartTimer()
		if _, err := h.Commit(context.Background(), "e",
			state.Commit{Guard: g, Rows: rows, Plan: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCommit500(b *testing.B) {
	h, g, rows := benchHome(b, 10000)
	for n := 0; b.Loop(); n++ {
		b.StopTimer()
		part := rows[n%20*500:][:500]
		c := state.Commit{Guard: g, Until: time.Now().Add(time.Minute)}
		for i := range part {
			r, a := benchDone(h, part[i])
			part[i].Rev++
			c.Rows, c.Actions = append(c.Rows, r), append(c.Actions, a)
		}
		b.StartTimer()
		out, err := h.Commit(context.Background(), "e", c)
		if err != nil || len(out.Conflicts) > 0 {
			b.Fatal(err, len(out.Conflicts))
		}
	}
}

func BenchmarkClaim500(b *testing.B) {
	h, g, rows := benchHome(b, 10000)
	c := state.Commit{Guard: g, SeenPlan: 1}
	for i := range 500 {
		c.Next = append(c.Next, rows[i].ID)
	}
	for b.Loop() {
		if out, err := h.Commit(context.Background(), "e", c); err != nil || !out.Started {
			b.Fatal(err, out)
		}
	}
}

func BenchmarkChecked500(b *testing.B) {
	h, g, rows := benchHome(b, 10000)
	for b.Loop() {
		b.StopTimer()
		c := state.Commit{Guard: g, Epoch: 1}
		for i := range 500 {
			_, a := benchDone(h, rows[i])
			a.Change, a.Changes = diff.NoChange, nil
			c.Checked, c.Actions = append(c.Checked, rows[i].ID), append(c.Actions, a)
		}
		b.StartTimer()
		if _, err := h.Commit(context.Background(), "e", c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReads10000(b *testing.B) {
	ctx := context.Background()
	h, _, rows := benchHome(b, 10000)
	ids := make([]resource.ID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	for _, c := range []struct {
		name string
		f    func() (int, error)
		want int
	}{
		{"LaneRows",
			func() (int, error) {
				r, err := h.AgentRows(ctx, "e", "web1", true)
				return len(r),
					err
			}, 10000},
		{"Rows", func() (int, error) { r, err := h.Rows(ctx, "e", ids); return len(r), err },
			10000},
		{"ScanRows",
			func() (int, error) { r, err := h.ScanRows(ctx, "e", "", 10000); return len(r), err },
			10000},
		{"Schedule",
			func() (int, error) { s, err := h.Schedule(ctx, "e"); return len(s.Tickets), err },
			10000},
		{"Counts", func() (int, error) { n, err := h.Counts(ctx, "e"); return len(n), err }, 1},
		{"Env", func() (int, error) { _, err := h.Env(ctx, "e"); return 0, err }, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if n, err := c.f(); err != nil || n != c.want {
					b.Fatal(n, err)
				}
			}
		})
	}
}

func BenchmarkActions(b *testing.B) {
	ctx := context.Background()
	h, g, rows := benchHome(b, 10000)
	for n := range 200 {
		c := state.Commit{Guard: g}
		for i := range 500 {
			_, a := benchDone(h, rows[(n*500+i)%len(rows)])
			c.Actions = append(c.Actions, a)
		}
		if _, err := h.Commit(ctx, "e", c); err != nil {
			b.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		q    state.ActionQuery
		want int
	}{
		{"Newest20", state.ActionQuery{Limit: 20}, 20},
		{"OfResource", state.ActionQuery{Resource: rows[77].ID}, 10},
		{"LastOfResource", state.ActionQuery{Resource: rows[77].ID, Limit: 1}, 1},
		{"FailedAmong100000", state.ActionQuery{Outcome: state.StatusFailed}, 0},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				if got, err := h.Actions(ctx, "e", c.q); err != nil || len(got) != c.want {
					b.Fatal(len(got), err)
				}
			}
		})
	}
}

func BenchmarkCaller(b *testing.B) {
	n := 0
	for b.Loop() {
		if err := (Caller{}).Call(context.Background(), time.Minute, func(context.Context) {
			n++
		}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPut40Chunks(b *testing.B) {
	h, _, _ := benchHome(b, 0)
	n := 0
	for b.Loop() {
		var blobs []state.Blob
		for range 40 {
			n++
			data := append(fmt.Appendf(nil, "%d", n), make([]byte, 12000)...)
			blobs = append(blobs, state.Blob{Hash: hashOf(data), Size: int64(len(data)),
				Data: data})
		}
		if err := h.Files().Put(context.Background(), blobs); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkGet40Chunks(b *testing.B) {
	h, _, _ := benchHome(b, 0)
	var hashes []string
	var blobs []state.Blob
	for n := range 40 {
		data := append(fmt.Appendf(nil, "%d", n), make([]byte, 12000)...)
		blobs = append(blobs, state.Blob{Hash: hashOf(data), Size: int64(len(data)), Data: data})
		hashes = append(hashes, hashOf(data))
	}
	if err := h.Files().Put(context.Background(), blobs); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := h.Files().Get(context.Background(), hashes); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFsync is the floor under every commit: one page appended to a file and synced.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	page := make([]byte, 4096)
	for b.Loop() {
		if _, err := f.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}

func hashOf(b []byte) string { return deploytest.HashOf(b) }
