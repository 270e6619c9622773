package providertest_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
	api "southbound/shared/transport/http"
	"southbound/shared/transport/http/apitest"
)

// lamp is a handler for objects of an API. In one of its methods it is deaf: its requests go on
// when the context of the call has ended.
type lamp struct{ deaf string }

func (l lamp) context(ctx *provider.Context, method string) *provider.Context {
	if method == l.deaf {
		return ctx.With(context.WithoutCancel(ctx))
	}
	return ctx
}

func lampPath(r provider.Resource) string {
	return api.Path("lamps", fmt.Sprint(r.Attributes["name"]))
}

func (l lamp) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	var got struct {
		Watts int64 `json:"watts"`
	}
	found, err := api.Call(l.context(ctx, "Read"), http.MethodGet, lampPath(req.Resource), nil, &got)
	if err != nil || !found {
		return provider.Observation{}, err
	}
	return provider.Observation{Exists: true, Attributes: map[string]any{"watts": got.Watts}}, nil
}

func (l lamp) put(
	ctx *provider.Context, method string, r provider.Resource,
) (provider.Result, error) {
	// The first of its requests always listens: a call is not heard to listen by its first alone.
	if _, err := api.Call(ctx, http.MethodGet, lampPath(r), nil, nil); err != nil {
		return provider.Result{}, err
	}
	_, err := api.Call(l.context(ctx, method), http.MethodPut, lampPath(r),
		map[string]any{"watts": r.Attributes["watts"]}, nil)
	return provider.Result{}, err
}

func (l lamp) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return l.put(ctx, "Create", req.Resource)
}

func (l lamp) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return l.put(ctx, "Update", req.Resource)
}

func (l lamp) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	_, err := api.Call(l.context(ctx, "Delete"), http.MethodDelete, lampPath(req.Resource), nil, nil)
	return provider.Result{}, err
}

// listed is a lamp that also lists and reports facts, each with a request.
type listed struct{ lamp }

func (l listed) List(ctx *provider.Context, _ func(provider.Found) error) error {
	_, err := api.Call(l.context(ctx, "List"), http.MethodGet, api.Path("lamps"), nil, nil)
	return err
}

func (l listed) Facts(
	ctx *provider.Context, req provider.ReadRequest,
) (map[string]string, error) {
	_, err := api.Call(l.context(ctx, "Facts"), http.MethodGet, lampPath(req.Resource), nil, nil)
	return map[string]string{"made": "by hand"}, err
}

// TestDeafBeside finds that also of calls that a handler need not have.
func TestDeafBeside(t *testing.T) {
	for _, deaf := range []string{"", "List", "Facts"} {
		t.Run(deaf, func(t *testing.T) {
			t.Parallel()
			target := apitest.New(t)
			s := lampsOf(target, listed{lamp{deaf}}, &target.Stopper, target.Conn)
			s.Definition.Type.Features = []string{"discover", "facts"}
			newCase := s.New
			s.New = func(dir string, host *providertest.Host) (providertest.Case, error) {
				c, err := newCase(dir, host)
				c.Unlisted = "there is no list of lamps"
				return c, err
			}
			if deaf != "" {
				s = s.Grace(time.Second)
			}
			found := providertest.Verify(t.Context(), s,
				func() (string, error) { return t.TempDir(), nil })
			if deaf == "" && len(found) == 0 {
				return
			}
			if len(found) != 1 ||
				!strings.Contains(found[0].Err.Error(), deaf+" is deaf to its context") {
				t.Errorf("%+v", found)
			}
		})
	}
}

// lamps is a subject whose API is in memory, in front of which there may be a proxy.
func lamps(t *testing.T, deaf string, proxy bool) providertest.Subject {
	t.Helper()
	target := apitest.New(t)
	stopper, conn := &target.Stopper, target.Conn
	if proxy {
		front := apitest.Wrap(t, target.URL, nil)
		stopper, conn = &front.Stopper, front.Conn
	}
	return lampsOf(target, lamp{deaf}, stopper, conn)
}

// lampsOf is a subject with a handler.
func lampsOf(
	target *apitest.API, h provider.Handler, stopper *providertest.Stopper, conn *api.Conn,
) providertest.Subject {
	return providertest.Subject{
		Definition: provider.Definition{Handler: h, Type: schema.Type{Name: "test::Lamp",
			Description: "a lamp", Transports: []string{"http"},
			Thing: schema.ByIdentity("name"), Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
				{Name: "watts", Type: "Integer", Description: "how bright it is"},
			}}},
		Transport: conn,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			prefix := target.Prefix()
			return providertest.Case{
				Attributes: map[string]any{"name": prefix + "a", "watts": int64(1)},
				Updates:    []map[string]any{{"watts": int64(2)}},
				Others:     []map[string]any{{"name": prefix + "b", "watts": int64(3)}},
				World:      func() (string, error) { return target.World(prefix) },
				Interrupt:  stopper.Interrupt,
				Stall:      stopper.Stall,
			}, nil
		},
	}
}

// TestDeafToContext finds calls that go on after their context has ended, while an API over HTTP
// accepts requests and does not answer.
func TestDeafToContext(t *testing.T) {
	for _, proxy := range []bool{false, true} {
		for _, deaf := range []string{"", "Read", "Create", "Update", "Delete"} {
			t.Run(fmt.Sprintf("proxy %t %s", proxy, deaf), func(t *testing.T) {
				t.Parallel()
				s := lamps(t, deaf, proxy)
				if deaf != "" {
					s = s.Grace(time.Second)
				}
				found := providertest.Verify(t.Context(), s,
					func() (string, error) { return t.TempDir(), nil })
				if deaf == "" {
					if len(found) > 0 {
						t.Errorf("nothing is wrong, and it says %+v", found)
					}
					return
				}
				if len(found) != 1 || found[0].Check != "stalled" ||
					!strings.Contains(found[0].Err.Error(), deaf+" is deaf to its context") ||
					!strings.Contains(found[0].Fix, "hand the context of the call on") {
					t.Errorf("%+v", found)
				}
			})
		}
	}
}
