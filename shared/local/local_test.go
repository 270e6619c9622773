package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/internal/simtest/deploytest"
	"southbound/shared/resource"
)

func open(t *testing.T, dir string) *Home {
	t.Helper()
	h, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	return h
}

// TestLease pins that one of two processes holds a lease, that fences grow, and that a stale
// holder's commit is refused.
func TestLease(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	a, b := open(t, dir), open(t, dir)
	now := time.Now()
	first, err := a.Acquire(ctx, "e", "l", a.Holder()+"#1", now, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Acquire(ctx, "e", "l", b.Holder()+"#1", now,
		now.Add(time.Minute)); !fault.Is(err, fault.Busy) {
		t.Fatalf("second holder: %v", err)
	}
	late := now.Add(2 * time.Minute)
	second, err := b.Acquire(ctx, "e", "l", b.Holder()+"#1", late, late.Add(time.Minute))
	if err != nil || second.Fence <= first.Fence {
		t.Fatalf("after expiry: %v, fence %d after %d", err, second.Fence, first.Fence)
	}
	row := state.Row{ID: "std::Null[a,name=x]", Intent: state.Intent{Agent: "l", Body: []byte("{}")}}
	if _, err := a.Commit(ctx, "e",
		state.Commit{Guard: state.Guard{Key: "l", Fence: first.Fence},
			Rows: []state.Row{row}}); !fault.Is(err, fault.Fenced) {
		t.Errorf("a stale holder's commit: %v", err)
	}
	if err := a.Release(ctx, "e", first); err != nil {
		t.Fatal(err)
	}
	if rows, _ := b.AgentRows(ctx, "e", "l", true); len(rows) != 0 {
		t.Error("the refused commit left a row")
	}
	if _, err := b.Commit(ctx, "e",
		state.Commit{Guard: state.Guard{Key: "l", Fence: second.Fence},
			Rows: []state.Row{row}}); err != nil {
		t.Errorf("the holder's commit after a stale release: %v", err)
	}
}

// TestDeadHolder pins that the lease of a process that has ended is free at once.
func TestDeadHolder(t *testing.T) {
	t.Parallel()
	ctx, dir := context.Background(), t.TempDir()
	a, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if _, err := a.Acquire(ctx, "e", "l", a.Holder()+"#1", now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	b := open(t, dir)
	if _, err := b.Acquire(ctx, "e", "l", b.Holder()+"#1", now, now.Add(time.Hour)); err != nil {
		t.Errorf("the lease of a closed home: %v", err)
	}
}

// TestCutOff pins that what a killed process was writing is removed, and what others write is not.
func TestCutOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a := open(t, dir)
	if err := a.Files().Put(context.Background(),
		[]state.Blob{{Hash: deploytest.HashOf([]byte("x")), Size: 1,
			Data: []byte("x")}}); err != nil {
		t.Fatal(err)
	}
	write := func(holder string) string {
		path := filepath.Join(dir, "files", newFiles, holder+"-1")
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lives, killed := write(a.Holder()), write("0123456789abcdef01234567")
	open(t, dir)
	if _, err := os.Stat(lives); err != nil {
		t.Errorf("what a process writes: %v", err)
	}
	if _, err := os.Stat(killed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a killed process was writing: %v", err)
	}
	if err := os.Remove(lives); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(lives)); err != nil || len(left) != 0 {
		t.Errorf("Put left %v, %v", left, err)
	}
}

// TestKey pins that there is one key for all processes, and that one which is damaged says what to
// do.
func TestKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret")
	if err := os.WriteFile(secret, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	version := func() (string, error) {
		_, v, err := open(t, data).Secrets().Resolve(context.Background(),
			resource.Secret{Source: "file:" + secret})
		return v, err
	}
	first, err := version()
	second, again := version()
	if err != nil || again != nil || first != second {
		t.Errorf("two processes: %q, %v; %q, %v", first, err, second, again)
	}
	if err := os.Truncate(filepath.Join(data, "key"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := version(); !fault.Is(err, fault.Damaged) || fault.HintOf(err) == "" {
		t.Errorf("a damaged key: %v", err)
	}
}

// openWithLane returns a new home in which the lane a/0 is held, and the lease of that.
func openWithLane(t *testing.T) (*Home, state.Guard) {
	t.Helper()
	h := open(t, t.TempDir())
	now := time.Now()
	l, err := h.Acquire(context.Background(), "e", "a", h.Holder(), now, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return h, state.Guard{Key: l.Key, Fence: l.Fence}
}

// TestCommit pins revisions, conflicts, refusals of Next, and that the whole row comes back.
func TestCommit(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	now := time.Now().UTC()
	h, g := openWithLane(t)
	row := state.Row{
		ID: `std::Null[a,name=x\,y]`,
		Intent: state.Intent{Agent: "a", Version: 3, Hash: "h", Body: []byte(`{"a":1}`), Removing: true,
			Generation: 7, Priority: 2, Missing: []string{"m"}},
		Outcome: state.Outcome{Ran: "r", NotBefore: now, Compliance: state.HasUpdate,
			LastRun: state.RunFailed, Blocked: state.BlockedTemp, Deployed: "d", LastAt: now, LastAction: "act",
			Reason: "why", Causes: []resource.ID{"x"}, Class: state.ClassTerminal,
			Attempts: 4, NextAt: now, Checked: 9, Waiting: []byte("w"), Creating: "tok",
			ChangedAt: now, SucceededAt: now, FactsRead: 1},
	}
	if _, err := h.Commit(ctx, "e",
		state.Commit{Guard: g, Rows: []state.Row{row}, Plan: true}); err != nil {
		t.Fatal(err)
	}
	row.Rev = 1
	got, err := h.Rows(ctx, "e", []resource.ID{row.ID, "std::Null[a,name=none]"})
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], row) {
		t.Fatalf("%v: got %+v\nwant %+v", err, got, row)
	}
	stale := row
	stale.Rev, stale.Reason = 5, "stale"
	fresh := state.Row{ID: "std::Null[a,name=z]", Intent: state.Intent{Agent: "a", Body: []byte("{}")}}
	out, err := h.Commit(ctx, "e",
		state.Commit{Guard: g, Rows: []state.Row{stale, fresh},
			Actions: []state.Action{{ID: "1", Resource: row.ID, Finished: now}},
			Next:    []resource.ID{row.ID}, SeenPlan: 1})
	if err != nil || len(out.Conflicts) != 1 || out.Conflicts[0].Reason != "why" || !out.Started {
		t.Fatalf("%v: %+v", err, out)
	}
	if acts, _ := h.Actions(ctx, "e", state.ActionQuery{Resource: row.ID}); len(acts) != 1 {
		t.Errorf("the action of a conflicting row: %v", acts)
	}
	if rows, _ := h.AgentRows(ctx, "e", "a", true); len(rows) != 2 {
		t.Errorf("%d rows, want the fresh one beside the other", len(rows))
	}
	if err := h.Pause(ctx, "e", true, "a"); err != nil {
		t.Fatal(err)
	}
	out, err = h.Commit(ctx, "e", state.Commit{Guard: g, Next: []resource.ID{row.ID}, SeenPlan: 2})
	if err != nil || out.Started || !out.Paused {
		t.Errorf("a start on a paused agent: %v, %+v", err, out)
	}
	if err := h.Pause(ctx, "e", false, "a"); err != nil {
		t.Fatal(err)
	}
	if out, _ = h.Commit(ctx, "e",
		state.Commit{Guard: g, Next: []resource.ID{row.ID}, SeenPlan: 2}); out.Started {
		t.Error("a start on an outdated schedule was accepted")
	}
	if _, err := h.Commit(ctx, "e",
		state.Commit{Guard: g, Rows: []state.Row{fresh},
			Env: &state.Env{Name: "e", Rev: 99}}); !fault.Is(err, fault.Conflict) {
		t.Errorf("an outdated environment: %v", err)
	}
}

// TestNoHash pins that what is not a hash never becomes a path.
func TestNoHash(t *testing.T) {
	t.Parallel()
	f := open(t, t.TempDir()).Files()
	for _, h := range []string{"", "a", "../../etc/passwd", strings.Repeat("A", 64),
		strings.Repeat("0", 63) + "/"} {
		if _, err := f.Get(context.Background(), []string{h}); !fault.Is(err, fault.Invalid) {
			t.Errorf("Get(%q): %v", h, err)
		}
	}
}

// TestForeign pins that what is not ours is left alone.
func TestForeign(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		make   func(dir string) error
		kind   fault.Kind
	}{
		"OtherFiles": {"a directory with somebody's files",
			func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "thesis.txt"),
					[]byte("x"), 0o600)
			}, fault.Foreign},
		"OtherProject": {"one with a file that has a name of ours, which anybody may use",
			func(dir string) error {
				return os.WriteFile(filepath.Join(dir, "project"), []byte("x"), 0o600)
			}, fault.Foreign},
		"OthersWrite": {"one in which others may write",
			func(dir string) error { return os.Chmod(dir, 0o777) }, fault.Denied},
		"Garbage": {"a database file that is none", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, dbName),
				[]byte("this is not a database, it is text that is long enough"), 0o600)
		}, fault.Damaged},
		"OtherTables": {"a database of another program", sqlFile("CREATE TABLE thesis (page)"),
			fault.Foreign},
		"OtherLog": {"one that another program was killed in the middle of", killedIn,
			fault.Foreign},
		"OtherProgram": {"an empty one that another program has marked",
			sqlFile("PRAGMA application_id=7"), fault.Foreign},
		"Newer": {"one of a newer version of this program",
			sqlFile("PRAGMA application_id=1935830628; PRAGMA user_version=999"), fault.Foreign},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			before := contents(t, dir)
			h, err := Open(dir)
			if !fault.Is(err, c.kind) {
				t.Errorf("%s: %v", c.reason, err)
			}
			if h != nil {
				_ = h.Close()
			}
			if after := contents(t, dir); !maps.Equal(after, before) {
				t.Errorf("%s: it was touched: %q, before %q", c.reason, after, before)
			}
		})
	}
}

