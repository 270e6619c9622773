package model

import (
	"slices"
	"strings"
	"testing"

	"southbound/shared/resource"
)

func TestClearOptions(t *testing.T) {
	t.Parallel()
	ref := resource.Secret{Source: "env:TOKEN"}
	config := func(v any) map[string]any { return map[string]any{"config": v} }
	for _, tt := range []struct {
		name    string
		options map[string]any
		path    string
		want    []string
	}{
		{"a text", config(map[string]any{"token": "s"}), "config/token", []string{"config/token"}},
		{"a number", config(map[string]any{"token": int64(4711)}), "config/token", []string{"config/token"}},
		{"a reference", config(map[string]any{"token": ref}), "config/token", nil},
		{"a text with a secret", config(map[string]any{"token": resource.Text{Parts: []any{"a", ref}}}), "config/token", nil},
		{"a text of other parts", config(map[string]any{"token": resource.Text{Parts: []any{"a",
			resource.Parameter{Name: "p"}}}}), "config/token", []string{"config/token"}},
		{"a parameter is stored in clear", config(map[string]any{"token": resource.Parameter{Name: "p"}}),
			"config/token", []string{"config/token"}},
		{"not set", config(map[string]any{"url": "u"}), "config/token", nil},
		{"no options", nil, "config/token", nil},
		{"a whole map is secret", config(map[string]any{"headers": map[string]any{"a": "x", "b": ref}}),
			"config/headers", []string{"config/headers/a"}},
		{"blocks as a list", config(map[string]any{"auth": []any{map[string]any{"password": ref},
			map[string]any{"password": "s", "user": "u"}}}), "config/auth/password",
			[]string{"config/auth/1/password"}},
		{"one block as a map", config(map[string]any{"auth": map[string]any{"password": "s"}}),
			"config/auth/password", []string{"config/auth/password"}},
		{"each member of a map", config(map[string]any{"by": map[string]any{"x": map[string]any{"key": "s"}}}),
			"config/by/*/key", []string{"config/by/x/key"}},
		{"another form than the schema's", config("text"), "config/token", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := clearAt(tt.options, strings.Split(tt.path, "/"), nil)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, expected %q", got, tt.want)
			}
		})
	}
}
