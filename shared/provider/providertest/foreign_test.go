package providertest_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
	api "southbound/shared/transport/http"
	"southbound/shared/transport/http/apitest"
)

// lamp is a handler for objects of an API, which it writes whole.
type lamp struct{}

func lampPath(r provider.Resource) string {
	return api.Path("lamps", fmt.Sprint(r.Attributes["name"]))
}

func (lamp) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	var got struct {
		Watts int64 `json:"watts"`
	}
	found, err := api.Call(ctx, http.MethodGet, lampPath(req.Resource), nil, &got)
	if err != nil || !found {
		return provider.Observation{}, err
	}
	return provider.Observation{Exists: true, Attributes: map[string]any{"watts": got.Watts}}, nil
}

func (lamp) put(ctx *provider.Context, r provider.Resource) (provider.Result, error) {
	_, err := api.Call(ctx, http.MethodPut, lampPath(r),
		map[string]any{"watts": r.Attributes["watts"]}, nil)
	return provider.Result{}, err
}

func (l lamp) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return l.put(ctx, req.Resource)
}

func (l lamp) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return l.put(ctx, req.Resource)
}

func (lamp) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	_, err := api.Call(ctx, http.MethodDelete, lampPath(req.Resource), nil, nil)
	return provider.Result{}, err
}

// patched is a lamp whose updates send only what differs.
type patched struct{ lamp }

func (patched) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	_, err := api.Call(ctx, http.MethodPatch, lampPath(req.Resource),
		map[string]any{"watts": req.Resource.Attributes["watts"]}, nil)
	return provider.Result{}, err
}

func lampsOf(target *apitest.API, h provider.Handler) providertest.Subject {
	return providertest.Subject{
		Definition: provider.Definition{Handler: h, Type: schema.Type{Name: "test::Lamp",
			Description: "a lamp", Transports: []string{"http"},
			Thing: schema.ByIdentity("name"), Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
				{Name: "watts", Type: "Integer", Description: "how bright it is"},
			}}},
		Transport: target.Conn,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			prefix := target.Prefix()
			return providertest.Case{
				Attributes: map[string]any{"name": prefix + "a", "watts": int64(1)},
				Updates:    []map[string]any{{"watts": int64(2)}},
				Others:     []map[string]any{{"name": prefix + "b", "watts": int64(3)}},
				World:      func() (string, error) { return target.World(prefix) },
				Interrupt:  target.Interrupt,
			}, nil
		},
	}
}

// TestForeign finds updates that take away what nobody manages: with PUT, members of the object
// that the type does not declare.
func TestForeign(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		why     string
		handler provider.Handler
		foreign func(target *apitest.API, path string) error
		says    string
	}{
		{"right", patched{}, func(target *apitest.API, path string) error {
			return target.Add(path, "owner", "somebody else")
		}, ""},
		{"written whole", lamp{}, func(target *apitest.API, path string) error {
			return target.Add(path, "owner", "somebody else")
		}, "update 1 changes an addition of Foreign of the case"},
		{"a managed member", patched{}, func(target *apitest.API, path string) error {
			return target.Add(path, "watts", 77)
		}, `after Foreign of the case has added something, it would be updated`},
		{"nothing", patched{}, func(*apitest.API, string) error { return nil },
			"World of the case does not describe the addition of Foreign"},
		{"no way to add", patched{}, func(*apitest.API, string) error { return errors.New("no") },
			"Foreign of the case: no"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			target := apitest.New(t)
			s := lampsOf(target, tc.handler)
			newCase := s.New
			s.New = func(dir string, host *providertest.Host) (providertest.Case, error) {
				c, err := newCase(dir, host)
				name, _ := c.Attributes["name"].(string)
				c.Foreign = func() error { return tc.foreign(target, "/lamps/"+name) }
				return c, err
			}
			found := providertest.Verify(t.Context(), s,
				func() (string, error) { return t.TempDir(), nil })
			switch {
			case tc.says == "" && len(found) == 0:
			case len(found) != 1 || found[0].Check != "foreign" ||
				!strings.Contains(found[0].Err.Error(), tc.says):
				t.Errorf("%+v", found)
			}
		})
	}
}
