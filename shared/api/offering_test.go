package api_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/service/bundle"
	"southbound/shared/service/definition"
)

func blob(text string) state.Blob {
	sum := sha256.Sum256([]byte(text))
	return state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(text)), Data: []byte(text)}
}

// packed returns the model of a text, as it is uploaded.
func packed(t *testing.T, text string) state.Blob {
	t.Helper()
	main := filepath.Join(t.TempDir(), "main.cf")
	if err := os.WriteFile(main, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := bundle.Pack(bundle.Model{Main: main})
	if err != nil {
		t.Fatal(err)
	}
	return blob(string(p.Data))
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
	model := packed(t, "a = 1")
	got, err := w.client(t).Offer(t.Context(), "default", model, customer)
	want := []api.OfferedService{{Name: "customer", Change: "unchanged"},
		{Name: "site", Change: "removed"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	digest, err := w.home.Definitions().Bundle(t.Context(), "default")
	if err != nil || digest != model.Hash {
		t.Errorf("%v: the bundle is %s", err, digest)
	}
	if left, err := w.home.Files().Missing(t.Context(), []string{digest}); err != nil ||
		len(left) > 0 {
		t.Errorf("%v: the model is not stored: %v", err, left)
	}
	// Where there was none, it makes the environment: what is ordered there can be halted.
	if _, err := w.client(t).Offer(t.Context(), "new", packed(t, "a = 1"), customer); err != nil {
		t.Fatal(err)
	}
	if err := w.client(t).Halt(t.Context(), "new", true); err != nil {
		t.Errorf("halting an environment with services: %v", err)
	}
	// One that customers have cannot be left out.
	w.order(t, http.MethodPost, customers, `{"attributes": {"name": "a"}}`)
	if _, err := w.client(t).Offer(t.Context(), "default", packed(t, "b = 1"), nil); !fault.Is(err,
		fault.Refused) {
		t.Error(err)
	}
	stuck := []definition.Service{customer[0]}
	stuck[0].Lifecycle.Transfers = nil // there is no way out
	if _, err := w.client(t).Offer(t.Context(), "default", packed(t, "b = 1"),
		stuck); !fault.Is(err, fault.Invalid) {
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
			digest+`","definitions":"`+hash+`"}`, "Content-Type", "application/json")
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.reason, text)
		}
	} // A model that cannot be unpacked is refused, and the one that there was stays.
	_, err = w.client(t).Offer(t.Context(), "default", blob("a model"), customer)
	if !fault.Is(err, fault.Invalid) ||
		!strings.Contains(err.Error(), "not a model as southbound") {
		t.Error(err)
	}
	if now, err := w.home.Definitions().Bundle(t.Context(), "default"); err != nil ||
		now != digest {
		t.Errorf("%v: the bundle is %s", err, now)
	}
	large := blob(strings.Repeat(" ", 64<<20+1))
	if err := w.home.Files().Put(t.Context(), []state.Blob{large}); err != nil {
		t.Fatal(err)
	}
	_, text := w.ask(t, http.MethodPut, "/v1/environments/default/services", `{"bundle":"`+
		digest+`","definitions":"`+large.Hash+`"}`, "Content-Type", "application/json")
	if !strings.Contains(text, "more than 64 MiB") {
		t.Errorf("large: %.300s", text)
	}
}
