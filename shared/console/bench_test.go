package console_test

import (
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"southbound/handlers"
	"southbound/shared/api"
	"southbound/shared/api/agents"
	"southbound/shared/api/versions"
	"southbound/shared/console"
	"southbound/shared/deploy/state"
	"southbound/shared/internal/simtest/consoletest"
	"southbound/shared/local"
	"southbound/shared/resource"
	"southbound/shared/service/orders"
)

// Budgets of pages: bytes, and CPU time beside that of the calls of the API that a page makes. The
// CPU time of calls that take less than a few milliseconds does not count, as 50 rows of HTML take
// that. A benchmark fails if a page misses a budget by more than a fifth.
const (
	listBytes = 60_000
	cpuRatio  = 2.0
	cheapMS   = 5
	slack     = 1.2
)

// scale is the number of resources of BenchmarkPages.
var scale = flag.Int("scale", 100_000, "resources of BenchmarkPages")

// crowded is a home with n resources on agents of a hundred each, of which every hundredth is not
// deployed yet, parameters, and instances of a service.
func crowded(b *testing.B, n, instances int) *consoletest.World {
	b.Helper()
	w := consoletest.Open(b, handlers.All())
	all := make([]resource.Resource, n)
	for i := range all {
		all[i] = consoletest.Null(fmt.Sprintf("node%04d", i/100), fmt.Sprintf("item%06d", i))
	}
	w.Export(b, consoletest.Env, all[:n-n/100]...)
	runner := &local.Runner{Engine: w.Engine, Notifier: w.Own.Notifier, Ran: new(atomic.Int64)}
	if _, err := runner.Drain(b.Context(), consoletest.Env, nil); err != nil {
		b.Fatal(err)
	}
	w.Export(b, consoletest.Env, all...)
	parameters := make([]state.Parameter, 500)
	for i := range parameters {
		parameters[i] = state.Parameter{Name: fmt.Sprintf("parameter%03d", i), Value: "a value", Source: "user"}
	}
	if err := w.Engine.SetParameters(b.Context(), consoletest.Env, parameters...); err != nil {
		b.Fatal(err)
	}
	w.Offer(b, "testdata/forms.cf")
	for i := range instances {
		w.Create(b, "customer", map[string]any{"name": fmt.Sprintf("customer%05d", i), "contact": "a@b"})
	}
	return w
}

