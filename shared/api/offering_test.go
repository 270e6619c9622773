package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
)

func blob(text string) state.Blob {
	sum := sha256.Sum256([]byte(text))
	return state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(text)), Data: []byte(text)}
}

// TestOffer exports services through the API, and wants what was uploaded to be checked.
func TestOffer(t *testing.T) {
	t.Parallel()
	w := shop(t)
	before, err := w.home.Definitions().All(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	customer := before[:1]
	got, err := w.client(t).Offer(t.Context(), "default", blob("a model"), customer)
	want := []api.OfferedService{{Name: "customer", Change: "unchanged"}, {Name: "site", Change: "removed"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	bundle, err := w.home.Definitions().Bundle(t.Context(), "default")
	if err != nil || bundle != blob("a model").Hash {
		t.Errorf("%v: the bundle is %s", err, bundle)
	}
	if left, err := w.home.Files().Missing(t.Context(), []string{bundle}); err != nil || len(left) > 0 {
		t.Errorf("%v: the model is not stored: %v", err, left)
	}
	// One that customers have cannot be left out.
	w.order(t, http.MethodPost, customers, `{"attributes": {"name": "a"}}`)
	if _, err := w.client(t).Offer(t.Context(), "default", blob("b"), nil); !fault.Is(err, fault.Refused) {
		t.Error(err)
	}
	stuck := []definition.Service{customer[0]}
	stuck[0].Lifecycle.Transfers = nil // there is no way out
	if _, err := w.client(t).Offer(t.Context(), "default", blob("b"), stuck); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	for _, c := range []struct{ reason, definitions, want string }{
		{"not uploaded", "", "was not uploaded"},
		{"not JSON", "southbound: 1", "not a list in JSON"},
		{"not a list", "{}", "not a list in JSON"},
		{"not definitions", `[{"name": 1}]`, "definition 1 does not decode"},
		{"without a name", `[{}]`, "lifecycle of"},
	} {
		hash := strings.Repeat("0", 64)
		if c.definitions != "" {
			b := blob(c.definitions)
			if err := w.home.Files().Put(t.Context(), []state.Blob{b}); err != nil {
				t.Fatal(err)
			}
			hash = b.Hash
		}
		_, text := w.ask(t, http.MethodPut, "/v1/environments/default/services", `{"bundle":"`+
			bundle+`","definitions":"`+hash+`"}`, "Content-Type", "application/json")
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.reason, text)
		}
	}
}
