package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// declaration returns a declaration of br::Thing and its file.
func declaration(value string) (resource.File, state.Blob) {
	text := fmt.Appendf(nil, `southbound_type: 1
name: br::Thing
description: a thing
attributes:
  - {name: name, type: "String[1]", behaviour: namevar, description: its name}
  - {name: value, type: String, default: %s, description: its value}
metadata: {handler: southbound-br, install: go install example.org/southbound-br@latest}
`, value)
	b := state.Blob{Hash: declared.HashOf(text), Size: int64(len(text)), Data: text}
	return resource.File{Hash: b.Hash, Size: b.Size}, b
}

// bridged returns a resource of br::Thing with the declaration f.
func bridged(name string, f resource.File) resource.Resource {
	r := res(name)
	r.ID, r.Type = thingID(name), "br::Thing"
	r.Attributes[model.TypeAttribute] = f
	return r
}

func thingID(name string) resource.ID { return resource.ID("br::Thing[a,name=" + name + "]") }

// declaredModel returns a model of one resource of br::Thing and one of the program.
func declaredModel(value string) *model.Model {
	f, b := declaration(value)
	m := modelOf(bridged("x", f), res("own"))
	m.Files = map[string]state.Blob{b.Hash: b}
	return m
}

// withBridge gives the engine a bridge that serves br:: with the test's handler.
func (r *rig) withBridge() {
	r.e.Bridges = map[string]*provider.Bridge{"br": {Name: "br",
		Handler: func(t schema.Type) (provider.Handler, error) {
			if t.Name != "br::Thing" {
				return nil, errors.New("not mine")
			}
			return handler{r.w}, nil
		}}}
}

func (r *rig) bridgedRow() state.Row {
	r.t.Helper()
	row, err := r.e.Row(context.Background(), "e", thingID("x"))
	if err != nil {
		r.t.Fatal(err)
	}
	return row
}

func (r *rig) wantThing(status state.Status, why ...string) {
	r.t.Helper()
	row := r.bridgedRow()
	if row.Status() != status {
		r.t.Errorf("the thing is %s (%s), want %s", row.Status(), row.Why(), status)
	}
	for _, text := range why {
		if !strings.Contains(row.Why(), text) {
			r.t.Errorf("the reason is %q, without %q", row.Why(), text)
		}
	}
}

// TestDeclaredTypeWithoutItsBridge holds that an export of a declared type succeeds where no program
// has its handler, and that the resource says what to install.
func TestDeclaredTypeWithoutItsBridge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.export(deploy.Export{Model: declaredModel("one")})
	r.drain()
	r.want("own", state.StatusDeployed)
	r.wantThing(state.StatusUnavailable, "no handler for br::Thing", "southbound-br",
		"go install example.org/southbound-br@latest")
}

