package local

import (
	"reflect"
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
	if err := h.write(t.Context(), "write", func(c *sqlite.Conn) error { return putVersion(c, "e", &v) }); err != nil {
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
		got[0].Chunks[0], got[0].Sets[0], got[0].Files[0] = "", "", ""
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
		err := h.write(t.Context(), "write", func(c *sqlite.Conn) error { return putVersion(c, "e", &v) })
		if err != nil {
			t.Fatal(err)
		}
		h.versions.written(versionKey{"e", v.Number}, v)
		own, err := h.Versions(t.Context(), "e", v.Number)
		read, otherErr := other.Versions(t.Context(), "e", v.Number)
		if err != nil || otherErr != nil || !reflect.DeepEqual(own, read) {
			t.Errorf("%q: %v, %v\nit has written %+v\nothers read %+v", sets, err, otherErr, own, read)
		}
	}
}
