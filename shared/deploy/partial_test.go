package deploy_test

import (
	"os"
	"path/filepath"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestPartialResolvesItsOwn holds that a partial export gives the references of what it exports the
// values of now, and leaves all others as they are, whether it merges the whole or not.
func TestPartialResolvesItsOwn(t *testing.T) {
	t.Parallel()
	r := newSetsRig(t)
	secret := filepath.Join(t.TempDir(), "secret")
	rotate := func(value string) {
		t.Helper()
		if err := os.WriteFile(secret, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// each returns what refers to a secret and a parameter, in a set of its own.
	each := func(set string) []resource.Resource {
		one, two := res(set+".secret"), res(set+".parameter")
		one.Set, one.Attributes["note"] = set, resource.Secret{Source: "file:" + secret}
		two.Set, two.Attributes["note"] = set, resource.Parameter{Name: "p"}
		one.Attributes["value"], two.Attributes["value"] = set+" one", set+" two"
		return []resource.Resource{one, two}
	}
	set := func(value string) {
		t.Helper()
		p := state.Parameter{Name: "p", Value: value}
		if err := r.e.SetParameters(t.Context(), "e", p); err != nil {
			t.Fatal(err)
		}
	}
	hash := func(name string) string { row := r.row(name); return row.Hash }
	export := func(x deploy.Export) {
		t.Helper()
		r.export(x)
		r.drain()
	}
	rotate("one")
	export(deploy.Export{Model: modelOf(append(each("a"), each("b")...)...)})
	r.want("a.parameter", state.StatusUndefined)
	set("1")
	r.drain()
	secretOfA, parameterOfA := hash("a.secret"), hash("a.parameter")
	for _, way := range []string{"merged", "by its sets"} {
		rotate(way)
		set(way)
		was := hash("b.secret")
		r.runs()
		export(deploy.Export{Partial: true, Model: modelOf(each("b")...)})
		r.same(way, r.runs(), "read b.parameter", "read b.secret")
		if hash("a.secret") != secretOfA || hash("a.parameter") != parameterOfA {
			t.Errorf("%s: what is not exported has another intent", way)
		}
		if hash("b.secret") == was {
			t.Errorf("%s: what is exported has the secret of before", way)
		}
	}
	export(deploy.Export{Model: modelOf(append(each("a"), each("b")...)...)})
	if hash("a.secret") == secretOfA || hash("a.parameter") == parameterOfA {
		t.Error("an export of the whole does not resolve everything")
	}
}
