package typefile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/handlers/tf"
	"southbound/shared/schema"
	"southbound/shared/tf/wire"
)

// TestTypesOfProviders writes types that were made of a provider's schema, and reads them back.
func TestTypesOfProviders(t *testing.T) {
	t.Parallel()
	s, err := wire.ParseSchemas([]byte(`{"resources":{"x_y":{"block":{
		"description":"Text: with\n\n` + "`code`" + ` and 'quotes'.","deprecated":true,"attributes":[
		{"name":"id","type":"string","optional":true,"computed":true},
		{"name":"password","type":"string","optional":true,"sensitive":true,"write_only":true},
		{"name":"it's","type":["object",{"x y":"string"}],"optional":true},
		{"name":"status","required":true,"nested":{"nesting":2,"attributes":[
			{"name":"n","type":"number","computed":true,"sensitive":true}]}}],
		"blocks":[{"name":"timeouts","nesting":1,"max_items":1,"block":{}},
		{"name":"rule","nesting":3,"max_items":1,"block":{"attributes":[
			{"name":"port","type":["tuple",["string","number"]],"required":true}]}}]}}},
		"data_sources":{"x_y":{"block":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	types, problems := tf.Types(tf.Origin{Local: "x", Address: "example.com/a/x"}, s)
	if len(problems) > 0 || len(types) != 2 {
		t.Fatal(types, problems)
	}
	if _, err := schema.NewRegistry(types...); err != nil {
		t.Fatal(err)
	}
	for format, write := range map[string]func(*schema.Type) ([]byte, error){
		"yaml": YAML, "json": JSON} {
		for i := range types {
			text, err := write(&types[i])
			if err != nil {
				t.Fatal(format, err)
			}
			again := One(types[i].Name, text)
			if d := cmp.Diff(types[i], again, same()); d != "" || len(again.Wrong) > 0 {
				t.Errorf("%s as %s: %v %s", types[i].Name, format, again.Wrong, d)
			}
		}
	}
}
