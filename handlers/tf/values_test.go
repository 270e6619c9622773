package tf

import (
	"encoding/json"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

func TestValuesOnTheWire(t *testing.T) {
	t.Parallel()
	var s wire.Schema
	err := json.Unmarshal([]byte(`{"block":{"attributes":[{"name":"a","type":"string","optional":true}]}}`),
		&s)
	if err != nil {
		t.Fatal(err)
	}
	typ, err := value.Compile(&s)
	if err != nil {
		t.Fatal(err)
	}
	v := cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("x")})
	sent, err := encode(typ, v)
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		from wire.DynamicValue
		want cty.Value
	}{
		"msgpack": {sent, v}, "JSON": {wire.DynamicValue{JSON: []byte(`{"a":"x"}`)}, v},
		"nothing": {wire.DynamicValue{}, typ.Null()},
	} {
		if got, err := decode(typ, x.from); err != nil || !got.RawEquals(x.want) {
			t.Errorf("%s: got %#v, %v", name, got, err)
		}
	}
	p := wire.Path{{Name: "a"}, {Kind: wire.StepKey, Name: "k/l"}, {Kind: wire.StepIndex, At: 3},
		{Kind: wire.StepUnknown}, {Name: "b"}}
	if got := value.Pointer(pathOf(p)); got != "a/k~1l/3" {
		t.Errorf("got %s", got)
	}
}