// spent returns the CPU time of this process.
func spent(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// recorder records the calls of the API that a page makes, so that they can be repeated alone.
//
// Large: it has the methods that pages of lists call.
type recorder struct {
	api.Home
	calls []func(context.Context)
}

// called records a call and makes it.
func called[T any](c *[]func(context.Context), ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	*c = append(*c, func(ctx context.Context) { _, _ = f(ctx) })
	return f(ctx)
}

func (r *recorder) Summaries(ctx context.Context) ([]api.Summary, error) {
	return called(&r.calls, ctx, r.Home.Summaries)
}

func (r *recorder) Progress(ctx context.Context, env string) (api.Progress, error) {
	return called(&r.calls, ctx, func(ctx context.Context) (api.Progress, error) { return r.Home.Progress(ctx, env) })
}

func (r *recorder) Health(ctx context.Context, env string) (api.Health, error) {
	return called(&r.calls, ctx, func(ctx context.Context) (api.Health, error) { return r.Home.Health(ctx, env) })
}

func (r *recorder) Described(ctx context.Context, env string, n int) (versions.Described, error) {
	return called(&r.calls, ctx, func(ctx context.Context) (versions.Described, error) {
		return r.Home.Described(ctx, env, n)
	})
}

func (r *recorder) ResourcesPage(ctx context.Context, env string, q api.ResourcesQuery) (api.Page[api.Resource], error) {
	return called(&r.calls, ctx, func(ctx context.Context) (api.Page[api.Resource], error) {
		return r.Home.ResourcesPage(ctx, env, q)
	})
}

func (r *recorder) AgentsPage(ctx context.Context, env string, q api.AgentsQuery) (api.Page[agents.Agent], error) {
	return called(&r.calls, ctx, func(ctx context.Context) (api.Page[agents.Agent], error) {
		return r.Home.AgentsPage(ctx, env, q)
	})
}

func (r *recorder) ParametersPage(ctx context.Context, env string, q api.ParametersQuery) (api.Page[state.Parameter], error) {
	return called(&r.calls, ctx, func(ctx context.Context) (api.Page[state.Parameter], error) {
		return r.Home.ParametersPage(ctx, env, q)
	})
}

func (r *recorder) VersionsPage(ctx context.Context, env string, q api.PageQuery) (api.Page[versions.Version], error) {
	return called(&r.calls, ctx, func(ctx context.Context) (api.Page[versions.Version], error) {
		return r.Home.VersionsPage(ctx, env, q)
	})
}

func (r *recorder) ActionsPage(ctx context.Context, env string, q api.ActionQuery) (api.Page[api.Action], error) {
	return called(&r.calls, ctx, func(ctx context.Context) (api.Page[api.Action], error) {
		return r.Home.ActionsPage(ctx, env, q)
	})
}

func (r *recorder) Resources(ctx context.Context, env string, filter []string, each func(*api.Resource) error) error {
	r.calls = append(r.calls, func(ctx context.Context) {
		_ = r.Home.Resources(ctx, env, filter, func(*api.Resource) error { return nil })
	})
	return r.Home.Resources(ctx, env, filter, each)
}

func (r *recorder) Orders() (api.Orders, error) {
	o, err := r.Home.Orders()
	return &orderRecorder{o, r}, err
}

// orderRecorder records calls about services.
type orderRecorder struct {
	api.Orders
	r *recorder
}

func (o *orderRecorder) Offer(
	ctx context.Context, env, service string, version int, summary bool,
) (orders.Offer, error) {
	return called(&o.r.calls, ctx, func(ctx context.Context) (orders.Offer, error) {
		return o.Orders.Offer(ctx, env, service, version, summary)
	})
}

func (o *orderRecorder) Catalog(ctx context.Context, env string, summary, all bool) ([]orders.Offer, error) {
	return called(&o.r.calls, ctx, func(ctx context.Context) ([]orders.Offer, error) {
		return o.Orders.Catalog(ctx, env, summary, all)
	})
}

func (o *orderRecorder) List(ctx context.Context, env string, q orders.Query) (orders.Page, error) {
	return called(&o.r.calls, ctx, func(ctx context.Context) (orders.Page, error) {
		return o.Orders.List(ctx, env, q)
	})
}

// BenchmarkPages measures each page of a list over 100,000 resources: bytes, compressed bytes, and
// CPU time beside that of the same calls of the API, in turns.
func BenchmarkPages(b *testing.B) {
	w := crowded(b, *scale, 1000)
	const at = "/console/" + consoletest.Env + "/"
	for _, path := range []string{"", "resources", "resources?status=available", "resources?agent=node0500",
		"resources?id=item0999", "agents", "actions", "versions", "parameters", "services",
		"services/customer/instances"} {
		name := strings.NewReplacer("/", "-", "?", ":").Replace("page " + path)
		b.Run(name, func(b *testing.B) {
			r := &recorder{Home: w.Service}
			c := console.New(r, console.Options{Version: "1.0", Hosts: []string{consoletest.Host}})
			browser := consoletest.NewBrowser(b, c)
			browser.Do(http.MethodGet, c.Path(c.Code()), "")
			page := browser.Get(at+path, http.StatusOK)
			r.calls = nil
			browser.Do(http.MethodGet, at+path, "")
			calls := slices.Clone(r.calls)
			const loads = 20
			var pages, alone []float64
			for b.Loop() {
				began := spent(b)
				for range loads {
					browser.Do(http.MethodGet, at+path, "")
				}
				between := spent(b)
				for range loads {
					for _, call := range calls {
						call(b.Context())
					}
				}
				pages = append(pages, milliseconds(between-began)/loads)
				alone = append(alone, milliseconds(spent(b)-between)/loads)
				r.calls = nil
			}
			whole, calling := middle(pages), middle(alone)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(len(page)), "bytes")
			b.ReportMetric(float64(packed(page)), "gzip-bytes")
			b.ReportMetric(whole, "cpu-ms")
			b.ReportMetric(calling, "api-cpu-ms")
			b.ReportMetric(whole/calling, "ratio")
			if len(page) > listBytes*slack {
				b.Errorf("%d bytes, more than %d", len(page), listBytes)
			}
			if calling > cheapMS && whole > cpuRatio*slack*calling {
				b.Errorf("%.2f ms, %.2f times the CPU time of its calls, more than %.1f", whole, whole/calling, cpuRatio)
			}
		})
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// packed returns the size of a text in gzip.
func packed(text string) int64 {
	var n counting
	z := gzip.NewWriter(&n)
	_, _ = z.Write([]byte(text)) // it never fails
	_ = z.Close()
	return int64(n)
}

type counting int64

func (n *counting) Write(b []byte) (int, error) {
	*n += counting(len(b))
	return len(b), nil
}

// BenchmarkHeap measures by how much the heap of the server grows by thousands of loads of pages,
// and of streams that are opened, have sent something, and are closed by the browser.
func BenchmarkHeap(b *testing.B) {
	w := crowded(b, 2000, 10)
	c := console.New(w.Service, console.Options{Version: "1.0", Hosts: []string{consoletest.Host}})
	browser := consoletest.NewBrowser(b, c)
	browser.Do(http.MethodGet, c.Path(c.Code()), "")
	const at = "/console/" + consoletest.Env + "/"
	work := func(n int) {
		for i := range n {
			for _, path := range []string{"", "resources", "actions"} {
				if res := browser.Do(http.MethodGet, at+path, ""); res.StatusCode != http.StatusOK {
					b.Fatal(res.Status)
				}
			}
			ctx, end := context.WithCancel(b.Context())
			r := httptest.NewRequestWithContext(ctx, http.MethodGet,
				fmt.Sprintf("/console/live?page=%s%d", at+"resources%3Fn=", i), nil)
			r.Host = consoletest.Host
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			for _, cookie := range browser.CookiesSet {
				r.AddCookie(cookie)
			}
			rec := httptest.NewRecorder()
			c.ServeHTTP(&closing{rec, end}, r)
			if rec.Code != http.StatusOK {
				b.Fatal(rec.Code, rec.Body)
			}
			end()
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		for range 3 {
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	work(200) // caches
	const loads = 3000
	for b.Loop() {
		before, routines := heap(), runtime.NumGoroutine()
		work(loads / 3)
		grown := heap() - before
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(grown), "grown-bytes")
		b.ReportMetric(float64(grown)/loads, "grown-bytes/load")
		b.ReportMetric(float64(runtime.NumGoroutine()-routines), "goroutines")
		if grown > 1<<20 {
			b.Errorf("the heap has grown by %d bytes in %d loads and %d streams", grown, loads, loads/3)
		}
	}
}

// closing ends its request when the second event is sent.
type closing struct {
	*httptest.ResponseRecorder
	end func()
}

// Flush implements http.Flusher.
func (c *closing) Flush() {
	if strings.Count(c.Body.String(), "event: ") > 1 {
		c.end()
	}
}
