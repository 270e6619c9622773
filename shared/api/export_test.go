package api_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// client returns a client of w.
func (w *world) client(t *testing.T) *api.Client {
	t.Helper()
	c, err := api.NewClient(api.ClientConfig{URL: w.URL, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func null(name string, value any) resource.Resource {
	return resource.Resource{ID: resource.NewID("std::Null", "a",
		resource.Key{Name: "name", Value: name}), Type: "std::Null", Agent: "a",
		Attributes: map[string]any{"name": name, "value": value},
		Flags:      resource.Flags{ReceiveEvents: true}}
}

// nulls is a model of n resources.
func nulls(n int) *model.Model {
	m := &model.Model{Agents: []resource.Agent{{Name: "a", Transport: "local", Lanes: 2}},
		Fingerprint: fmt.Sprint("of ", n)}
	for i := range n {
		m.Resources = append(m.Resources, null(fmt.Sprint("n", i), fmt.Sprint("v", i)))
	}
	return m
}

// withFiles adds files to a model: n small ones, one that is empty and one that is streamed.
func withFiles(m *model.Model, n int) *model.Model {
	m.Files = map[string]state.Blob{}
	add := func(name string, data []byte, stream bool) {
		sum := sha256.Sum256(data)
		b := state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data)), Data: data}
		if stream {
			b.Data, b.Open = nil, func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(data)), nil
			}
		}
		m.Files[b.Hash] = b
		m.Resources = append(m.Resources, null(name, resource.File{Hash: b.Hash, Size: b.Size}))
	}
	for i := range n {
		add(fmt.Sprint("f", i), fmt.Appendf(nil, "bytes of %d", i), false)
	}
	add("empty", nil, false)
	add("large", bytes.Repeat([]byte("0123456789abcdef"), 100_000), true)
	return m
}

// counter counts the requests that pass, by method and path.
type counter struct {
	mu sync.Mutex
	n  map[string]int
	// spoil, when not nil, is called before; true: it has answered.
	spoil func(w http.ResponseWriter, r *http.Request) bool
}

func (c *counter) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.spoil != nil && c.spoil(w, r) {
			return
		}
		c.mu.Lock()
		c.n[r.Method+" "+r.URL.Path]++
		c.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// puts returns how many files were sent, and how often the one that was sent most.
func (c *counter) puts() (files, limit int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, n := range c.n {
		if strings.HasPrefix(what, "PUT /v1/files/") {
			files, limit = files+1, max(limit, n)
		}
	}
	return files, limit
}

// again returns how often files were sent that had been sent before.
func (c *counter) again() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for what, times := range c.n {
		if strings.HasPrefix(what, "PUT /v1/files/") {
			n += times - 1
		}
	}
	return n
}

// TestExport stores a model with files through the API, twice.
func TestExport(t *testing.T) {
	t.Parallel()
	count := &counter{n: map[string]int{}}
	w := start(t, count.wrap)
	c, ctx := w.client(t), context.Background()
	var told api.Sent
	x := deploy.Export{Model: withFiles(nulls(300), 20)}
	asked := time.Now()
	out, err := c.Export(ctx, "e", x, func(s api.Sent) { told = s })
	if out.Began.Before(asked) || out.Began.After(time.Now()) {
		t.Errorf("it began at %v", out.Began)
	}
	out.Began = time.Time{}
	if want := (deploy.Exported{Version: 1, Resources: 322, Changed: 322, FilesUploaded: 22,
		New: true}); err != nil || !reflect.DeepEqual(out, want) {
		t.Fatalf("%+v, %v", out, err)
	}
	if told.Files != told.OfFiles || told.Bytes != told.OfBytes || told.Files < 24 {
		t.Errorf("told %+v", told)
	}
	before, _ := count.puts()
	again, err := w.client(t).Export(ctx, "e", deploy.Export{Model: withFiles(nulls(300), 20)}, nil)
	if after, _ := count.puts(); err != nil || again.Version != 1 || again.FilesUploaded != 0 ||
		again.Changed != 0 || after != before {
		t.Errorf("again: %+v, %v; %d files sent, then %d", again, err, before, after)
	}
	if known, ok, err := c.Known(ctx, "e", "of 300", nil); err != nil || !ok || known.Version != 1 ||
		known.Resources != 322 {
		t.Errorf("known: %+v, %v, %v", known, ok, err)
	}
	if _, ok, err := c.Known(ctx, "e", "of 301", nil); err != nil || ok {
		t.Errorf("other inputs are known: %v", err)
	}
	// a file of the version that declares a type, and a client that names it
	lost := slices.Sorted(maps.Keys(x.Model.Files))[:1]
	if err := w.home.Files().Delete(ctx, lost); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := c.Known(ctx, "e", "of 300", lost); err != nil || ok {
		t.Errorf("inputs are known while a declaration is lost: %v", err)
	}
	if again, err := c.Export(ctx, "e", x, nil); err != nil || again.New || again.FilesUploaded != 1 {
		t.Errorf("a lost file is stored again: %+v, %v", again, err)
	}
	if _, ok, err := c.Known(ctx, "e", "of 300", lost); err != nil || !ok {
		t.Errorf("inputs are not known: %v", err)
	}
	for h, b := range x.Model.Files {
		f, err := w.home.Files().Open(ctx, h)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, f); err != nil || n != b.Size {
			t.Errorf("%d bytes of %d: %v", n, b.Size, err)
		}
		_ = f.Close()
	}
}

