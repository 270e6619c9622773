package remote

import (
	"context"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// carrier is an echo whose Read carries a value that only this process can hold, and whose other
// calls report whether they got it.
type carrier struct{ echo }

func (carrier) Read(*provider.Context, provider.ReadRequest) (provider.Observation, error) {
	return provider.Observation{Exists: true, Carried: make(chan int)}, nil
}

func got(ctx *provider.Context, call string, v any) {
	if _, is := v.(chan int); is {
		ctx.Fact(call, "carried")
	} else {
		ctx.Fact(call, "nothing")
	}
}

func (carrier) Diff(
	ctx *provider.Context, _ provider.Resource, seen provider.Observation,
) (map[string]diff.Diff, error) {
	got(ctx, "diff", seen.Carried)
	return map[string]diff.Diff{"do": {Desired: "x", Replace: true}}, nil
}

func (carrier) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	got(ctx, "create", req.Carried)
	return provider.Result{}, nil
}

func (carrier) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	got(ctx, "update", req.Observed.Carried)
	return provider.Result{}, nil
}

func (carrier) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	got(ctx, "delete", req.Observed.Carried)
	return provider.Result{}, nil
}

// TestCarried pins that a carried value stays on the machine and reaches each later call there, and
// that it is lost with its connection.
func TestCarried(t *testing.T) {
	typ := echoType()
	serve := func() *Conn {
		c, _ := pairOf(t, 0, provider.Definition{Type: typ, Handler: carrier{}})
		return c
	}
	c, other := serve(), serve()
	h, err := Handler(typ, carrier{}, func(context.Context) (*Conn, error) { return c, nil })
	if err != nil {
		t.Fatal(err)
	}
	ctx := providertest.NewHost(nil).Context(t.Context(), provider.Options{})
	seen, err := h.Read(ctx, provider.ReadRequest{})
	if err != nil || seen.Carried == nil {
		t.Fatal(seen, err)
	}
	calls := func() (map[string]diff.Diff, error) {
		diffs, err := h.(provider.Differ).Diff(ctx, provider.Resource{}, seen)
		if err == nil {
			_, err = h.Create(ctx, provider.CreateRequest{Carried: seen.Carried})
		}
		if err == nil {
			_, err = h.Update(ctx, provider.UpdateRequest{Observed: seen})
		}
		if err == nil {
			_, err = h.Delete(ctx, provider.DeleteRequest{Observed: seen})
		}
		return diffs, err
	}
	for want, conn := range map[string]*Conn{"carried": c, "nothing": other} {
		c = conn
		diffs, err := calls()
		if err != nil || !diffs["do"].Replace {
			t.Fatal(diffs, err)
		}
		for _, call := range []string{"diff", "create", "update", "delete"} {
			if got := ctx.Known(call); got != want {
				t.Errorf("%s of another connection %v: %q, want %q", call, conn == other, got, want)
			}
		}
	}
}
