package compile_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"southbound/shared/compile"
	"southbound/shared/internal/source"
	"southbound/shared/resource"
)

// same compares what documents and a model describe: the same version.
func same(t *testing.T, documents, path string) {
	t.Helper()
	ctx, o := context.Background(), source.Options{Path: documents, Types: registry(t)}
	want, _, err := source.Load(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := compile.Model(ctx, compile.Options{Path: path, Types: o.Types})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Deployable(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	byID := func(a, b resource.Resource) int { return cmp.Compare(a.ID, b.ID) }
	slices.SortFunc(got.Resources, byID)
	slices.SortFunc(want.Resources, byID)
	if !reflect.DeepEqual(got.Resources, want.Resources) ||
		!reflect.DeepEqual(got.Agents, want.Agents) {
		t.Errorf("the model describes\n%v\ninstead of\n%v", got.Resources, want.Resources)
	}
}

// TestQuickstart holds that the model of the quickstart describes what its documents do.
func TestQuickstart(t *testing.T) {
	t.Parallel()
	const dir = "../../examples/quickstart"
	same(t, dir, filepath.Join(dir, "_site.cf"))
}

// TestFromDocuments holds that what docs/language/from-documents.md shows side by side is the same.
func TestFromDocuments(t *testing.T) {
	text, err := os.ReadFile(pages + "from-documents.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range examples(string(text)) {
		if e.files["site.yaml"] == "" {
			continue
		}
		n++
		t.Run(e.title, func(t *testing.T) {
			e.write(t)
			same(t, "site.yaml", "main.cf")
		})
	}
	if n < 5 {
		t.Errorf("only %d examples", n)
	}
}