// TestSameAsEmbedded exports and plans the same through both homes.
func TestSameAsEmbedded(t *testing.T) {
	t.Parallel()
	there, here := start(t, nil), start(t, nil)
	ctx := context.Background()
	for n, modelOf := range []func() *model.Model{func() *model.Model { return nulls(2100) },
		func() *model.Model {
			m := nulls(2090)
			m.Resources[7] = null("n7", "other")
			m.Resources[8].Attributes["value"] = map[string]any{"big": 5.0,
				"list": []any{int64(1), "x", nil, true}}
			return m
		}} {
		for _, partial := range [][]bool{{false, true}, {false}}[n] {
			x := deploy.Export{Model: modelOf(), Partial: partial}
			a, errA := there.client(t).Plan(ctx, "e", x, deploy.CompareOptions{})
			b, errB := here.service.Plan(ctx, "e",
				deploy.Export{Model: modelOf(), Partial: x.Partial}, deploy.CompareOptions{})
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			if diff := cmp.Diff(text(b), text(a)); diff != "" {
				t.Errorf("plans differ: %.2000s", diff)
			}
		}
		a, errA := there.client(t).Export(ctx, "e", deploy.Export{Model: modelOf()}, nil)
		b, errB := here.service.Export(ctx, "e", deploy.Export{Model: modelOf()}, nil)
		if a.Began.IsZero() {
			t.Error("nobody says when it began")
		}
		if a.Began = b.Began; errA != nil || errB != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%+v, %v over the API, %+v, %v here", a, errA, b, errB)
		}
	}
	va, errA := there.client(t).Versions(ctx, "e")
	vb, errB := here.service.Versions(ctx, "e")
	if errA != nil || errB != nil || len(va) != 2 || va[1].Digest != vb[1].Digest {
		t.Errorf("%+v, %v and %+v, %v", va, errA, vb, errB)
	}
	n := 0
	if err := there.client(t).Resources(ctx, "e", nil,
		func(*api.Resource) error { n++; return nil }); err != nil || n != 2100 {
		t.Errorf("%d resources: %v", n, err)
	}
}

// text is what a plan looks like to programs.
func text(d deploy.DryRun) []string {
	var out []string
	for _, w := range d.Planned {
		var b bytes.Buffer
		for name, c := range w.Changes {
			fmt.Fprintf(&b, " %s: %v -> %v", name, c.Current, c.Desired)
		}
		out = append(out, fmt.Sprint(w.ID, w.Action, w.Reason, w.Failed, b.Len() > 0))
	}
	return out
}

