package tf

import (
	"slices"
	"testing"
)

// TestSecretOptions pins which options of agents may not be written in clear: each type declares them.
func TestSecretOptions(t *testing.T) {
	t.Parallel()
	types, _ := Types(Origin{Local: "x", Address: "example.com/a/x"}, schemas(t, `{
		"provider":{"block":{"attributes":[
			{"name":"url","type":"string","required":true},
			{"name":"token","type":"string","optional":true,"sensitive":true},
			{"name":"pin","type":"string","optional":true,"write_only":true},
			{"name":"by","optional":true,"nested":{"nesting":4,"attributes":[
				{"name":"key","type":"string","optional":true,"sensitive":true}]}}],
			"blocks":[{"name":"auth","nesting":2,"block":{"attributes":[
				{"name":"user","type":"string","optional":true},
				{"name":"password","type":"string","optional":true,"sensitive":true}]}}]}},
		"resources":{"x_y":{"block":{"attributes":[{"name":"id","type":"string","computed":true}]}}},
		"data_sources":{"x_y":{"block":{}}}}`))
	want := []string{"config/token", "config/pin", "config/by/*/key", "config/auth/password"}
	for i := range types {
		if got := types[i].SecretOptions; !slices.Equal(got, want) {
			t.Errorf("%s: %q, expected %q", types[i].Name, got, want)
		}
	}
	if len(types) != 2 {
		t.Errorf("%d types", len(types))
	}
}
