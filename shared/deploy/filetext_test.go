package deploy_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// TestFileStandsForItsText pins that a handler which knows nothing of uploaded files gets their
// text, and that what is not text is refused.
func TestFileStandsForItsText(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	blob := func(data string) (state.Blob, resource.File) {
		sum := sha256.Sum256([]byte(data))
		b := state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data)),
			Data: []byte(data)}
		return b, resource.File{Hash: b.Hash, Size: b.Size}
	}
	text, asText := blob("line\n")
	raw, asRaw := blob("\xff\xfe")
	long, asLong := blob(strings.Repeat("x", 1<<20+1))
	m := modelOf(res("a"), res("b"), res("c"))
	m.Files = map[string]state.Blob{text.Hash: text, raw.Hash: raw, long.Hash: long}
	for i, f := range []any{asText, asRaw, asLong} {
		m.Resources[i].Attributes["value"] = f
	}
	r.export(deploy.Export{Model: m})
	r.drain()
	r.want("a", state.StatusDeployed)
	if r.w.things["a"] != "line\n" {
		t.Errorf("the handler got %q", r.w.things["a"])
	}
	for name, part := range map[string]string{"b": "not text in UTF-8", "c": "has 1048577 bytes"} {
		if row := r.row(name); row.Status() != state.StatusFailed ||
			row.Class != provider.NeedsChange || !strings.Contains(row.Reason, part) {
			t.Errorf("%s: %s, %s", name, row.Status(), row.Reason)
		}
	}
	if _, err := r.e.Repair(context.Background(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	r.took()
	r.drain()
	r.same("what has the text is as wanted", r.took("create", "update"))
	if d, err := r.e.Preview(context.Background(), "e", deploy.Export{Model: m},
		deploy.CompareOptions{Read: true}); err != nil ||
		d.Planned[0].Action != "none" {
		t.Errorf("a preview: %+v, %v", d.Planned, err)
	}
}
