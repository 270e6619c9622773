package tf

import (
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/schema"
	"southbound/shared/tf/packages"
)

// TestImportedTwice pins that two resources do not manage one object.
func TestImportedTwice(t *testing.T) {
	t.Parallel()
	y, z := schema.Type{Name: "tf::x::Y"}, schema.Type{Name: "tf::x::Z"}
	of := func(id string, typ schema.Type, object any) provider.BridgedResource {
		return provider.BridgedResource{ID: id, Type: typ, Attributes: map[string]any{attrImport: object}}
	}
	got := importedTwice([]provider.BridgedResource{of("a", y, "1"), of("b", y, "2"), of("c", z, "1"),
		of("d", y, "1"), of("e", y, nil), of("f", y, nil)})
	if len(got) != 1 || got[0].Resource != "d" || got[0].Message != `a imports the object "1", too` {
		t.Errorf("%+v", got)
	}
}

// TestCheck pins what is checked where the provider is not installed. With the provider, see the scripts
// of shared/cli.
func TestCheck(t *testing.T) {
	t.Parallel()
	typ := schema.Type{Name: "tf::x::Y", Metadata: map[string]any{MetaType: "x_y", MetaVersion: "1.0.0",
		MetaProvider: "example.com/a/x", MetaDeprecated: map[string]any{"": "Use Z.", "old": "Use new."}}}
	for address, want := range map[string]string{
		"example.com/a/x": "",
		"a/x":             "r agent: the agent has the provider registry.opentofu.org/a/x, and tf::x::Y is a type of example.com/a/x",
		"x":               ` : the option provider: read address of a provider: "x" does not have the form NAMESPACE/TYPE`,
	} {
		b := Bridge(Options{Store: &packages.Store{Dir: t.TempDir()}}).Bridge
		problems, warnings := b.Check(t.Context(), provider.BridgedAgent{Name: "a",
			Options: map[string]any{"provider": address, "config": map[string]any{"odd": true}},
			Resources: []provider.BridgedResource{{ID: "r", Type: typ,
				Attributes: map[string]any{"old": "x", "new": "y"}}}})
		var got []string
		for _, p := range problems {
			got = append(got, p.Resource+" "+p.Attribute+": "+p.Message)
		}
		if strings.Join(got, "\n") != want {
			t.Errorf("%s: %q", address, got)
		}
		if len(warnings) != 2 || warnings[0].Attribute != "type" || warnings[1].Attribute != "old" {
			t.Errorf("%s: warnings %v", address, warnings)
		}
	}
}
