package tf

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// fill sets every field to a value that is not zero. Structs are nested one level.
func fill(v reflect.Value, depth int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("s")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint8:
		v.SetUint('1')
	case reflect.Slice:
		if depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0), depth-1)
		}
	case reflect.Pointer:
		if depth > 0 {
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), depth-1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth)
		}
	}
}

// TestSchemas pins that no field of a schema is forgotten: both forms have the same fields.
func TestSchemas(t *testing.T) {
	t.Parallel()
	var s wire.Schema
	fill(reflect.ValueOf(&s).Elem(), 4)
	from := &wire.Schemas{Provider: s, Resources: map[string]wire.Schema{"x_y": s},
		DataSources: map[string]wire.Schema{"x_z": s}}
	got := Schemas(from)
	for _, pair := range [][2]any{{from.Provider, got.Provider},
		{from.Resources["x_y"], got.Resources["x_y"]}, {from.DataSources["x_z"], got.DataSources["x_z"]}} {
		a, b := plain(t, pair[0]), plain(t, pair[1])
		if a != b {
			t.Errorf("got\n%s\nwant\n%s", b, a)
		}
	}
}

// plain returns all fields by their names in Go, in the same order for both forms.
func plain(t *testing.T, v any) string {
	t.Helper()
	var tree func(v reflect.Value) any
	tree = func(v reflect.Value) any {
		switch v.Kind() {
		case reflect.Struct:
			out := map[string]any{}
			for i := range v.NumField() {
				out[v.Type().Field(i).Name] = tree(v.Field(i))
			}
			return out
		case reflect.Pointer:
			if v.IsNil() {
				return nil
			}
			return tree(v.Elem())
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				return string(v.Bytes())
			}
			out := make([]any, v.Len())
			for i := range out {
				out[i] = tree(v.Index(i))
			}
			return out
		}
		return v.Interface()
	}
	b, err := json.Marshal(tree(reflect.ValueOf(v)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestValuesOnTheWire(t *testing.T) {
	t.Parallel()
	var s value.Schema
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
