package version_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// blobs are files in memory.
type blobs struct {
	state.Files
	by map[string][]byte
}

func (b blobs) Get(_ context.Context, hashes []string) ([][]byte, error) {
	var out [][]byte
	for _, h := range hashes {
		out = append(out, b.by[h])
	}
	return out, nil
}

// TestListing pins that a listing has the id and the set of each resource in order, whatever the
// number of chunks, and that resources are found by their ids.
func TestListing(t *testing.T) {
	for _, n := range []int{0, 1, 700} {
		files, v := stored(t, n, 8)
		lists := version.NewListings(files)
		list, err := lists.Get(t.Context(), &v)
		if err != nil || len(list.IDs) != n || !slices.IsSorted(list.IDs) {
			t.Fatalf("%d resources: %d are listed, %v", n, len(list.IDs), err)
		}
		again, err := lists.Get(t.Context(), &v)
		if err != nil || again != list {
			t.Errorf("the listing is read again: %v", err)
		}
		var ids []resource.ID
		for i := len(list.IDs) - 1; i >= 0; i -= 10 {
			ids = append(ids, list.IDs[i])
		}
		found, err := version.ReadResources(t.Context(), files, v.Chunks, ids)
		if err != nil {
			t.Fatal(err)
		}
		for i := range found {
			at, _ := slices.BinarySearch(list.IDs, ids[i])
			if found[i].ID != ids[i] || found[i].Set != list.Set(at) {
				t.Errorf("%s in %q is listed as %s in %q", found[i].ID, found[i].Set, ids[i], list.Set(at))
			}
		}
		_, err = version.ReadResources(t.Context(), files, v.Chunks, append(ids, "t::T[a,n=none]"))
		if !fault.Is(err, fault.NotFound) {
			t.Errorf("a resource that is not there: %v", err)
		}
	}
}

// stored returns the version of n resources of a few sets, in chunks of a size.
func stored(t testing.TB, n, size int) (state.Files, state.Version) {
	t.Helper()
	var resources []resource.Resource
	for i := range n {
		id := resource.NewID("t::T", fmt.Sprint("a", i%7), resource.Key{Name: "n", Value: fmt.Sprintf("%d \"x\"", i)})
		resources = append(resources, resource.Resource{ID: id, Type: "t::T", Agent: id.Agent(),
			Set: []string{"", "site", `s"1`}[i%3], Attributes: map[string]any{"n": fmt.Sprintf("%d \"x\"", i),
				"id": "y", "text": fmt.Sprintf("%0200d", i)}, Flags: resource.Flags{ReceiveEvents: true}})
	}
	slices.SortFunc(resources, func(a, b resource.Resource) int { return cmp.Compare(a.ID, b.ID) })
	entries, err := version.NewEntries(resources, map[string]resource.Agent{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	chunks, _ := version.Chunks(entries, size)
	files, v := blobs{by: map[string][]byte{}}, state.Version{Number: 1, Resources: n}
	for _, c := range chunks {
		files.by[c.Hash] = c.Data
		v.Chunks = append(v.Chunks, c.Hash)
	}
	return files, v
}

// timed is a benchmark of f, and reports the CPU time of the process, too.
func timed(b *testing.B, f func()) {
	spent := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	began := spent()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64((spent()-began).Microseconds())/1000/float64(b.N), "cpu-ms")
}

// BenchmarkListing reads a page of 50 of 100,000 resources of a version: without the listing, with
// it, and by reading the version.
func BenchmarkListing(b *testing.B) {
	files, v := stored(b, 100_000, 256)
	page := func(l *version.Listing) {
		if _, err := version.ReadResources(b.Context(), files, v.Chunks, l.IDs[500:550]); err != nil {
			b.Fatal(err)
		}
	}
	lists := version.NewListings(files)
	list, err := lists.Get(b.Context(), &v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("first page", func(b *testing.B) {
		timed(b, func() {
			l, err := version.NewListings(files).Get(b.Context(), &v)
			if err != nil {
				b.Fatal(err)
			}
			page(l)
		})
	})
	b.Run("next page", func(b *testing.B) {
		timed(b, func() { page(list) })
	})
	b.Run("whole version", func(b *testing.B) {
		timed(b, func() {
			all, err := version.ReadChunks(b.Context(), files, v.Chunks)
			if err != nil {
				b.Fatal(err)
			}
			for id := range all {
				if _, err := resource.Decode(all[id].Body); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
}
