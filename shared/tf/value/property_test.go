package value

import (
	"errors"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/fault"
	"southbound/shared/tf/wire"
)

// TestProperties holds for any schema and any values under it.
func TestProperties(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		x := trialOf(t, seed)
		typ := x.typ
		for _, v := range []cty.Value{x.prior, x.config, x.planned, typ.Null()} {
			b, err := typ.Msgpack(v)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			back, err := typ.FromMsgpack(b)
			if err != nil || !back.RawEquals(v) {
				t.Fatalf("seed %d: msgpack reads back as\n%#v\n%#v\n%v", seed, v, back, err)
			}
			if c := typ.Changes(v, v, x.config); len(c.Changed)+len(c.Computed) > 0 {
				t.Fatalf("seed %d: a value differs from itself: %v", seed, c)
			}
			if !v.IsWhollyKnown() {
				continue
			}
			text, err := typ.JSON(v)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			back, err = typ.FromJSON(text)
			if err != nil || !back.RawEquals(v) {
				t.Fatalf("seed %d: JSON reads back as\n%#v\n%#v\n%v", seed, v, back, err)
			}
		}
		proposed := typ.Proposed(x.prior, x.config)
		if again := typ.Proposed(proposed, x.config); proposed.IsWhollyKnown() &&
			!again.RawEquals(proposed) && !hasSets(typ.Cty()) {
			t.Fatalf("seed %d: a proposed state is not proposed again:\n%#v\n%#v", seed, proposed,
				again)
		}
		if bad := typ.CheckPlan(x.prior, x.config, proposed); len(bad) > 0 && !hasSets(typ.Cty()) {
			t.Fatalf("seed %d: a proposed state is not a valid plan: %v\n%#v\n%#v\n%#v", seed, bad,
				x.prior, x.config, proposed)
		}
		same := x.planned.RawEquals(x.prior)
		c := typ.Changes(x.prior, x.planned, x.config)
		if none := len(c.Changed)+len(c.Computed) == 0; same && !none {
			t.Fatalf("seed %d: equal states differ: %v", seed, c)
		} else if none && !same && !x.prior.IsNull() && !typ.Normalize(x.prior).RawEquals(typ.Normalize(x.planned)) {
			t.Fatalf("seed %d: no difference found between\n%#v\n%#v", seed, x.prior, x.planned)
		}
		for _, p := range typ.Replacements(c.Computed, x.prior, x.planned) {
			if v, ok := apply(x.planned, p); !ok || v.IsKnown() && !v.Type().IsSetType() {
				t.Fatalf("seed %d: %s does not become unknown", seed, Pointer(p))
			}
		}
	}
}

func hasSets(ty cty.Type) bool {
	switch {
	case ty.IsSetType():
		return true
	case ty.IsCollectionType():
		return hasSets(ty.ElementType())
	case ty.IsObjectType():
		for _, e := range ty.AttributeTypes() {
			if hasSets(e) {
				return true
			}
		}
	}
	return false
}

// TestAttributesReadBack makes attributes of a configuration, and the configuration of them again.
func TestAttributesReadBack(t *testing.T) {
	t.Parallel()
	for seed := range uint64(150) {
		g := newGen(seed)
		typ, err := Compile(g.schema())
		if err != nil {
			t.Fatal(err)
		}
		v := g.object(typ.root, style{config: true})
		back, err := typ.FromAttributes(typ.Attributes(v))
		if err != nil || !back.RawEquals(v) {
			t.Fatalf("seed %d: %v\n%#v\n%#v", seed, err, v, back)
		}
	}
}

// FuzzFromMsgpack reads any bytes, and writes and reads again what was read.
func FuzzFromMsgpack(f *testing.F) {
	for seed := range uint64(20) {
		x := trialOf(f, seed)
		b, err := x.typ.Msgpack(x.planned)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed, b)
	}
	f.Add(uint64(0), []byte{0xdd, 0xff, 0xff, 0xff, 0xff})      // four billion elements
	f.Add(uint64(0), []byte{0x81, 0xa1, 'a', 0xcb, 0x7f, 0xf8}) // not a number
	f.Fuzz(func(t *testing.T, seed uint64, b []byte) {
		typ, err := Compile(newGen(seed % 20).schema())
		if err != nil {
			t.Fatal(err)
		}
		v, err := typ.FromMsgpack(b)
		if err != nil {
			damagedOnly(t, err)
			return
		}
		out, err := typ.Msgpack(v)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := typ.FromMsgpack(out); err != nil || !same(back, v) {
			t.Fatalf("%v\n%#v\n%#v", err, v, back)
		}
		typ.Proposed(typ.Null(), v)
		typ.Normalize(v)
		typ.Attributes(v)
	})
}

// FuzzSchemas reads any text as schemas, and compiles them.
func FuzzSchemas(f *testing.F) {
	f.Add([]byte(`{"provider":{"block":{}},"resources":{"x_y":{"version":1,"block":{"attributes":` +
		`[{"name":"id","type":"string","computed":true}],"blocks":[{"name":"b","nesting":3,` +
		`"block":{"attributes":[{"name":"n","nested":{"nesting":4,"attributes":[{"name":"m",` +
		`"type":["list",["object",{"x":"dynamic"}]]}]}}]}}]}}}}`))
	f.Add([]byte(`{"resources":{"x":{"block":{"attributes":[{"name":"a","type":"dynamic"}]}}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := wire.ParseSchemas(text)
		if err != nil {
			damagedOnly(t, err)
			return
		}
		for name, r := range s.Resources {
			typ, err := Compile(&r)
			if err != nil {
				if !fault.Is(err, fault.Unsupported) {
					t.Fatal(err)
				}
				continue
			}
			v := typ.root.empty()
			if b, err := typ.Msgpack(v); err != nil {
				t.Fatal(name, err)
			} else if back, err := typ.FromMsgpack(b); err != nil || !back.RawEquals(v) {
				t.Fatalf("%s: %v\n%#v\n%#v", name, err, v, back)
			}
		}
	})
}

func damagedOnly(t *testing.T, err error) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Damaged {
		t.Fatalf("an error of the kind %q: %v", fault.KindOf(err), err)
	}
}
