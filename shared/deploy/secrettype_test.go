package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// seeing is a handler that keeps what it is given.
type seeing struct {
	handler
	saw map[string]any
}

// Create implements provider.Handler.
func (s seeing) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	for name, v := range req.Resource.Attributes {
		s.saw[name] = v
	}
	ctx.Info("it is", "login", req.Resource.Attributes["login"], "open",
		req.Resource.Attributes["open"], "pin", req.Resource.Attributes["pin"])
	return s.handler.Create(ctx, req)
}

// TestSecretsOfTypes pins that a secret, which is text, is read as its attribute's type says, that
// the parts of one that is more are secret as well, and what is said of one that does not fit.
func TestSecretsOfTypes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "login", Type: "Optional[Sensitive[Struct[{user => String, pass => String}]]]",
			Behaviour: schema.Parameter},
		{Name: "pin", Type: "Optional[Sensitive[Integer[1]]]", Behaviour: schema.Parameter},
		{Name: "word", Type: "Optional[Sensitive[String[3]]]", Behaviour: schema.Parameter},
		{Name: "map", Type: "Optional[Hash]", Sensitive: true, Behaviour: schema.Parameter},
		{Name: "open", Type: "Optional[Hash]", Behaviour: schema.Parameter},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.types = types
	r.use(r.home, "test")
	h := seeing{handler{r.w}, map[string]any{}}
	r.e.Handlers["t::T"] = h
	dir := t.TempDir()
	secret := func(name, text string) resource.Secret {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return resource.Secret{Source: "file:" + file}
	}
	good, short, word := res("good"), res("short"), res("word")
	good.Attributes["login"] = secret("login", `{"user": "somebody", "pass": "hunter2-hunter2"}`)
	good.Attributes["map"] = secret("map", `{"a": [1]}`)
	good.Attributes["word"] = secret("word", "12345")
	good.Attributes["open"] = secret("open", `{"token": "sesame-sesame", "pin": 700800}`)
	short.Attributes["word"] = secret("short", "ab")
	word.Attributes["pin"] = secret("words", "not-a-number")
	good.Attributes["pin"] = secret("pin", "7007")
	r.export(deploy.Export{Model: modelOf(good, short, word)})
	r.drain()
	r.want("good", state.StatusDeployed)
	delete(h.saw, "name")
	if want := map[string]any{"pin": int64(7007), "word": "12345",
		"login": map[string]any{"user": "somebody", "pass": "hunter2-hunter2"},
		"map":   map[string]any{"a": []any{int64(1)}},
		"open":  map[string]any{"token": "sesame-sesame", "pin": int64(700800)},
	}; !reflect.DeepEqual(h.saw, want) {
		t.Errorf("the handler saw %#v", h.saw)
	}
	actions, err := r.home.Actions(t.Context(), "e", state.ActionQuery{})
	for i := range actions {
		for _, l := range actions[i].Messages {
			if said := fmt.Sprint(l); strings.Contains(said, "hunter2") ||
				strings.Contains(said, "sesame") || strings.Contains(said, "700") {
				t.Errorf("a password is in %v", l)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"short": "attribute word: the value of its secret is not a String of at least 3 characters",
		"word":  "attribute pin: the value of its secret is not an Integer of at least 1",
	} {
		if row := r.row(name); row.Class != provider.NeedsChange || row.Reason != want {
			t.Errorf("%s: %s, %s", name, row.Class, row.Reason)
		}
	}
}
