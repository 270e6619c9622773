package deploy_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// telling is a handler that logs the text that it is given.
type telling struct {
	handler
}

// Create implements provider.Handler.
func (h telling) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	ctx.Info("made", "value", req.Resource.Attributes["value"])
	return h.handler.Create(ctx, req)
}

// Update implements provider.Handler.
func (h telling) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	ctx.Info(fmt.Sprint("changed: ", req.Resource.Attributes["value"]))
	return h.handler.Update(ctx, req)
}

// TestTextsOfParts rotates a password, a parameter and a fact that stand inside texts of three hosts,
// each in turn: exactly the resources that use it change, and the password is nowhere in the data
// directory, as text, in base64 or in hexadecimal digits.
func TestTextsOfParts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Handlers["t::T"] = telling{handler: handler{r.w}}
	password := filepath.Join(t.TempDir(), "password")
	rotate := func(text string) {
		if err := os.WriteFile(password, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set := func(p state.Parameter) {
		t.Helper()
		if err := r.e.SetParameters(t.Context(), "e", p); err != nil {
			t.Fatal(err)
		}
	}
	secret := resource.Secret{Source: "file:" + password}
	parameter, fact := resource.Parameter{Name: "db"}, resource.Fact{Name: "ip", Of: id("machine")}
	on := func(agent, name string, parts ...any) resource.Resource {
		text, err := resource.NewText(parts...)
		if err != nil {
			t.Fatal(err)
		}
		x := res(name)
		x.Agent = agent
		x.ID = resource.NewID("t::T", agent, resource.Key{Name: "name", Value: name})
		x.Attributes["value"] = text
		return x
	}
	export := func() {
		t.Helper()
		r.export(deploy.Export{Model: modelOf(res("machine"),
			on("a", "all", "listen 80\nurl=app:", secret, "@", fact, "/", parameter, "\n"),
			on("b", "password", "key ", secret, "\nend\n"),
			on("b", "parameter", "db ", parameter),
			on("c", "fact", "ip ", fact),
			on("c", "none", "a ", "text"))})
		r.drain()
	}
	changed := func(what string, want ...string) {
		t.Helper()
		slices.Sort(want)
		got := r.took("create", "update")
		for i := range got {
			_, got[i], _ = strings.Cut(got[i], " ")
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q changed, want %q", what, got, want)
		}
	}
	const first, second = "first-marker-password", "second-marker-password"
	rotate(first)
	export()
	changed("nothing is known", "machine", "none", "password")
	r.want("machine", state.StatusDeployed)
	set(state.Parameter{Name: "db", Value: "shop"})
	r.drain()
	changed("the parameter", "parameter")
	if row, err := r.e.Row(t.Context(), "e", id("all")); err != nil ||
		row.Status() != state.StatusUndefined || len(row.Missing) != 1 {
		t.Errorf("a text waits for its other parts: %s, %q, %v", row.Status(), row.Missing, err)
	}
	set(state.Parameter{Name: "ip", Of: id("machine"), Value: "10.0.0.1", Source: "fact"})
	r.drain()
	changed("the fact", "all", "fact")
	export()
	changed("nothing new")
	rotate(second)
	export()
	changed("another password", "all", "password")
	set(state.Parameter{Name: "db", Value: "market"})
	export()
	changed("another parameter", "all", "parameter")
	set(state.Parameter{Name: "ip", Of: id("machine"), Value: "10.0.0.2", Source: "fact"})
	export()
	changed("another fact", "all", "fact")
	want := map[string]string{
		"all":      "listen 80\nurl=app:" + second + "@10.0.0.2/market\n",
		"password": "key " + second + "\nend\n", "parameter": "db market", "fact": "ip 10.0.0.2",
		"none": "a text", "machine": "v",
	}
	r.w.mu.Lock()
	if !maps.Equal(r.w.things, want) {
		t.Errorf("there is %q", r.w.things)
	}
	r.w.mu.Unlock()
	actions, err := r.home.Actions(t.Context(), "e", state.ActionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	logged := fmt.Sprint(actions)
	for _, text := range []string{first, second, "marker-password", "url=app"} {
		if strings.Contains(logged, text) {
			t.Errorf("%q is in a log", text)
		}
	}
	if !strings.Contains(logged, "listen 80") {
		t.Error("lines without a secret are hidden")
	}
	nowhere(t, r.home.Dir, first, second, "marker-password")
}

// nowhere reports files below a directory that have one of the texts, as it is, in base64 or in
// hexadecimal digits.
func nowhere(t *testing.T, dir string, texts ...string) {
	t.Helper()
	var forms []string
	for _, s := range texts {
		forms = append(forms, s, hex.EncodeToString([]byte(s)))
		for skip := range 3 { // at each offset, without the digits that depend on neighbours
			forms = append(forms, strings.TrimRight(
				base64.RawStdEncoding.EncodeToString([]byte(s[skip:len(s)-(len(s)-skip)%3])), "="))
		}
	}
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, f := range forms {
			if bytes.Contains(b, []byte(f)) {
				t.Errorf("%q is in %s", f, path)
			}
		}
		n++
		return err
	})
	if err != nil || n == 0 {
		t.Error(n, err)
	}
}
