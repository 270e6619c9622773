package provider_test

import (
	"errors"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// former has methods with the signatures of an earlier kit.
type former struct{ provider.Handler }

func (former) Facts(*provider.Context, provider.ReadRequest) (map[string]string, error) {
	return map[string]string{}, nil
}

// pointed has its optional method on the pointer.
type pointed struct{ provider.Handler }

func (*pointed) Reload(*provider.Context, provider.ReadRequest) error { return nil }

// fitting implements the interfaces that it names.
type fitting struct{ provider.Handler }

func (fitting) Facts(*provider.Context, provider.ReadRequest) (map[string]any, error) {
	return map[string]any{}, nil
}

// Lists is no method of an optional interface.
func (fitting) Lists() {}

// TestMismatches pins that a definition is refused if the engine would ignore a method of its handler.
func TestMismatches(t *testing.T) {
	t.Parallel()
	named := []schema.Attribute{{Name: "name", Type: "String", Behaviour: schema.Namevar}}
	for _, c := range []struct {
		handler provider.Handler
		says    []string
	}{
		{fitting{}, nil},
		{&pointed{}, nil},
		{former{}, []string{"the handler's method Facts is func(*provider.Context, provider.ReadRequest) " +
			"(map[string]string, error), which is no provider.FactReader: it is never called",
			"change its signature to func(*provider.Context, provider.ReadRequest) (map[string]any, error)"}},
		{&former{}, []string{"which is no provider.FactReader"}},
		{pointed{}, []string{"the method Reload has a pointer receiver, and the handler is a value",
			"give the definition a pointer to the handler"}},
	} {
		plain := provider.Definition{Type: schema.Type{Name: "acme::T", Attributes: named}, Handler: c.handler}
		choice := provider.Define(plain.Type, provider.Provider{Name: "one", Handler: c.handler})
		for _, d := range []provider.Definition{plain, choice} {
			_, err := provider.NewRegistry([]provider.Definition{d})
			if (err != nil) != (len(c.says) > 0) {
				t.Errorf("%T: %v", c.handler, err)
			}
			var problems diag.Problems
			says := ""
			if errors.As(err, &problems) {
				says = problems[0].Message + "; " + problems[0].Hint
			}
			for _, want := range c.says {
				if !strings.Contains(says, want) {
					t.Errorf("%T: %q does not say %q", c.handler, says, want)
				}
			}
		}
	}
}
