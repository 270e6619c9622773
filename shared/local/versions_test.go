package local

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestVersionsKnown pins that a version is the same each time it is read, whatever is done to what
// was read before, and that one that is not stored any more is not there.
func TestVersionsKnown(t *testing.T) {
	t.Parallel()
	h, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	v := state.Version{Number: 1, At: time.Unix(1, 0).UTC(), Digest: "d", Chunks: []string{"c"},
		Sets: []string{"a", "b"}, Files: []string{"f"},
		Agents: []resource.Agent{{Name: "here", Lanes: 2, Options: map[string]any{"k": "v"}}}}
	if err := h.write(t.Context(), "write", func(c *sqlite.Conn) error {
		return put(c, h, v)
	}); err != nil {
		t.Fatal(err)
	}
	read := func() []state.Version {
		t.Helper()
		out, err := h.Versions(t.Context(), "e", 1, 2)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for range 3 {
		got := read()
		if len(got) != 1 || !reflect.DeepEqual(got[0], v) {
			t.Fatalf("read %+v\nwant %+v", got, v)
		}
		got[0].Chunks[0], got[0].Files[0] = "", ""
		got[0].Agents[0].Name, got[0].Agents[0].Options["k"] = "", ""
	}
	checkWritten(t, h, v)
	if err := h.write(t.Context(), "write", func(c *sqlite.Conn) error {
		return query(c, "DELETE FROM versions", nil)
	}); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got) != 0 {
		t.Errorf("a version that is forgotten is read as %+v", got)
	}
}

// put stores a version.
func put(c *sqlite.Conn, h *Home, v state.Version) error {
	return (&tx{c: c, env: "e", versions: &h.versions}).version(v)
}

// TestSetsOfVersions pins that each version has its sets, whoever wrote the one before, and that
// those that no version has any more are forgotten.
func TestSetsOfVersions(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var homes [2]*Home
	for i := range homes {
		var err error
		if homes[i], err = Open(dir); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = homes[i].Close() })
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	want := map[int][]string{}
	for n := 1; n <= 40; n++ {
		var sets []string
		for s := range 12 {
			if rnd.IntN(4) > 0 {
				sets = append(sets, fmt.Sprintf("s%02d", s))
			}
		}
		h, v := homes[rnd.IntN(2)], state.Version{Number: n, Sets: sets}
		err := h.write(t.Context(), "write", func(c *sqlite.Conn) error { return put(c, h, v) })
		if err != nil {
			t.Fatal(err)
		}
		if want[n] = sets; rnd.IntN(2) == 0 {
			h.versions.written(versionKey{"e", n}, v)
		}
	}
	checkSets(t, dir, want)
	err := homes[0].write(t.Context(), "write", func(c *sqlite.Conn) error {
		if err := query(c, "DELETE FROM versions WHERE number < 40", nil); err != nil {
			return err
		}
		return forgetSets(c, "e")
	})
	if err != nil {
		t.Fatal(err)
	}
	checkSets(t, dir, map[int][]string{40: want[40]})
	rows := 0
	if err := homes[0].read(t.Context(), "read", func(c *sqlite.Conn) error {
		return query(c, "SELECT 1 FROM version_sets", func(*sqlite.Stmt) error {
			rows++
			return nil
		})
	}); err != nil || rows != len(want[40]) {
		t.Errorf("%d sets are stored, %v; %d are wanted", rows, err, len(want[40]))
	}
}

// checkSets holds what sets versions have to one who wrote none of them.
func checkSets(t *testing.T, dir string, want map[int][]string) {
	t.Helper()
	h, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	all, err := h.Versions(t.Context(), "e")
	if err != nil || len(all) != len(want) {
		t.Fatalf("%d versions, %v, and not %d", len(all), err, len(want))
	}
	for _, v := range all {
		one, err := h.Versions(t.Context(), "e", v.Number)
		if err != nil || !slices.Equal(v.Sets, want[v.Number]) ||
			!slices.Equal(one[0].Sets, v.Sets) {
			t.Errorf("version %d has %q and %q, %v, and not %q", v.Number, v.Sets, one[0].Sets, err,
				want[v.Number])
		}
	}
}

// checkWritten pins that a version is the same to the process that wrote it and to others.
func checkWritten(t *testing.T, h *Home, v state.Version) {
	t.Helper()
	other, err := Open(h.Dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close() })
	for i, sets := range [][]string{nil, {}, {"a", "\u00e4<&>"}, {"\xff"}} {
		v.Number, v.At, v.Sets = 10+i, time.Now(), sets
		err := h.write(t.Context(), "write", func(c *sqlite.Conn) error { return put(c, h, v) })
		if err != nil {
			t.Fatal(err)
		}
		h.versions.written(versionKey{"e", v.Number}, v)
		own, err := h.Versions(t.Context(), "e", v.Number)
		read, otherErr := other.Versions(t.Context(), "e", v.Number)
		if err != nil || otherErr != nil || !reflect.DeepEqual(own, read) {
			t.Errorf("%q: %v, %v\nit has written %+v\nothers read %+v", sets, err, otherErr, own,
				read)
		}
	}
}
