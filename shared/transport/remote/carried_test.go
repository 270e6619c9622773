package remote

import (
	"context"
	"strings"
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

// recaller keeps state on the machine.
type recaller struct{ echo }

func (recaller) Keeps(provider.Resource) bool { return true }

func (recaller) Create(
	ctx *provider.Context, _ provider.CreateRequest,
) (provider.Result, error) {
	err := ctx.Keep([]byte("one"))
	if err == nil {
		err = ctx.KeepWithOutputs(append(ctx.Kept(), " and two"...),
			map[string]any{"words": []any{"far-away-word"}})
	}
	return provider.Result{}, err
}

func (recaller) Update(
	ctx *provider.Context, _ provider.UpdateRequest,
) (provider.Result, error) {
	return provider.Result{}, ctx.Keep(make([]byte, provider.MaxKept+1))
}

func (recaller) Delete(
	ctx *provider.Context, _ provider.DeleteRequest,
) (provider.Result, error) {
	ctx.Fact("kept", string(ctx.Kept()))
	return provider.Result{}, ctx.Keep(nil)
}

// TestKeep pins that a handler on a machine keeps state at the engine, and gets it in later calls.
func TestKeep(t *testing.T) {
	typ := echoType()
	c, _ := pairOf(t, 0, provider.Definition{Type: typ, Handler: recaller{}})
	h, err := Handler(typ, recaller{}, func(context.Context) (*Conn, error) { return c, nil })
	if err != nil {
		t.Fatal(err)
	}
	if k, is := provider.As[provider.Keeper](h); !is || !k.Keeps(provider.Resource{}) {
		t.Fatal("it keeps no state")
	}
	host := providertest.NewHost(nil)
	ctx := func(dry bool) *provider.Context {
		return host.Context(t.Context(), provider.Options{ID: "x", DryRun: dry})
	}
	if _, err := h.Create(ctx(true), provider.CreateRequest{}); err == nil {
		t.Error("a dry run kept state")
	}
	first := ctx(false)
	if _, err := h.Create(first, provider.CreateRequest{}); err != nil ||
		string(first.Kept()) != "one and two" {
		t.Errorf("kept %q, %v", first.Kept(), err)
	}
	first.Info("it is far-away-word")
	if out := host.Output(); !strings.Contains(out, "it is ") || strings.Contains(out, "far-away-word") {
		t.Errorf("an output is no secret of the run: %s", out)
	}
	if _, err := h.Update(first, provider.UpdateRequest{}); provider.ClassOf(err) != provider.Terminal {
		t.Errorf("too much: %v", err)
	}
	next := ctx(false)
	if _, err := h.Delete(next, provider.DeleteRequest{}); err != nil ||
		next.Known("kept") != "one and two" || len(next.Kept()) != 0 {
		t.Errorf("the next run got %q, and left %q, %v", next.Known("kept"), next.Kept(), err)
	}
}
