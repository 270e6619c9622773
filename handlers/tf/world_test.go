package tf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/tf/packages"
)

// world is an installed provider with a store, and the engine's side of its handlers.
type world struct {
	t          *testing.T
	definition provider.Definition
	types      map[string]schema.Type // by the provider's names
	agent      any
	host       *providertest.Host
	runs       int
	last       string // token of the last create
}

// install installs a program as version 1.0.0 of a provider.
func install(t *testing.T, store *packages.Store, local, program string) *packages.Installed {
	t.Helper()
	dir := t.TempDir()
	from, err := os.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "terraform-provider-"+local), os.O_CREATE|os.O_WRONLY, 0o700)
	if err == nil {
		_, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	i, err := store.Install(t.Context(), &packages.Package{Address: packages.Address{Host: "example.com",
		Namespace: "a", Type: local}, Version: "1.0.0", Platform: packages.Platform(), Path: dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (w *world) handler(theirs string) provider.Handler {
	w.t.Helper()
	h, err := w.definition.Bridge.Handler(w.types[theirs])
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// context returns the context of a new run of a resource.
func (w *world) context(attributes map[string]any, dry bool) (*provider.Context, provider.Resource) {
	r := provider.Resource{ID: "r", Attributes: attributes}
	return w.host.Context(w.t.Context(), provider.Options{ID: "r", DryRun: dry, Desired: r,
		Stored: &resource.Resource{Attributes: attributes}}), r
}

// apply makes one run as the engine does, and returns what it did: created, updated, replaced or
// nothing, with the attributes that differed.
func (w *world) apply(theirs string, attributes map[string]any) (string, error) {
	w.t.Helper()
	h := w.handler(theirs)
	ctx, r := w.context(attributes, false)
	w.runs++
	token := fmt.Sprintf("token-%d", w.runs)
	seen, err := h.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		return "", err
	}
	if !seen.Exists {
		w.last = token
		_, err = h.Create(ctx, provider.CreateRequest{Resource: r, Token: token, Carried: seen.Carried})
		return "created", err
	}
	differ, _ := provider.As[provider.Differ](h)
	diffs, err := differ.Diff(ctx, r, seen)
	if err != nil || len(diffs) == 0 {
		return "nothing", err
	}
	names, replaces := named(diffs)
	if !replaces {
		_, err = h.Update(ctx, provider.UpdateRequest{Resource: r, Observed: seen, Changes: diffs})
		return "updated " + names, err
	}
	if attributes[schema.CreateBeforeDestroy] != true {
		if _, err = h.Delete(ctx, provider.DeleteRequest{Resource: r, Observed: seen}); err != nil {
			return "deleted", err
		}
	}
	w.last = token
	_, err = h.Create(ctx, provider.CreateRequest{Resource: r, Token: token, Carried: seen.Carried})
	if err == nil && attributes[schema.CreateBeforeDestroy] == true {
		old := provider.Observation{Exists: true, Attributes: map[string]any{"id_": seen.Attributes["id_"]}}
		_, err = h.Delete(ctx, provider.DeleteRequest{Resource: r, Observed: old})
	}
	return "replaced " + names, err
}

// named returns the names of differences, and whether one requires a replacement.
func named(diffs map[string]diff.Diff) (string, bool) {
	typ, replaces := []string{}, false
	for name, d := range diffs {
		typ, replaces = append(typ, name), replaces || d.Replace
	}
	if len(typ) > 1 {
		return fmt.Sprintf("%d attributes", len(typ)), replaces
	}
	return strings.Join(typ, " "), replaces
}

// does fails the test unless a run does what is wanted.
func (w *world) does(want, theirs string, attributes map[string]any) {
	w.t.Helper()
	if got, err := w.apply(theirs, attributes); err != nil || got != want {
		w.t.Errorf("%s: %v, want %s", got, err, want)
	}
}

// kept returns the kept state.
func (w *world) kept() *kept {
	w.t.Helper()
	ctx, _ := w.context(nil, true)
	k, err := readKept(ctx.Kept())
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

func box(more ...any) map[string]any {
	out := map[string]any{attrLabel: "box", "name": "box"}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

// purge deletes the resource.
func (w *world) purge(theirs string, attributes map[string]any) error {
	w.t.Helper()
	h := w.handler(theirs)
	ctx, r := w.context(attributes, false)
	r.Purged = true
	seen, err := h.Read(ctx, provider.ReadRequest{Resource: r})
	if err == nil && seen.Exists {
		_, err = h.Delete(ctx, provider.DeleteRequest{Resource: r, Observed: seen})
	}
	return err
}
