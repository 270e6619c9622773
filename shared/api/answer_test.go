package api

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

func registry(t testing.TB) *schema.Registry {
	t.Helper()
	r, err := schema.NewRegistry(provider.Types(handlers.All())...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// FuzzAnswer reads anything as the answer of a server: it becomes an error with a kind, or an
// answer.
func FuzzAnswer(f *testing.F) {
	f.Add(404, problemType,
		[]byte(
			`{"error":{"kind":"invalid","message":"m","problems":[{"place":{"resource_index":1,"attribute_at":"x"},"message":"m"}]}}`))
	f.Add(503, "text/html", []byte("<html>"))
	f.Add(200, "application/json",
		[]byte(`{"items":[{"id":"x","changes":{"a":{"current":1e999}}}],"parts":["x"]}`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		err := answered("host",
			&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind},
				"Retry-After": {"1"}}}, body)
		if err == nil {
			t.Fatal("no error")
		}
		_ = placed(err, &model.Model{Where: func(int, string) diag.Pos { return diag.Pos{} }},
			[]int32{0})
		_ = FailureOf(err)
		var done ReadDone
		if decode(body, &done) == nil {
			_, _ = gather(
				done,
				func(string) (ResultPart[PlannedChange], error) {
					return ResultPart[PlannedChange]{}, nil
				},
			)
		}
	})
}

// FuzzRequest sends anything to everything that has no state to change: it is answered, and no
// fault of ours.
func FuzzRequest(f *testing.F) {
	types := registry(f)
	h := Handler(New(Config{Engine: deploy.New(deploy.Config{Types: types, Files: nothing{}})}))
	for _, seed := range [][3]string{
		{"POST", "/v1/environments/e/uploads", `{"files":[{"hash":"0","size":1}]}`},
		{"POST", "/v1/environments/e/exports", `{"chunks":["x"]}`},
		{"PUT", "/v1/files/x", "x"}, {"GET", "/v1/types/fs::File", ""},
		{"GET", "/v1/types?cursor=-1&limit=0", ""}, {"GET", "/v1/environments/e/results/x", ""},
	} {
		f.Add(seed[0], seed[1], []byte(seed[2]))
	}
	f.Fuzz(func(t *testing.T, method, path string, body []byte) {
		for _, known := range []string{"/v1/type", "/v1/files/", "/v1/environments/e/uploads",
			"/v1/environments/e/results/", "/v1/environments/e/exports", "/openapi"} {
			if !strings.HasPrefix(path, known) {
				continue
			}
			r, err := http.NewRequestWithContext(context.Background(), method, "http://x"+path,
				bytes.NewReader(body))
			if err != nil {
				return
			}
			rec := &buffered{header: http.Header{}}
			h.ServeHTTP(rec, r)
			if rec.status == http.StatusInternalServerError {
				t.Errorf("%s %s: %s", method, path, rec.body.String())
			}
		}
	})
}

// nothing is a store that holds nothing and takes everything; other operations are not asked for.
type nothing struct{ state.Files }

// Missing implements state.Files.
func (nothing) Missing(_ context.Context, hashes []string) ([]string, error) { return hashes, nil }

// Open implements state.Files.
func (nothing) Open(context.Context, string) (io.ReadCloser, error) {
	return nil, fault.New(fault.NotFound, "open", "nothing is there")
}

// Put implements state.Files.
func (nothing) Put(_ context.Context, blobs []state.Blob) error {
	for _, b := range blobs {
		f, err := b.Open()
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, f); err != nil {
			return err
		}
	}
	return nil
}

// TestModelsHaveCodes pins that each problem of a model has a code, also one of a resource that was
// found like one of a document, and no other problem has one for that.
func TestModelsHaveCodes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ file, code, want string }{
		{"main.cf", "", "resource"}, {"main.cf", "double_set", "double_set"}, {"a.yaml", "", ""},
	} {
		w := WrongOf(diag.Problem{Pos: diag.Pos{File: tc.file, Line: 1}, Code: tc.code})
		if w.Code != tc.want || (w.Related != nil) != (tc.want != "") {
			t.Errorf("%+v: %q, %v", tc, w.Code, w.Related)
		}
	}
}

// TestFailures are the same error again on the other side.
func TestFailures(t *testing.T) {
	t.Parallel()
	kinds := map[fault.Kind]int{}
	for _, kind := range []fault.Kind{fault.Usage, fault.Invalid, fault.NotFound, fault.Conflict,
		fault.Fenced, fault.Busy, fault.Unavailable, fault.Timeout, fault.Full,
		fault.Denied, fault.Damaged, fault.Foreign, fault.Unsupported, fault.Canceled,
		fault.Internal} {
		was := fault.New(kind, "do it", "it is wrong").WithHint("do it right")
		p := problemOf(was)
		is := remote{p.Err}
		if fault.KindOf(is) != kind || is.Error() != was.Error() || fault.HintOf(is) != was.Hint ||
			p.Status < 400 {
			t.Errorf("%s: %s, %v (%s), status %d", kind, fault.KindOf(is), is, fault.HintOf(is),
				p.Status)
		}
		kinds[kind] = p.Status
	}
	if len(slices.Compact(slices.Sorted(maps.Values(kinds)))) < 8 {
		t.Errorf("statuses: %v", kinds)
	}
}
