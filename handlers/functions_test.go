package handlers

import (
	"strings"
	"testing"

	"southbound/handlers/tf"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

// TestInFunctions pins that the functions of the AWS home accept and refuse the agents of Terraform
// providers as a program with the bridge does, leave them to runners, and run no provider.
func TestInFunctions(t *testing.T) {
	t.Parallel()
	functions, err := transport.BroughtBy(InFunctions())
	if err != nil {
		t.Fatal(err)
	}
	bridge, end := tf.Local()
	defer end()
	runner, err := transport.BroughtBy(append(All(), bridge))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why     string
		options map[string]any
		says    string // "": accepted
	}{
		{"a provider", map[string]any{"provider": "hashicorp/time"}, ""},
		{"everything", map[string]any{"provider": "a/b", "config": map[string]any{"x": int64(1)},
			"env": map[string]any{"A": "b"}}, ""},
		{"no provider", nil, "the option provider is missing"},
		{"an unknown option", map[string]any{"provider": "a/b", "configs": map[string]any{}}, "configs"},
		{"a wrong variable", map[string]any{"provider": "a/b", "env": map[string]any{"A B": "c"}},
			"the option env"},
	} {
		a := resource.Agent{Name: "clock", Transport: tf.Transport, Options: c.options}
		for name, packs := range map[string]transport.Packs{"functions": functions, "runner": runner} {
			got := packs.Check(a)
			if (len(got) == 0) != (c.says == "") ||
				len(got) > 0 && !strings.Contains(got[0].Message, c.says) {
				t.Errorf("%s, %s: %v", c.why, name, got)
			}
			if !packs.ByRunner(a) {
				t.Errorf("%s, %s: a function serves the agent", c.why, name)
			}
		}
	}
	_, err = (&transport.Connector{Packs: functions}).Connect(t.Context(), resource.Agent{Name: "clock",
		Transport: tf.Transport, Options: map[string]any{"provider": "hashicorp/time"}})
	if !fault.Is(err, fault.Unsupported) ||
		!strings.Contains(fault.HintOf(err), "run `southbound agent run clock`") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}
