package tf

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/tf/packages"
)

// mirror writes versions of a provider into a folder in the form of a filesystem mirror.
func mirror(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for version, text := range programs {
		home := filepath.Join(dir, "example.com", "a", "x", version, packages.Platform())
		err := os.MkdirAll(home, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(home, "terraform-provider-x"), []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestAddPackage pins which version is installed, and that its types can be served by the handler. The
// schemas come from the cache, so no provider is started.
func TestAddPackage(t *testing.T) {
	t.Parallel()
	from := mirror(t, map[string]string{"1.0.0": "one", "1.1.0": "two", "2.0.0": "three"})
	store := &packages.Store{Dir: t.TempDir()}
	for _, text := range []string{"one", "two", "three"} {
		sum := sha256.Sum256([]byte(text))
		if err := store.KeepSchemas(hex.EncodeToString(sum[:]), schemas(t, keepingSchema)); err != nil {
			t.Fatal(err)
		}
	}
	of := Bridge(Options{Store: store}).Bridge
	got, err := of.Packages.Add(t.Context(), provider.PackageQuery{Address: "example.com/a/x",
		Constraint: "~> 1.0", From: from})
	if err != nil {
		t.Fatal(err)
	}
	if got.Version != "1.1.0" || got.Name != "x" || got.Address != "example.com/a/x" ||
		!slices.ContainsFunc(got.Hashes, func(h string) bool { return strings.HasPrefix(h, "h1:") }) {
		t.Errorf("%+v", got)
	}
	for i := range got.Types {
		h, err := of.Handler(got.Types[i])
		if err != nil {
			t.Fatal(err)
		}
		if got.Types[i].Metadata[MetaData] == true {
			continue
		}
		one, is := h.(*handler)
		if !is || one.meta.version != "1.1.0" || !slices.Equal(one.meta.hashes, got.Hashes) {
			t.Errorf("%+v", h)
		}
	}
	if err := of.Packages.Verify(t.Context(), got); err != nil {
		t.Error(err)
	}
	for name, x := range map[string]struct {
		change func(p *provider.Package)
		kind   fault.Kind
	}{
		"not installed":   {func(p *provider.Package) { p.Version = "1.0.0" }, fault.NotFound},
		"another program": {func(p *provider.Package) { p.Hashes = []string{"h1:other"} }, fault.Refused},
		"no hashes":       {func(p *provider.Package) { p.Hashes = nil }, fault.Refused},
		"no address":      {func(p *provider.Package) { p.Address = "x" }, fault.Invalid},
	} {
		p := got
		x.change(&p)
		if err := of.Packages.Verify(t.Context(), p); !fault.Is(err, x.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAddIsRefused pins that the content of a locked version must be the locked one, and that another
// version may have another content.
func TestAddIsRefused(t *testing.T) {
	t.Parallel()
	from := mirror(t, map[string]string{"1.0.0": "changed"})
	store := &packages.Store{Dir: t.TempDir()}
	sum := sha256.Sum256([]byte("changed"))
	if err := store.KeepSchemas(hex.EncodeToString(sum[:]), schemas(t, keepingSchema)); err != nil {
		t.Fatal(err)
	}
	of := Bridge(Options{Store: store}).Bridge
	for name, x := range map[string]struct {
		query provider.PackageQuery
		kind  fault.Kind
	}{
		"another content":        {provider.PackageQuery{Locked: "1.0.0", Hashes: []string{"h1:x"}}, fault.Refused},
		"another locked version": {provider.PackageQuery{Locked: "0.9.0", Hashes: []string{"h1:x"}}, ""},
		"no such version":        {provider.PackageQuery{Constraint: ">= 2"}, fault.NotFound},
		"not a constraint":       {provider.PackageQuery{Constraint: "new"}, fault.Invalid},
		"not an address":         {provider.PackageQuery{Address: "x"}, fault.Invalid},
		"no such provider":       {provider.PackageQuery{Address: "example.com/a/y"}, fault.NotFound},
		"not a source":           {provider.PackageQuery{From: "ftp://example.com"}, fault.Invalid},
	} {
		q := x.query
		if q.Address == "" {
			q.Address = "example.com/a/x"
		}
		if q.From == "" {
			q.From = from
		}
		_, err := of.Packages.Add(t.Context(), q)
		if x.kind == "" && err != nil || x.kind != "" && !fault.Is(err, x.kind) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
