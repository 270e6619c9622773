package console_test

import (
	"bufio"
	"context"
	"flag"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"southbound/shared/console"
	"southbound/shared/internal/simtest/consoletest"
)

// lasting is how long BenchmarkStreams keeps its streams.
var lasting = flag.Duration("lasting", 20*time.Second, "time of the streams of BenchmarkStreams")

// BenchmarkStreams measures by how much the heap and the goroutines of a server grow while twelve
// pages are open over HTTP, with a change every two seconds. A stream that ends is opened again, as a
// browser does.
func BenchmarkStreams(b *testing.B) {
	w := crowded(b, 2000, 10)
	server := httptest.NewUnstartedServer(nil)
	c := console.New(w.Service, console.Options{Version: "1.0", Hosts: []string{server.Listener.Addr().String()}})
	server.Config.Handler = c
	server.Start()
	b.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	t := &tabs{b: b, server: server}
	t.signIn(c.Path(c.Code()))
	for b.Loop() {
		t.measure(func(n int) {
			if err := w.Service.Halt(b.Context(), consoletest.Env, n%2 == 0); err != nil {
				b.Error(err)
			}
		})
	}
}

// tabs are the open pages of a browser.
type tabs struct {
	b                       *testing.B
	server                  *httptest.Server
	cookies                 []*http.Cookie
	regions, ticks, streams atomic.Int64
}

func (t *tabs) signIn(path string) {
	t.b.Helper()
	client := t.server.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := client.Get(t.server.URL + path)
	if err != nil {
		t.b.Fatal(err)
	}
	_ = res.Body.Close()
	if t.cookies = res.Cookies(); len(t.cookies) == 0 {
		t.b.Fatal("the code was refused: " + res.Status)
	}
}

// measure opens the pages, and compares the server when a quarter of the time has passed with the
// server at its end.
func (t *tabs) measure(change func(int)) {
	ctx, end := context.WithCancel(t.b.Context())
	var open sync.WaitGroup
	for _, page := range []string{"", "resources", "resources?status=available", "resources?agent=node0001",
		"agents", "agents/node0001", "actions", "versions", "parameters", "services",
		"services/customer/instances", "orders"} {
		open.Go(func() {
			for ctx.Err() == nil {
				t.stream(ctx, "/console/"+consoletest.Env+"/"+page)
			}
		})
	}
	n, began := 0, time.Now()
	until := func(d time.Duration) (heap uint64, routines int) {
		for ; time.Since(began) < d; n++ {
			change(n)
			time.Sleep(2 * time.Second)
		}
		// the least of several: pages that are being rendered hold up to 10 MB
		heap = 1 << 62
		for range 10 {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			heap = min(heap, m.HeapAlloc)
			time.Sleep(300 * time.Millisecond)
		}
		return heap, runtime.NumGoroutine()
	}
	heap, routines := until(*lasting / 4)
	regions, used := t.regions.Load(), spent(t.b)
	after, now := until(*lasting)
	used = spent(t.b) - used
	grown := int64(after) - int64(heap)
	t.b.ReportMetric(0, "ns/op")
	t.b.ReportMetric(float64(grown), "grown-bytes")
	t.b.ReportMetric(float64(now-routines), "grown-goroutines")
	t.b.ReportMetric(float64(now), "goroutines")
	t.b.ReportMetric(float64(t.regions.Load()), "regions")
	t.b.ReportMetric(float64(t.ticks.Load()), "ticks")
	t.b.ReportMetric(float64(t.streams.Load()), "streams")
	t.b.ReportMetric(100*used.Seconds()/(lasting.Seconds()*3/4), "cpu-percent")
	if grown > 2<<20 || now > routines+24 || t.regions.Load() == regions {
		t.b.Errorf("the heap has grown by %d bytes, from %d to %d goroutines, with %d regions", grown, routines,
			now, t.regions.Load()-regions)
	}
	end()
	open.Wait()
}

// stream reads the stream of a page until it ends.
func (t *tabs) stream(ctx context.Context, page string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		t.server.URL+"/console/live?page="+url.QueryEscape(page), nil)
	if err != nil {
		t.b.Error(err)
		return
	}
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, cookie := range t.cookies {
		r.AddCookie(cookie)
	}
	res, err := t.server.Client().Do(r)
	if err != nil {
		if ctx.Err() == nil {
			t.b.Error(err)
		}
		return
	}
	defer res.Body.Close()
	if t.streams.Add(1); res.StatusCode != http.StatusOK {
		t.b.Errorf("%s: %s", page, res.Status)
		return
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		switch name, is := strings.CutPrefix(lines.Text(), "event: "); {
		case !is:
		case name == "region":
			t.regions.Add(1)
		case name == "tick":
			t.ticks.Add(1)
		default:
			t.b.Errorf("%s: event %s", page, name)
		}
	}
}
