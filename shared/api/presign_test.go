package api_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// bucket is a store that takes files as S3 does: with the signed headers, and only when they are
// not there.
type bucket struct {
	w     *world
	mu    sync.Mutex
	asked map[string]int
	wrong []string
}

// ServeHTTP implements http.Handler.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	hash := strings.TrimPrefix(r.URL.Path, "/files/")
	b.mu.Lock()
	b.asked[hash]++
	n := b.asked[hash]
	b.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	sum := sha256.Sum256(body)
	if r.Header.Get("X-Amz-Checksum-Sha256") != base64.StdEncoding.EncodeToString(sum[:]) ||
		r.Header.Get("If-None-Match") != "*" ||
		r.Header.Get("Authorization") != "" || r.URL.RawQuery != "X-Amz-Signature=s1gnature" ||
		r.ContentLength != int64(len(body)) {
		b.mu.Lock()
		b.wrong = append(b.wrong, r.URL.String())
		b.mu.Unlock()
		w.WriteHeader(http.StatusForbidden)
		return
	}
	switch {
	case n == 1 && hash[0] < '4':
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case n == 1 && hash[0] < '8':
		w.WriteHeader(http.StatusConflict) // two at once
		return
	}
	if err := b.w.home.Files().Put(r.Context(),
		[]state.Blob{{Hash: hash, Data: body}}); err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if hash[0] > 'c' {
		w.WriteHeader(http.StatusPreconditionFailed) // somebody else was faster
	}
}

// TestPresigned stores files where the server says, not through it.
func TestPresigned(t *testing.T) {
	t.Parallel()
	count := &counter{n: map[string]int{}}
	w := start(t, count.wrap)
	store := &bucket{w: w, asked: map[string]int{}}
	there := httptest.NewServer(store)
	t.Cleanup(there.Close)
	sign := func(_ context.Context, hash string, _ int64) (api.Upload, error) {
		sum, err := hex.DecodeString(hash)
		return api.Upload{Hash: hash, Method: http.MethodPut,
			URL: there.URL + "/files/" + hash + "?X-Amz-Signature=s1gnature",
			Header: map[string]string{"X-Amz-Checksum-Sha256": base64.StdEncoding.EncodeToString(
				sum), "If-None-Match": "*", "Content-Length": "1"}}, err
	}
	service := api.New(api.Config{Engine: w.service.Engine, Sign: sign})
	server := httptest.NewServer(api.ExportHandler(service))
	t.Cleanup(server.Close)
	c, err := api.NewClient(api.ClientConfig{URL: server.URL, Clock: quick{},
		Token: "for the API only"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.Export(context.Background(), "e", deploy.Export{Model: withFiles(nulls(10), 40)},
		nil)
	if err != nil || out.Version != 1 || out.FilesUploaded != 42 || len(store.wrong) > 0 {
		t.Errorf("%+v, %v; wrong: %v", out, err, store.wrong)
	}
	resp, err := http.Post(server.URL+"/v1/environments/e/halt", "application/json",
		strings.NewReader(`{"halted":true}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("what only exports serves more: %d", resp.StatusCode)
	}
	there.Close()
	_, err = c.Export(context.Background(), "e", deploy.Export{Model: withFiles(nulls(11), 1)}, nil)
	if !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "s1gnature") {
		t.Errorf("a store that is not there: %v", err)
	}
}