// TestLostDatabase pins that a data directory that has lost its database is still taken for ours,
// whatever else we keep in it.
func TestLostDatabase(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	was := open(t, dir)
	if _, mine, err := was.Alone("e"); err != nil || !mine {
		t.Fatal(mine, err)
	}
	if err := was.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, dbName)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"key", "api-token", "project", "southbound.db-key-1"} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 32), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"files", "holders", "inputs"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// sqlFile makes a database by statements.
func sqlFile(statements string) func(dir string) error {
	return func(dir string) error {
		c, err := sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite,
			sqlite.OpenCreate)
		if err != nil {
			return err
		}
		return errors.Join(sqlitex.ExecuteScript(c, statements, nil), c.Close())
	}
}

// killedIn makes a database of another program with a write-ahead log that nobody has finished.
func killedIn(dir string) error {
	was := filepath.Join(dir, "was")
	if err := os.Mkdir(was, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(was)
	if err := sqlFile("CREATE TABLE thesis (page)")(was); err != nil {
		return err
	}
	c, err := sqlite.OpenConn(filepath.Join(was, dbName), sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer c.Close()
	for _, statement := range []string{"PRAGMA journal_mode=WAL", "INSERT INTO thesis VALUES (1)"} {
		if err := sqlitex.ExecuteTransient(c, statement, nil); err != nil {
			return err
		}
	}
	for _, name := range []string{dbName, dbName + "-wal"} {
		b, err := os.ReadFile(filepath.Join(was, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// contents returns what is in the files of a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out[e.Name()] = string(b)
	}
	return out
}

// TestOpenAtOnce pins that any number of processes may make a data directory at the same time.
func TestOpenAtOnce(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				h, err := Open(dir)
				if err != nil {
					t.Error(err)
					return
				}
				_ = h.Close()
			})
		}
		wg.Wait()
	}
}

