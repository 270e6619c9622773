package fs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

const (
	benchFiles = 10_000
	benchBatch = 256 // as many as the engine hands over at a time, about
)

// scratch is where benchmarks write. It is removed at the end of the process: file systems are slow
// to create where much was just removed.
var scratch string

func TestMain(m *testing.M) {
	if crashChild() {
		return
	}
	code := m.Run()
	if scratch != "" {
		_ = os.RemoveAll(scratch)
	}
	os.Exit(code)
}

func freshDir(tb testing.TB) string {
	tb.Helper()
	var err error
	if scratch == "" {
		if scratch, err = os.MkdirTemp("", "southbound-bench-"); err != nil {
			tb.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp(scratch, "")
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

func benchContent(i int) string {
	return fmt.Sprintf("resource %08d %s\n", i, bytes.Repeat([]byte{'x'}, 97))
}

func benchResources(dir string) []provider.Resource {
	out := make([]provider.Resource, benchFiles)
	for i := range out {
		out[i] = provider.Resource{Type: "fs::File",
			Attributes: map[string]any{"path": filepath.Join(dir, "file"+strconv.Itoa(i)),
				"content": benchContent(i)}}
	}
	return out
}

func createAll(tb testing.TB, host *providertest.Host, rs []provider.Resource) {
	tb.Helper()
	for from := 0; from < len(rs); from += benchBatch {
		var items []provider.BatchChange
		for _, r := range rs[from:min(from+benchBatch, len(rs))] {
			items = append(items,
				provider.BatchChange{Context: host.Context(tb.Context(), provider.Options{}),
					Change: diff.Created, Resource: r})
		}
		for _, a := range (file{}).ApplyBatch(tb.Context(), items) {
			if a.Err != nil {
				tb.Fatal(a.Err)
			}
		}
	}
}

func readEach(tb testing.TB, host *providertest.Host, rs []provider.Resource, exist bool) {
	tb.Helper()
	for from := 0; from < len(rs); from += benchBatch {
		part := rs[from:min(from+benchBatch, len(rs))]
		items := make([]provider.BatchRead, len(part))
		for i, r := range part {
			items[i] = provider.BatchRead{Context: host.Context(tb.Context(), provider.Options{}),
				ReadRequest: provider.ReadRequest{Resource: r}}
		}
		for i, got := range (file{}).ReadBatch(tb.Context(), items) {
			diffs, _ := (file{}).Diff(nil, part[i], got.Observation)
			if got.Err != nil || got.Observation.Exists != exist || exist && len(diffs) > 0 {
				tb.Fatal(got, diffs)
			}
		}
	}
}

// floorCreate is what has to be done at least: write, sync, rename, by some goroutines.
func floorCreate(tb testing.TB, dir string, workers int) {
	tb.Helper()
	spread(benchFiles, workers, func(i int) {
		name := filepath.Join(dir, "file"+strconv.Itoa(i))
		f, err := os.OpenFile(name+".tmp", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err == nil {
			_, err = f.WriteString(benchContent(i))
		}
		if err == nil {
			err = f.Sync()
		}
		if err == nil {
			err = f.Close()
		}
		if err == nil {
			err = os.Rename(name+".tmp", name)
		}
		if err != nil {
			tb.Error(err)
		}
	})
}

// BenchmarkCreate makes 10,000 files and the floor makes as many; both are reported, and their
// ratio.
func BenchmarkCreate(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		host, rs := providertest.NewHost(nil), benchResources(freshDir(b))
		b.StartTimer()
		began := time.Now()
		readEach(b, host, rs, false)
		read := time.Since(began)
		createAll(b, host, rs)
		ours := time.Since(began)
		b.StopTimer()
		began = time.Now()
		floorCreate(b, freshDir(b), 16)
		floor16 := time.Since(began)
		began = time.Now()
		floorCreate(b, freshDir(b), 1)
		floor1 := time.Since(began)
		b.ReportMetric(read.Seconds(), "s-read-missing")
		b.ReportMetric(ours.Seconds(), "s")
		b.ReportMetric(floor16.Seconds(), "s-floor16")
		b.ReportMetric(floor1.Seconds(), "s-floor1")
		b.ReportMetric(ours.Seconds()/floor16.Seconds(), "x-floor16")
		b.ReportMetric(ours.Seconds()/floor1.Seconds(), "x-floor1")
		b.StartTimer()
	}
}

// BenchmarkRead checks 10,000 files of which none differs; the floor reads and compares as many
// from one goroutine.
func BenchmarkRead(b *testing.B) {
	host, rs := providertest.NewHost(nil), benchResources(freshDir(b))
	createAll(b, host, rs)
	for b.Loop() {
		b.StopTimer()
		began := time.Now()
		for i := range rs {
			if data, err := os.ReadFile(text(rs[i], "path")); err != nil ||
				string(data) != benchContent(i) {
				b.Fatal(err)
			}
		}
		floor := time.Since(began)
		b.StartTimer()
		began = time.Now()
		readEach(b, host, rs, true)
		ours := time.Since(began)
		b.ReportMetric(ours.Seconds(), "s")
		b.ReportMetric(ours.Seconds()/floor.Seconds(), "x-floor1")
	}
}
