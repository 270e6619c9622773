package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"southbound/handlers"
	"southbound/shared/api/client"
	"southbound/shared/api/files"
	"southbound/shared/api/problem"
	"southbound/shared/api/results"
	"southbound/shared/api/wire"
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
	f.Add(404, problem.MediaType,
		[]byte(
			`{"error":{"kind":"invalid","message":"m","problems":[{"place":{"resource_index":1,"attribute_at":"x"},"message":"m"}]}}`))
	f.Add(503, "text/html", []byte("<html>"))
	f.Add(200, "application/json",
		[]byte(`{"items":[{"id":"x","changes":{"a":{"current":1e999}}}],"parts":["x"]}`))
	f.Fuzz(func(t *testing.T, status int, kind string, body []byte) {
		err := client.AnswerError("host",
			&http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind},
				"Retry-After": {"1"}}}, body)
		if err == nil {
			t.Fatal("no error")
		}
		_ = files.AddPlaces(err, &model.Model{Where: func(int, string) diag.Pos { return diag.Pos{} }},
			[]int32{0})
		_ = problem.FailureOf(err)
		var done results.ReadDone
		if wire.Decode(body, &done) == nil {
			_, _ = results.Gather(
				done,
				func(string) (results.ResultPart[results.PlannedChange], error) {
					return results.ResultPart[results.PlannedChange]{}, nil
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
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, r)
			if rec.Code == http.StatusInternalServerError {
				t.Errorf("%s %s: %s", method, path, rec.Body.String())
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