// TestOtherLayout pins that a database with another layout is rejected with a hint, and not changed.
func TestOtherLayout(t *testing.T) {
	t.Parallel()
	for _, other := range []int64{1, layout - 1, layout + 1} {
		dir := t.TempDir()
		_ = must(Open(dir))(t).Close()
		conn := must(sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite))(t)
		if err := pragmas(conn, fmt.Sprintf("user_version=%d", other)); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir)
		if !fault.Is(err, fault.Foreign) ||
			!strings.Contains(err.Error(), fmt.Sprintf("layout %d", other)) ||
			!strings.Contains(fault.HintOf(err), "move the data directory away") {
			t.Errorf("layout %d: %v, %s", other, err, fault.HintOf(err))
		}
		if now := must(number(conn, "PRAGMA user_version"))(t); now != other {
			t.Errorf("layout %d was changed to %d", other, now)
		}
		_ = conn.Close()
	}
}

// TestCaller pins that a panic and a hang are errors.
func TestCaller(t *testing.T) {
	t.Parallel()
	if err := (Caller{}).Call(context.Background(), time.Minute, func(context.Context) {
		panic("boom")
	}); !fault.Is(err, fault.Internal) {
		t.Errorf("panic: %v", err)
	}
	hang := make(chan struct{})
	defer close(hang)
	if err := (Caller{}).Call(context.Background(), time.Millisecond, func(context.Context) {
		<-hang
	}); !fault.Is(err, fault.Timeout) {
		t.Errorf("hang: %v", err)
	}
}

// TestPrivate lets nobody else read what is stored, whatever the umask says, also where an earlier
// program did.
func TestPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	check := func() {
		t.Helper()
		h, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Halt(t.Context(), "e", true); err != nil {
			t.Fatal(err)
		}
		names, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(names) < 3 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check()
	if err := os.Chmod(filepath.Join(dir, dbName), 0o644); err != nil {
		t.Fatal(err)
	}
	check()
}

// TestUseAfterClose pins that whoever is still at work when the home is closed, such as a lane that
// has not ended in the time that is left to it, gets an error, and neither waits nor panics.
func TestUseAfterClose(t *testing.T) {
	t.Parallel()
	h := open(t, t.TempDir())
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if _, err := h.Acquire(t.Context(), "e", "a", "x", now, now.Add(time.Minute)); err == nil {
		t.Error("a closed home was written")
	}
	if _, err := h.Env(t.Context(), "e"); err == nil {
		t.Error("a closed home was read")
	}
}

// TestCloseWhileOthersWrite pins that who ends does not wait for others to be done with writing.
func TestCloseWhileOthersWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := open(t, dir)
	other := must(sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite))(t)
	defer other.Close()
	if err := query(other, "BEGIN IMMEDIATE", nil); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
}
