//go:build servers

package python_test

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/lang/python"
	"southbound/shared/provider"
)

// odd is a handler that says what JSON or UTF-8 does not have.
const odd = `
from inmanta.agent.handler import CRUDHandler, provider
from inmanta.resources import PurgeableResource, resource

@resource("slow::Thing", agent="a", id_attribute="name")
class Thing(PurgeableResource):
    fields = ("name", "how")

@provider("slow::Thing", name="odd")
class Handler(CRUDHandler[Thing]):
    def read_resource(self, ctx, thing):
        print("printed \ud83d")
        ctx.info("half %(half)s", half="a\ud83db", key={"\udc00": "\\ud83d"}, whole="\U0001f600")
        ctx.info("numbers", nan=float("nan"), inf=[float("-inf")], big=2**70 + 1)
        ctx.set_fact("half", "x\ud83d")
        ctx.set_fact("fine", "\u00e9")
        thing.how = "fail" if thing.how == "fail" else {"nan": float("nan"), "half": "\ud83d"}
        if thing.how == "fail":
            raise ValueError("no \ud83d")

    def update_resource(self, ctx, changes, thing):
        ctx.set_updated()
`

// TestOddValues holds that what JSON has no number for and half of a pair of surrogates, which no
// text can hold, are shown as Python shows them, cost nothing that is said beside them, and are
// never kept as the value of a fact.
func TestOddValues(t *testing.T) {
	r := serve(t, python.PackOptions{}, odd)
	said, err := r.read(t, "x")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`printed: printed \ud83d`, `half a\ud83db`,
		`the fact half is not kept`} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	values := map[string]map[string]any{}
	for _, line := range r.host.Lines() {
		kw, _ := provider.Plain(line.Kwargs).(map[string]any)
		values[strings.Fields(line.Msg)[0]] = kw
	}
	big1, _ := new(big.Int).SetString("1180591620717411303425", 10)
	for msg, want := range map[string]map[string]any{
		"half":    {"half": `a\ud83db`, "key": map[string]any{`\udc00`: `\ud83d`}, "whole": "😀"},
		"numbers": {"nan": "nan", "inf": []any{"-inf"}, "big": big1},
	} {
		if !reflect.DeepEqual(values[msg], want) {
			t.Errorf("%s has %#v, want %#v", msg, values[msg], want)
		}
	}
	if got, want := r.host.Facts(), map[string]any{"fine": "é"}; !reflect.DeepEqual(got, want) {
		t.Errorf("facts are %q, want %q", got, want)
	}
	changes, _ := json.Marshal(r.host.AttributeChanges()["how"].Current)
	if string(changes) != `{"half":"\\ud83d","nan":"nan"}` || r.host.Overridden() != diff.Updated {
		t.Errorf("%s was %s", changes, r.host.Overridden())
	}
	if _, err = r.read(t, "fail"); err == nil || !strings.Contains(err.Error(), `no \ud83d`) {
		t.Errorf("it says %v", err)
	}
}
