package http

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// TestObjectsWriteWhatDiffers pins that an update leaves members alone that do not differ, such as a
// password that the API does not give back.
func TestObjectsWriteWhatDiffers(t *testing.T) {
	t.Parallel()
	var sent map[string]any
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			body, _ := io.ReadAll(r.Body)
			sent = nil
			_ = json.Unmarshal(body, &sent)
			return
		}
		_, _ = io.WriteString(w, `{"id": 7, "role": "guest"}`)
	}))
	defer server.Close()
	var s Sessions
	defer s.Close()
	options := map[string]any{"url": server.URL, "retry": int64(0)}
	conn, err := s.Connect(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := provider.NewContext(t.Context(), providertest.NewHost(conn), provider.Options{})
	o := Objects{Path: func(map[string]any) string { return "/u" },
		Members: map[string]string{"role": "", "password": "secret"}}
	r := provider.Resource{Attributes: map[string]any{"role": "admin", "password": "pw"}}
	for _, tc := range []struct {
		why     string
		changes []string // of an update; nil: a create
		want    map[string]any
	}{
		{"a create writes all", nil, map[string]any{"role": "admin", "secret": "pw"}},
		{"an update leaves the password alone", []string{"role"},
			map[string]any{"id": 7.0, "role": "admin"}},
		{"unless that is to be written", []string{"password"},
			map[string]any{"id": 7.0, "role": "guest", "secret": "pw"}},
	} {
		changes := map[string]diff.Diff{}
		for _, name := range tc.changes {
			changes[name] = diff.Diff{Desired: r.Attributes[name]}
		}
		if tc.changes == nil {
			_, err = o.Create(ctx, provider.CreateRequest{Resource: r})
		} else {
			_, err = o.Update(ctx, provider.UpdateRequest{Resource: r, Changes: changes})
		}
		if err != nil || !maps.Equal(sent, tc.want) {
			t.Errorf("%s: %v: sent %v, want %v", tc.why, err, sent, tc.want)
		}
	}
	obs, err := o.Read(ctx, provider.ReadRequest{Resource: r})
	names := slices.Sorted(maps.Keys(obs.Attributes))
	if err != nil || !slices.Equal(names, []string{"role"}) {
		t.Errorf("%v: reported %v, want what the API gives back", err, names)
	}
}
