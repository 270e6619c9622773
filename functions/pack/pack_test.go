package pack

import (
	"reflect"
	"testing"

	"southbound/functions/internal/api"
	"southbound/functions/internal/export"
	"southbound/functions/internal/handler"
	"southbound/functions/internal/log"
	"southbound/functions/internal/sweep"
	"southbound/shared/provider"
)

// TestFunction pins which function a program is in Lambda.
func TestFunction(t *testing.T) {
	for _, tc := range []struct {
		why, variable, handler string
		want                   func([]provider.Definition)
	}{
		{"the variable", "export", "bootstrap", export.Main},
		{"the variable before the Handler", "log", "sweep", log.Main},
		{"the Handler", "", "sweep", sweep.Main},
		{"a Handler with a directory", "", "bin/api", api.Main},
		{"the usual Handler of a custom runtime", "", "bootstrap", handler.Main},
		{"nothing", "", "", handler.Main},
	} {
		got := function(func(name string) string {
			return map[string]string{EnvFunction: tc.variable, "_HANDLER": tc.handler}[name]
		})
		if reflect.ValueOf(got).Pointer() != reflect.ValueOf(tc.want).Pointer() {
			t.Errorf("%s: another function", tc.why)
		}
	}
}
