package run

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// TestShownWithoutSecrets pins what people see of a kept state: neither the schema nor the documents nor
// the secret outputs may be the only place that knows of a secret.
func TestShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	shown := provider.ShownKept{Attributes: map[string]any{
		"name":  "box",
		"key":   provider.Hidden{},
		"parts": []any{map[string]any{"pin": provider.Hidden{}, "no": int64(1)}},
		"note":  "n0te-of-a-reference",
		"tags":  map[string]any{"a": "t4g-of-a-reference", "b": "plain text"},
		"old":   "0ld-of-an-earlier-intent",
		"about": "it has n0te-of-a-reference and w0rd-of-an-output",
		"large": new(big.Int).Lsh(big.NewInt(1), 70),
	}, Notes: []string{"w0rd-of-an-output is in a note"}}
	res := &resource.Resource{Attributes: map[string]any{"name": "box",
		"note": resource.Secret{Source: "env:NOTE"},
		"tags": map[string]any{"a": resource.Secret{Source: "env:TAG"}, "b": "plain text"}, "old": "new"}}
	row := &state.Row{Intent: state.Intent{Hidden: []string{"old"}}}
	got := withoutSecrets(shown, row, res, []byte(`{"key":"w0rd-of-an-output"}`))
	want := provider.ShownKept{Attributes: map[string]any{
		"name":  "box",
		"key":   diff.Redacted,
		"parts": []any{map[string]any{"pin": diff.Redacted, "no": int64(1)}},
		"note":  diff.Redacted,
		"tags":  diff.Redacted,
		"old":   diff.Redacted,
		"about": "it has " + diff.Redacted + " and " + diff.Redacted,
		"large": json.Number("1180591620717411303424"),
	}, Notes: []string{diff.Redacted + " is in a note"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := withoutSecrets(shown, row, res, []byte(`{`)); len(got.Attributes) != 0 {
		t.Errorf("%v: nothing is shown if the outputs are not known", got)
	}
}
