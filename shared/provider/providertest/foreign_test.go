package providertest_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	api "southbound/shared/transport/http"
	"southbound/shared/transport/http/apitest"
)

// patched is a lamp whose updates send only what differs.
type patched struct{ lamp }

func (patched) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	_, err := api.Call(ctx, http.MethodPatch, lampPath(req.Resource),
		map[string]any{"watts": req.Resource.Attributes["watts"]}, nil)
	return provider.Result{}, err
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
		}, "update 1 does not leave alone what Foreign of the case has added"},
		{"a managed member", patched{}, func(target *apitest.API, path string) error {
			return target.Add(path, "watts", 77)
		}, `after Foreign of the case has added something, it would be updated`},
		{"nothing", patched{}, func(*apitest.API, string) error { return nil },
			"what Foreign of the case adds is not in what World describes"},
		{"no way to add", patched{}, func(*apitest.API, string) error { return errors.New("no") },
			"Foreign of the case: no"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			t.Parallel()
			target := apitest.New(t)
			s := lampsOf(target, tc.handler, &target.Stopper, target.Conn)
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
