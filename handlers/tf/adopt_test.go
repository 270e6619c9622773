package tf

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diff"
	"southbound/shared/tf/adopt"
)

// TestAdoptedType pins which attributes an adoption may set, by the names of the schema.
func TestAdoptedType(t *testing.T) {
	t.Parallel()
	types, problems := Types(Origin{Local: "x", Address: "example.com/a/x", Version: "1.2.3"},
		schemas(t, `{"resources":{"x_y":{"block":{"attributes":[
		{"name":"id","type":"string","optional":true,"computed":true},
		{"name":"label","type":"string","optional":true},
		{"name":"key","type":"string","computed":true,"sensitive":true}]}}}}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m, err := metaOf(&types[0])
	if err != nil {
		t.Fatal(err)
	}
	want := adopt.Type{Name: "tf::x::Y", Ordered: true, Attributes: map[string]string{"label": "label_"},
		Outputs: map[string]string{"id": "id_", "label": "label_", "key": "key"}}
	if d := cmp.Diff(want, adoptType(&types[0], &m)); d != "" {
		t.Error(d)
	}
}

// TestAdoptedState pins that the kept state of an adopted object is one that a read accepts, with the
// parts of the state file unchanged.
func TestAdoptedState(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	state := `{"id":"7","name":"n","key":"s3cret"}`
	b, err := keptOf(k.meta, &adopt.Object{Version: 1, Attributes: json.RawMessage(state), Private: []byte("p"),
		Identity: json.RawMessage(`{"name":"n"}`), IdentityVersion: 4, Tainted: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := readKept(b)
	if err != nil {
		t.Fatal(err)
	}
	want := &record{Provider: k.meta.provider.String(), Type: "x_y", Version: 1, State: json.RawMessage(state),
		Private: []byte("p"), Identity: json.RawMessage(`{"name":"n"}`), IdentityVersion: 4, Tainted: true}
	if d := cmp.Diff(want, got.Current); d != "" {
		t.Error(d)
	}
	if err := got.Current.check(k.meta, 1); err != nil {
		t.Error(err)
	}
}

// TestHidden pins that errors of an upgrade have no text of a state that may be secret.
func TestHidden(t *testing.T) {
	t.Parallel()
	b := schemas(t, `{"resources":{"x_y":{"block":{"attributes":[
		{"name":"name","type":"string","optional":true},{"name":"note","type":"string","optional":true},
		{"name":"key","type":"string","sensitive":true}]}}}}`).Resources["x_y"].Block
	set := hidden(b, &adopt.Object{Sensitive: []string{"note/0"}, Attributes: json.RawMessage(
		`{"name":"web-name","note":["marked"],"key":"s3cret","former":{"a":["unknown"]}}`)})
	got := set.Clean("web-name marked s3cret unknown", diff.Redacted)
	if want := "web-name" + strings.Repeat(" "+diff.Redacted, 3); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestConfigNote pins that an adoption names a configuration that is left to do, also if the provider
// requires no option: without its options it may manage objects of another server.
func TestConfigNote(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		agent adopt.Agent
		want  string
	}{
		{adopt.Agent{Required: []string{"url", "token"}}, "set config: it requires url, token"},
		{adopt.Agent{Optional: true}, "set config as in the provider block"},
		{adopt.Agent{}, ""},
	} {
		if got := configNote(&x.agent); !strings.HasPrefix(got, x.want) || (got == "") != (x.want == "") {
			t.Errorf("%+v: %q, want %q", x.agent, got, x.want)
		}
	}
}