// TestInterruptedExport breaks an export in the middle, over and over. What was stored is not sent
// again.
func TestInterruptedExport(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	var stop atomic.Pointer[context.CancelFunc]
	stop.Store(&cancel)
	var puts atomic.Int64
	count := &counter{n: map[string]int{},
		spoil: func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && puts.Add(1)%15 == 0 {
				(*stop.Load())()
				return true
			}
			return false
		}}
	w := start(t, count.wrap)
	broken := 0
	for {
		out, err := w.client(t).Export(ctx, "e", deploy.Export{Model: withFiles(nulls(10), 60)},
			nil)
		if err == nil {
			if out.Version != 1 || out.Resources != 72 {
				t.Errorf("%+v", out)
			}
			break
		}
		if broken++; broken > 10 || !fault.Is(err, fault.Canceled) {
			t.Fatalf("broken %d times: %v", broken, err)
		}
		next, c := context.WithCancel(context.Background())
		stop.Store(&c)
		ctx = next
	}
	// What was under way when it was broken may be sent again, maybe the same file each time,
	// and nothing else.
	if again := count.again(); broken < 3 || again > broken*api.Uploaders {
		t.Errorf("broken %d times, and files were sent again %d times", broken, again)
	}
	cancel()
}

// TestFaultsPass makes every third request fail in one of the ways of networks and servers.
func TestFaultsPass(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	count := &counter{n: map[string]int{},
		spoil: func(w http.ResponseWriter, _ *http.Request) bool {
			switch n.Add(1) % 9 {
			case 2:
				w.WriteHeader(http.StatusServiceUnavailable)
			case 5:
				w.Header().Set("Retry-After", "0.01")
				w.WriteHeader(http.StatusTooManyRequests)
			case 8:
				panic(http.ErrAbortHandler)
			default:
				return false
			}
			return true
		}}
	w := start(t, count.wrap)
	out, err := w.client(t).Export(context.Background(), "e",
		deploy.Export{Model: withFiles(nulls(10), 20)}, nil)
	if err != nil || out.Version != 1 || out.FilesUploaded != 22 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestTwoClients export different models at once, again and again: each version is one of the two,
// whole.
func TestTwoClients(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	var wg sync.WaitGroup
	errs := make(chan error, 8)
	for i := range 4 {
		wg.Go(func() {
			for range 2 {
				if _, err := w.client(t).Export(context.Background(), "e",
					deploy.Export{Model: withFiles(nulls(100*(i%2+1)), 5)}, nil); err != nil {
					errs <- err
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	vs, err := w.client(t).Versions(context.Background(), "e")
	if err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for i, v := range vs {
		digests[v.Digest] = true
		if v.Version != i+1 || v.Resources != 107 && v.Resources != 207 {
			t.Errorf("%+v", v)
		}
	}
	if len(digests) != 2 {
		t.Errorf("%d different versions", len(digests))
	}
}

// TestCollectedMeanwhile removes what was uploaded before it is committed: it is sent once more.
func TestCollectedMeanwhile(t *testing.T) {
	t.Parallel()
	var w *world
	var once sync.Once
	count := &counter{n: map[string]int{},
		spoil: func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/exports") {
				once.Do(func() {
					var all []string
					_ = w.home.Files().List(context.Background(),
						func(h string, _ timeOf) error { all = append(all, h); return nil })
					_ = w.home.Files().Delete(context.Background(), all)
				})
			}
			return false
		}}
	w = start(t, count.wrap)
	if out, err := w.client(t).Export(context.Background(), "e", deploy.Export{Model: nulls(10)},
		nil); err != nil || out.Version != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	if _, limit := count.puts(); limit != 2 {
		t.Errorf("sent %d times", limit)
	}
}

// TestPlaces wants problems that only the server can find to have the places of the documents,
// which only the client has.
func TestPlaces(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	c, ctx := w.client(t), context.Background()
	base := nulls(3)
	base.Resources[1].Set = "one"
	if _, err := c.Export(ctx, "e", deploy.Export{Model: base}, nil); err != nil {
		t.Fatal(err)
	}
	part := &model.Model{Resources: []resource.Resource{null("n9", "x"), null("n1", "y")},
		Where: func(i int, attribute string) diag.Pos {
			return diag.Pos{File: "part.yaml", Line: 10 + i, Column: len(attribute)}
		}}
	part.Resources[0].Set, part.Resources[1].Set = "two", "two"
	_, err := c.Export(ctx, "e", deploy.Export{Model: part, Partial: true}, nil)
	var problems diag.Problems
	if !errors.As(err, &problems) || len(problems) != 1 ||
		problems[0].Pos != (diag.Pos{File: "part.yaml", Line: 11, Column: len("set")}) {
		t.Fatalf("%#v", err)
	}
	_, here := w.service.Export(ctx, "e", deploy.Export{Model: part, Partial: true}, nil)
	if diff := cmp.Diff(here, err); diff != "" {
		t.Errorf("over the API it is another error: %s", diff)
	}
}

// TestPlacesOfAgents wants a parameter in the options of an agent that has no value to be reported at
// the agent's description, as one of a resource is at the resource.
func TestPlacesOfAgents(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	m := nulls(1)
	m.Agents = []resource.Agent{{Name: "a", Transport: "local", Lanes: 1}, {Name: "web1",
		Transport: "ssh", Lanes: 1,
		Options: map[string]any{"host": resource.Parameter{Name: "address"}}}}
	m.WhereAgent = func(name string) diag.Pos { return diag.Pos{File: name + ".yaml", Line: 3} }
	for _, partial := range []bool{false, true} {
		_, err := w.client(t).Export(t.Context(), "e",
			deploy.Export{Model: m.Clone(), Partial: partial}, nil)
		var problems diag.Problems
		if !errors.As(err, &problems) || len(problems) != 1 ||
			problems[0].Pos != (diag.Pos{File: "web1.yaml", Line: 3}) {
			t.Errorf("partial %t: %#v", partial, err)
		}
		_, here := w.service.Export(t.Context(), "e",
			deploy.Export{Model: m.Clone(), Partial: partial}, nil)
		if diff := cmp.Diff(here, err); diff != "" {
			t.Errorf("over the API it is another error: %s", diff)
		}
	}
}

// TestBounds sends too much, and what it should not be.
func TestBounds(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	long := func(n int) string { return `{"fingerprint":"` + strings.Repeat("x", n) + `"}` }
	for _, c := range []struct {
		why, method, path, body string
		status                  int
	}{
		{"a body that is too long", "POST", "/v1/environments/e/deploy", long(2 << 20), 413},
		{"an export that is too long", "POST", "/v1/environments/e/exports", long(9 << 20), 413},
		{"bytes that are not those of the hash", "PUT", "/v1/files/" + strings.Repeat("0", 64), "x",
			422},
		{"no hash", "PUT", "/v1/files/x", "x", 422},
		{"a path in place of a hash", "PUT", "/v1/files/..%2F..%2Fetc%2Fpasswd", "x", 422},
		{"too many files at once", "POST", "/v1/environments/e/uploads",
			`{"files":[` +
				strings.TrimSuffix(
					strings.Repeat(`{"hash":"`+strings.Repeat("0", 64)+`","size":1},`, 1001), ",") +
				`]}`, 422},
		{"a file that is too large", "POST", "/v1/environments/e/uploads",
			`{"files":[{"hash":"` + strings.Repeat("0", 64) + `","size":5368709121}]}`, 422},
		{"a chunk that is not there", "POST", "/v1/environments/e/exports",
			`{"chunks":["` + strings.Repeat("0", 64) + `"]}`, 404},
		{"a chunk that is not a hash", "POST", "/v1/environments/e/exports", `{"chunks":["../x"]}`,
			422},
		{"settings that are none", "POST", "/v1/environments/e/exports",
			`{"chunks":[],"settings":{"repair_timer":"often"}}`, 422},
		{"more items than a page has", "GET", "/v1/environments/e/resources?limit=100000", "", 422},
	} {
		if resp, text := w.ask(t, c.method, c.path, c.body); resp.StatusCode != c.status {
			t.Errorf("%s: %d %.300s", c.why, resp.StatusCode, text)
		}
	}
	// A file is stored, and is not to be had as a result.
	sum := sha256.Sum256([]byte("s3cr3t"))
	hash := hex.EncodeToString(sum[:])
	if resp, text := w.ask(t, "PUT", "/v1/files/"+hash, "s3cr3t"); resp.StatusCode != 204 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	if resp, text := w.ask(t, "GET", "/v1/environments/e/results/"+hash,
		""); resp.StatusCode != 404 || strings.Contains(text, "s3cr3t") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
	// A chunk that is a bomb.
	bomb := bytes.Repeat(pack(t, bytes.Repeat([]byte("\n"), 1<<20)), 300)
	sum = sha256.Sum256(bomb)
	hash = hex.EncodeToString(sum[:])
	if resp, _ := w.ask(t, "PUT", "/v1/files/"+hash, string(bomb)); resp.StatusCode != 204 {
		t.Errorf("%d", resp.StatusCode)
	}
	if resp, text := w.ask(t, "POST", "/v1/environments/e/exports",
		`{"chunks":["`+hash+`"]}`); resp.StatusCode != 422 {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// TestHistoryIsTheSameOverTheAPI holds what a client tells of versions to what the service does.
func TestHistoryIsTheSameOverTheAPI(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	ctx := context.Background()
	c := w.client(t)
	origin := state.Origin{Author: "Ada", Message: "why", Commit: "c0ffee"}
	if _, err := c.Export(ctx, "e", deploy.Export{Model: withFiles(nulls(2100), 3), Origin: origin},
		nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Export(ctx, "e", deploy.Export{Model: nulls(2090)}, nil); err != nil {
		t.Fatal(err)
	}
	a, errA := c.Compare(ctx, "e", 1, 2, true)
	b, errB := w.service.Compare(ctx, "e", 1, 2, true)
	if diff := cmp.Diff(text(b), text(a)); errA != nil || errB != nil || diff != "" ||
		len(a.Planned) == 0 {
		t.Errorf("%d differences: %v, %v, %s", len(a.Planned), errA, errB, diff)
	}
	da, errA := c.Described(ctx, "e", 1)
	db, errB := w.service.Described(ctx, "e", 1)
	ja, _ := json.Marshal(da)
	jb, _ := json.Marshal(db)
	if diff := cmp.Diff(string(jb), string(ja)); errA != nil || errB != nil || diff != "" ||
		state.Origin(da.Origin) != origin {
		t.Errorf("%+v: %v, %v, %s", da, errA, errB, diff)
	}
	files := map[string]bool{}
	list := func(h api.Home, id resource.ID) map[resource.ID]string {
		out := map[resource.ID]string{}
		if err := h.Descriptions(ctx, "e", 1, id, func(d *api.Description) error {
			line, err := json.Marshal(d)
			out[d.ID] = string(line)
			if f, is := d.Attributes["value"].(map[string]any); is {
				files[strings.TrimPrefix(f["file"].(string), "files/")] = true
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return out
	}
	la, lb := list(c, ""), list(w.service, "")
	if diff := cmp.Diff(lb, la); diff != "" || len(la) != da.Resources {
		t.Errorf("%d resources: %.1000s", len(la), diff)
	}
	one := null("n7", "").ID
	if got := list(c, one); len(got) != 1 || got[one] != la[one] {
		t.Errorf("one resource is %v", got)
	}
	for hash := range files {
		a, errA := c.VersionFile(ctx, "e", 1, hash)
		b, errB := w.service.VersionFile(ctx, "e", 1, hash)
		tooLarge := fault.Is(errA, fault.Unsupported) && len(b) > 4<<20
		if errB != nil || !tooLarge && (errA != nil || !bytes.Equal(a, b)) {
			t.Errorf("file %s: %d and %d bytes, %v, %v", hash, len(a), len(b), errA, errB)
		}
	}
	if _, err := c.VersionFile(ctx, "e", 2, strings.Repeat("0", 64)); !fault.Is(err,
		fault.NotFound) {
		t.Errorf("a file that no version has: %v", err)
	}
	out, err := c.Release(ctx, "e", 1, api.Origin{Author: "ann", Message: "back"})
	if p, _ := c.Progress(ctx, "e"); err != nil || p.Released != 1 || p.Last != 2 ||
		out.Resources != da.Resources || out.Changed == 0 {
		t.Errorf("%+v, %v; %d of %d is released", out, err, p.Released, p.Last)
	}
}
