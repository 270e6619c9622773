package version

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// stored are files in memory.
type stored map[string][]byte

func (s stored) Missing(context.Context, []string) ([]string, error) { return nil, nil }
func (s stored) Put(_ context.Context, blobs []state.Blob) error {
	for _, b := range blobs {
		s[b.Hash] = b.Data
	}
	return nil
}
func (s stored) Get(_ context.Context, hashes []string) ([][]byte, error) {
	out := make([][]byte, len(hashes))
	for i, h := range hashes {
		if out[i] = s[h]; out[i] == nil {
			return nil, fault.New(fault.NotFound, "read file", "there is none")
		}
	}
	return out, nil
}
func (s stored) Open(context.Context, string) (io.ReadCloser, error)       { return nil, nil }
func (s stored) List(context.Context, func(string, time.Time) error) error { return nil }
func (s stored) Delete(context.Context, []string) error                    { return nil }

func at(file string, line, column int) diag.Pos {
	return diag.Pos{File: file, Line: line, Column: column}
}

// TestPlacesText pins that places are read as they were written, within their bounds.
func TestPlacesText(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ü", 600)
	for _, c := range []struct {
		why      string
		put, got Places
	}{
		{"none", Places{}, Places{}},
		{"some", Places{"a[x,n=1]": at("b.yaml", 3, 5), "a[x,n=2]": at("a.yaml", 1, 1)},
			Places{"a[x,n=1]": at("b.yaml", 3, 5), "a[x,n=2]": at("a.yaml", 1, 1)}},
		{"a line below 0", Places{"a": at("f", -1, 0)}, Places{"a": at("f", 0, 0)}},
		{"a very large line", Places{"a": at("f", 1<<40, 2)}, Places{"a": at("f", maxPlace, 2)}},
		{"a long name", Places{"a": at(long, 1, 1)}, Places{"a": at(long[:1000], 1, 1)}},
		{"a name that is not UTF-8", Places{"a": at("f\xffg", 1, 1)}, Places{"a": at("fg", 1, 1)}},
	} {
		got, err := ParsePlaces(PlacesText(c.put))
		if err != nil || !cmp.Equal(got, c.got) {
			t.Errorf("%s: %v %s", c.why, err, cmp.Diff(c.got, got))
		}
	}
	for _, text := range []string{"", "\x02", "\x01\x00\x01", "\x01\x00\xff\xff\xff\xff\x0f", "\x01\x00\x00\x00\x00x"} {
		if _, err := ParsePlaces([]byte(text)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzParsePlaces wants no text to fail otherwise than as Invalid, and a text that is read to be
// written and read again as it is.
func FuzzParsePlaces(f *testing.F) {
	f.Add(PlacesText(Places{"a[x,n=1]": at("b.yaml", 3, 5), "a[x,n=2]": at("a.yaml", 1, 1)}))
	f.Add(placesText(&PlacesEdit{Gone: map[resource.ID]bool{"a": true}, Moved: map[string]bool{"f": true}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parsePlaces(text)
		if err != nil {
			if !fault.Is(err, fault.Invalid) {
				t.Fatal(err)
			}
			return
		}
		again, err := parsePlaces(placesText(e))
		if err != nil || !cmp.Equal(again, e) {
			t.Fatal(err, cmp.Diff(e, again))
		}
	})
}

// TestEditedPlaces pins that a series of edits gives the places that each alone gives, whether they
// are stored as edits or as a whole, and that few files are written.
func TestEditedPlaces(t *testing.T) {
	t.Parallel()
	ctx, files := t.Context(), stored{}
	v := &state.Version{}
	want := Places{}
	for i := range 5000 {
		want[resource.ID(fmt.Sprintf("r%04d", i))] = at(fmt.Sprintf("f%d", i%3), i+1, 1)
	}
	for _, b := range StoredPlaces(want) {
		_ = files.Put(ctx, []state.Blob{b})
		v.Places = append(v.Places, b.Hash)
	}
	base := v.Places[0]
	check := func(why string, count int) {
		t.Helper()
		got, err := NewPlacesCache(files).Get(ctx, v)
		if err != nil || !cmp.Equal(got, want) {
			t.Fatalf("%s: %v %s", why, err, cmp.Diff(want, got))
		}
		if len(v.Places) != count {
			t.Errorf("%s: %d files", why, len(v.Places))
		}
	}
	edit := func(e *PlacesEdit) {
		t.Helper()
		want = e.Apply(want)
		hashes, blobs, err := EditedPlaces(ctx, files, v, e)
		if err != nil || len(blobs) > 1 {
			t.Fatal(len(blobs), err)
		}
		_ = files.Put(ctx, blobs)
		v = &state.Version{Places: hashes}
	}
	check("the base", 1)
	edit(&PlacesEdit{})
	check("no change", 1)
	edit(&PlacesEdit{Put: Places{"r0000": at("g", 7, 7), "new": at("f1", 9, 9)}})
	check("a few", 2)
	edit(&PlacesEdit{Gone: map[resource.ID]bool{"r0001": true, "new": true}})
	check("some left", 2)
	edit(&PlacesEdit{Put: Places{"r0003": at("f0", 1, 1), "r0001": at("f1", 2, 2)},
		Moved: map[string]bool{"f0": true}})
	check("lines moved, and one came back", 2)
	if want["r0006"] != at("f0", 0, 0) || want["r0003"] != at("f0", 1, 1) || want["r0004"].Line == 0 {
		t.Error(want["r0006"], want["r0003"], want["r0004"])
	}
	if v.Places[0] != base {
		t.Error("the base was written again")
	}
	many := &PlacesEdit{Put: Places{}}
	for i := range 3000 {
		many.Put[resource.ID(fmt.Sprintf("r%04d", i))] = at("h", i+1, 2)
	}
	edit(many)
	check("many, which are folded", 1)
	clear(files)
	if got, err := NewPlacesCache(files).Get(ctx, v); got != nil || err != nil {
		t.Error("a missing file gives", got, err)
	}
}

// TestPlacesOf pins where the places of a model come from.
func TestPlacesOf(t *testing.T) {
	t.Parallel()
	m := &model.Model{Resources: []resource.Resource{{ID: "a"}, {ID: "b"}}}
	if got := PlacesOf(m); got != nil {
		t.Error("not known:", got)
	}
	m.Where = func(i int, _ string) diag.Pos {
		if i == 1 {
			return diag.Pos{}
		}
		return at("f", 4, 2)
	}
	if got := PlacesOf(m); !maps.Equal(got, Places{"a": at("f", 4, 2)}) {
		t.Error("of the documents:", got)
	}
	m.Places = map[resource.ID]diag.Pos{}
	if got := PlacesOf(m); len(got) > 0 {
		t.Error("of the client:", got)
	}
}