// TestDeclarationTravels holds that a version carries the declarations of its types: another
// declaration is a new intent of exactly its resources, a process that knows nothing of it reads it,
// and a rollback and a removal have the declaration with which they were made.
func TestDeclarationTravels(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withBridge()
	first := r.export(deploy.Export{Model: declaredModel("one")})
	r.drain()
	r.same("what was created", r.took("create"), "create x", "create own")
	r.wantThing(state.StatusDeployed)
	if got := r.w.things["x"]; got != "one" {
		t.Errorf("the default is %q", got)
	}
	if again := r.export(deploy.Export{Model: declaredModel("one")}); again.New {
		t.Error("the same export is a new version")
	}

	r.use(r.home, "test") // another process
	r.withBridge()
	if _, err := r.e.Repair(t.Context(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	r.drain()
	r.same("what was read", r.took("read"), "read x", "read own")

	second := r.export(deploy.Export{Model: declaredModel("two")})
	if second.Changed != 1 {
		t.Errorf("%d resources changed", second.Changed)
	}
	r.drain()
	r.same("what was updated", r.took("update", "create", "read"), "read x", "update x")

	r.use(r.home, "test")
	r.withBridge()
	if _, err := r.e.Release(t.Context(), "e", first.Version, state.Origin{}); err != nil {
		t.Fatal(err)
	}
	r.drain()
	f, _ := declaration("one")
	row := r.bridgedRow()
	if now, err := resource.Decode(row.Body); err != nil ||
		!maps.Equal(map[string]any{"": now.Attributes[model.TypeAttribute]}, map[string]any{"": f}) {
		t.Errorf("after the rollback: %s, %v", row.Body, err)
	}
	if got := r.w.things["x"]; got != "one" {
		t.Errorf("after the rollback the value is %q", got)
	}

	m := declaredModel("one")
	m.Resources[0].PurgeOnDelete = true
	r.export(deploy.Export{Model: m})
	r.drain()
	r.took("delete")
	r.export(deploy.Export{Model: modelOf(res("own"))})
	r.drain()
	r.same("what was deleted", r.took("delete"), "delete x")
}

// TestLostDeclaration holds that resources whose declaration is lost are unavailable until the next
// export, which stores it again.
func TestLostDeclaration(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.withBridge()
	r.export(deploy.Export{Model: declaredModel("one")})
	r.drain()
	f, _ := declaration("one")
	if err := r.home.Files().Delete(t.Context(), []string{f.Hash}); err != nil {
		t.Fatal(err)
	}
	r.use(r.home, "test")
	r.withBridge()
	if _, err := r.e.Repair(t.Context(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	r.drain()
	r.want("own", state.StatusDeployed)
	r.wantThing(state.StatusUnavailable, "the declaration of br::Thing cannot be used")
	r.export(deploy.Export{Model: declaredModel("one"), RetryFailed: true})
	r.drain()
	r.wantThing(state.StatusDeployed)
}

// TestKnownAsksForDeclarations holds that an unchanged export is not skipped while a declaration that
// its version needs is lost, in a home whose files can be damaged and in one whose cannot.
func TestKnownAsksForDeclarations(t *testing.T) {
	t.Parallel()
	f, _ := declaration("one")
	unused, _ := declaration("two")
	for name, hide := range map[string]bool{"verified": false, "looked up": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			if hide {
				r.e.Files = struct{ state.Files }{r.e.Files}
			}
			export := func() deploy.Exported {
				m := declaredModel("one")
				m.Fingerprint = "f"
				return r.export(deploy.Export{Model: m})
			}
			known := func(want bool, hashes ...string) {
				t.Helper()
				if _, got, err := r.e.Known(t.Context(), "e", "f", hashes); got != want || err != nil {
					t.Errorf("with %d declarations: known %v, %v", len(hashes), got, err)
				}
			}
			export()
			known(true)
			known(true, f.Hash, unused.Hash) // a lock file may declare types that nothing uses
			if err := r.home.Files().Delete(t.Context(), []string{f.Hash}); err != nil {
				t.Fatal(err)
			}
			known(true)
			known(false, f.Hash)
			if out := export(); out.New || out.FilesUploaded != 1 {
				t.Errorf("the export that stores it again: %+v", out)
			}
			known(true, f.Hash)
		})
	}
}

// TestDiscoverDeclared holds that the bridge of a declared type lists its things, in a program that
// has the type from a lock file and in one that reads the stored declaration.
func TestDiscoverDeclared(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f, b := declaration("one")
	of := deploy.DiscoveryQuery{Type: "br::Thing", Agent: "a", Declaration: f.Hash}
	wrong := func(kind fault.Kind, text string) {
		t.Helper()
		if _, err := r.e.Discover(t.Context(), "e", of); !fault.Is(err, kind) ||
			!strings.Contains(err.Error()+fault.HintOf(err), text) {
			t.Errorf("%v (%s), want %q", err, fault.HintOf(err), text)
		}
	}
	wrong(fault.NotFound, "")
	if err := r.home.Files().Put(t.Context(), []state.Blob{b}); err != nil {
		t.Fatal(err)
	}
	wrong(fault.Unavailable, "go install example.org/southbound-br@latest")
	r.withBridge()
	wrong(fault.Unsupported, "describe its objects in a document")
	of.Type = "br::Other"
	wrong(fault.NotFound, "does not declare br::Other")
	of.Type, of.Like = "br::Thing", map[string]string{"_type": "x"}
	wrong(fault.Usage, `has no attribute "_type"`)

	r.w.things = map[string]string{"x": "one", "y": "other"}
	r.e.Bridges["br"].Handler = func(schema.Type) (provider.Handler, error) {
		return lister{clever{handler: handler{r.w}, list: func(found func(provider.Found) error) error {
			return errors.Join(found(provider.Found{Attributes: map[string]any{"name": "x", "value": "one"}}),
				found(provider.Found{Attributes: map[string]any{"name": "y", "value": "other"}}))
		}}}, nil
	}
	d, err := declared.Parse("types", b.Data, r.types)
	if err != nil {
		t.Fatal(err)
	}
	of.Like = nil
	for name, ask := range map[string]func() (deploy.Discovery, error){
		"stored": func() (deploy.Discovery, error) { return r.e.Discover(t.Context(), "e", of) },
		"lock file": func() (deploy.Discovery, error) {
			r.types = r.types.With(d.Types()...)
			bridges := r.e.Bridges
			r.use(r.home, "test")
			r.e.Bridges = bridges
			return r.e.Discover(t.Context(), "e", deploy.DiscoveryQuery{Type: "br::Thing", Agent: "a"})
		},
	} {
		got, err := ask()
		if err != nil || len(got.LeftOut) > 0 || len(got.Resources) != 2 {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		want := []map[string]any{{"name": "x"}, {"name": "y", "value": "other"}}
		for i, w := range want {
			if !maps.Equal(got.Resources[i].Attributes, w) {
				t.Errorf("%s: got %v, want %v", name, got.Resources[i].Attributes, w)
			}
		}
	}
}

// TestDeclarationsRefused has the uploads that are refused, with the reason.
func TestDeclarationsRefused(t *testing.T) {
	t.Parallel()
	one, file := declaration("one")
	two, other := declaration("two")
	own := []byte(strings.ReplaceAll(string(file.Data), "br::Thing", "t::Thing"))
	ownFile := resource.File{Hash: declared.HashOf(own), Size: int64(len(own))}
	taken := bridged("x", ownFile)
	taken.ID, taken.Type = "t::Thing[a,name=x]", "t::Thing"
	foreign := bridged("x", one)
	foreign.ID, foreign.Type = "br::Other[a,name=x]", "br::Other"
	unknown := bridged("x", one)
	unknown.Attributes["valeu"] = "v"
	for name, c := range map[string]struct {
		of    []resource.Resource
		files []state.Blob
		want  string
	}{
		"two declarations": {[]resource.Resource{bridged("x", one), bridged("y", two)},
			[]state.Blob{file, other}, "has another declaration than br::Thing[a,name=x]"},
		"prefix of the program": {[]resource.Resource{taken},
			[]state.Blob{{Hash: ownFile.Hash, Size: ownFile.Size, Data: own}},
			"cannot have a name that begins with t::"},
		"lost":         {[]resource.Resource{bridged("x", one)}, nil, "cannot be used"},
		"damaged":      {[]resource.Resource{bridged("x", one)}, []state.Blob{{Hash: one.Hash, Data: own}}, "cannot be used"},
		"not in it":    {[]resource.Resource{foreign}, []state.Blob{file}, "does not declare br::Other"},
		"no such name": {[]resource.Resource{unknown}, []state.Blob{file}, "valeu"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			m := modelOf(c.of...)
			m.Files = map[string]state.Blob{}
			for _, b := range c.files {
				m.Files[b.Hash] = b
			}
			_, err := r.e.Export(t.Context(), "e", deploy.Export{Model: m})
			problems, _ := diag.Of(err)
			if len(problems) != 1 || !strings.Contains(problems[0].Message, c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
