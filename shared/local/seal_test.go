package local

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestSealFindsFlips flips each bit of a stored record, and of what it is found by: it is read as it
// was, or not at all.
func TestSealFindsFlips(t *testing.T) {
	t.Parallel()
	want := resource.Agent{Name: "web1", Transport: "ssh", Lanes: 1,
		Options: map[string]any{"host": "10.0.0.1", "port": int64(22)}}
	text := sealed(&want, "agents", "e", "web1")
	read := func(stored, env, name string) {
		t.Helper()
		var got resource.Agent
		if err := unseal(stored, &got, "agents", env, name); err == nil {
			if !reflect.DeepEqual(got, want) || env != "e" || name != "web1" {
				t.Errorf("%q of %s, %s is read as %+v", stored, env, name, got)
			}
		} else if !fault.Is(err, fault.Damaged) {
			t.Errorf("%q: %v", stored, err)
		}
	}
	flips := func(s string, each func(s string)) {
		for i := range 8 * len(s) {
			b := []byte(s)
			b[i/8] ^= 1 << (i % 8)
			each(string(b))
		}
	}
	read(text, "e", "web1")
	flips(text, func(s string) { read(s, "e", "web1") })
	flips("e", func(s string) { read(text, s, "web1") })
	flips("web1", func(s string) { read(text, "e", s) })
	var got resource.Agent
	err := unseal(toJSON(&want), &got, "agents", "e", "web1")
	if !fault.Is(err, fault.Damaged) {
		t.Errorf("a record without a seal: %+v, %v", got, err)
	}
}

// TestChangedRecordsAreDamaged changes a value in a record of each table, as a flipped bit may: what
// reads it says so, and takes nothing else for it.
func TestChangedRecordsAreDamaged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for table, read := range map[string]func(h *Home) error{
		"envs":     func(h *Home) error { _, err := h.Env(ctx, "e"); return err },
		"versions": func(h *Home) error { _, err := h.Versions(ctx, "e", 1); return err },
		"agents":   func(h *Home) error { _, err := h.Agents(ctx, "e", "xxxx"); return err },
		"outbox":   func(h *Home) error { _, err := h.Outbox(ctx, "e", 10); return err },
		"parameters": func(h *Home) error {
			_, err := h.Parameters(ctx, "e", state.ParameterQuery{})
			return err
		},
	} {
		dir := t.TempDir()
		h := must(Open(dir))(t)
		now := time.Now()
		l := must(h.Acquire(ctx, "e", state.PlanKey, h.Holder(), now, now.Add(time.Minute)))(t)
		c := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence},
			Env:     &state.Env{Name: "e", Last: 1, Graph: "xxxx"},
			Version: &state.Version{Number: 1, Digest: "xxxx"},
			Agents: []resource.Agent{{Name: "xxxx", Transport: "ssh", Lanes: 1,
				Options: map[string]any{"host": "xxxx"}}},
			Parameters: []state.Parameter{{Name: "xxxx", Value: "xxxx"}},
			AddOutbox:  []state.Outbox{{ID: "xxxx", Kind: state.OutboxFact, Of: "t::T[a,name=xxxx]"}}}
		must(h.Commit(ctx, "e", c))(t)
		if err := read(h); err != nil {
			t.Errorf("%s: %v", table, err)
		}
		_ = h.Close()
		conn := must(sqlite.OpenConn(filepath.Join(dir, dbName), sqlite.OpenReadWrite))(t)
		if err := query(conn, "UPDATE "+table+" SET record = replace(record, 'xxxx', 'xxxy')",
			nil); err != nil || conn.Changes() != 1 {
			t.Fatal(table, err)
		}
		_ = conn.Close()
		h = must(Open(dir))(t)
		if err := read(h); !fault.Is(err, fault.Damaged) {
			t.Errorf("%s: %v", table, err)
		}
		_ = h.Close()
	}
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
