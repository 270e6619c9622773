package deploy_test

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// odd is the test's handler, which reads and says what a case wants for the resource "odd".
type odd struct {
	handler
	read func(c *provider.Context) map[string]any
	act  func(c *provider.Context) provider.Result
	diff func() map[string]diff.Diff
}

func (o odd) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	if o.read == nil || nameOf(req.Resource) != "odd" {
		return o.handler.Read(ctx, req)
	}
	return provider.Observation{Exists: true, Attributes: o.read(ctx)}, nil
}

func (o odd) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	if o.act != nil {
		return o.act(ctx), nil
	}
	return o.handler.Update(ctx, req)
}

func (o odd) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	if o.act != nil && nameOf(req.Resource) == "odd" {
		return o.act(ctx), nil
	}
	return o.handler.Create(ctx, req)
}

// differ compares, too.
type differ struct{ odd }

func (d differ) Diff(
	_ *provider.Context, r provider.Resource, _ provider.Observation,
) (map[string]diff.Diff, error) {
	if nameOf(r) != "odd" {
		return nil, nil
	}
	return d.diff(), nil
}

// TestValuesFromHandlersAreBounded has a handler say and read what cannot be stored. It costs that
// resource at most, and never the others of its lane, and all that is recorded can be written as
// JSON.
func TestValuesFromHandlersAreBounded(t *testing.T) {
	t.Parallel()
	itself := map[string]any{}
	itself["self"] = itself
	done := provider.Result{}
	says := func(f func(c *provider.Context)) odd {
		return odd{act: func(c *provider.Context) provider.Result { f(c); return done }}
	}
	for _, c := range []struct {
		why    string
		h      provider.Handler
		status state.Status
		record string // part of the record as JSON
	}{
		{"NaN in the log", says(func(c *provider.Context) {
			c.Info("load", "value", math.NaN(), "list", []any{math.Inf(1)})
		}), "deployed", `{"list":["+Inf"],"value":"NaN"}`},
		{"a map that holds itself in the log", says(func(c *provider.Context) {
			c.Info("x", "map", itself)
		}), "deployed", `(holds itself)`},
		{"structure in the log", says(func(c *provider.Context) {
			c.Info("x", "all", map[string]any{"at": time.Unix(0, 0).UTC(), "bytes": []byte("hi"),
				"struct": struct {
					A int `json:"a"`
				}{1}})
		}), "deployed", `{"all":{"at":"1970-01-01T00:00:00Z","bytes":"aGk=","struct":{"a":1}}}`},
		{"much in one line", says(func(c *provider.Context) {
			c.Info("x", "list", slices.Repeat([]string{strings.Repeat("y", 1000)}, 1000))
		}), "deployed", `{"left_out":"`},
		{"much in all lines", says(func(c *provider.Context) {
			for range 900 {
				c.Info(strings.Repeat("y", 10_000))
			}
		}), "deployed", `the rest is left out`},
		{"NaN that was changed", says(func(c *provider.Context) {
			c.Changed("value", math.NaN(), itself)
		}), "deployed", `"current":"NaN"`},
		{"NaN that was read",
			odd{read: func(*provider.Context) map[string]any {
				return map[string]any{"value": math.NaN()}
			}}, "deployed", `"current":"NaN"`},
		{"a map that holds itself that was read",
			odd{read: func(*provider.Context) map[string]any {
				return map[string]any{"value": itself}
			}}, "deployed", `(holds itself)`},
		{"NaN in a comparison",
			differ{odd{read: func(*provider.Context) map[string]any { return nil },
				diff: func() map[string]diff.Diff {
					return map[string]diff.Diff{"value": {Current: math.NaN(), Desired: itself}}
				}}}, "deployed", `"current":"NaN"`},
		{"a change that is none", says(func(c *provider.Context) {
			c.SetChange("improved")
		}), "failed", `the handler reported \"improved\", which is not a change`},
		{"a fact without a name", says(func(c *provider.Context) {
			c.Fact("", "x")
			c.Fact("long", strings.Repeat("x", 1<<20))
		}), "deployed", `is refused: its name has 0 bytes`},
		{"much to be given back", odd{act: func(*provider.Context) provider.Result {
			return provider.Result{Again: &provider.Again{After: time.Second,
				State: make([]byte, 4097)}}
		}}, "failed", `asks to be given back 4097 bytes`},
	} {
		r := newRig(t)
		h := c.h
		switch o := h.(type) {
		case odd:
			o.handler = handler{r.w}
			h = o
		case differ:
			o.handler = handler{r.w}
			h = o
		}
		r.e.Handlers["t::T"] = h
		r.export(deploy.Export{Model: modelOf(res("b"), res("odd"), res("z"))})
		r.drain()
		r.want("b", state.StatusDeployed)
		r.want("z", state.StatusDeployed)
		r.want("odd", c.status)
		text, err := json.Marshal(r.last("odd"))
		if err != nil || !strings.Contains(string(text), c.record) || len(text) > 8<<20 {
			t.Errorf("%s: %.2000s, %v", c.why, text, err)
		}
	}
}

// TestReadIsHeldToTheType reports what a handler reads that is not as its type declares it, as the
// setting strict says.
func TestReadIsHeldToTheType(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why    string
		strict provider.Strictness
		read   map[string]any
		status state.Status
		lines  []string // "message | attribute type value"
	}{
		{"a number for a text", "", map[string]any{"value": 80}, "deployed", []string{
			`the handler reports attributes that its type does not declare: value: expected a String, got the integer 80 | value String 80`}},
		{"strict", provider.StrictError, map[string]any{"value": 80}, "failed", []string{
			`the handler reports attributes that its type does not declare: value: expected a String, got the integer 80 | <nil> <nil> <nil>`}},
		{"off", provider.StrictOff, map[string]any{"value": 80, "vlaue": 1}, "deployed", nil},
		{"not declared", provider.StrictWarning, map[string]any{"value": "v", "vlaue": 1},
			"deployed", []string{
				`the handler reports attributes that its type does not declare: vlaue: t::T does not declare the attribute "vlaue" | vlaue <nil> <nil>`}},
		{"what is not known is right", "", map[string]any{"value": "v", "note": nil, "serial": nil},
			"deployed", nil},
		{"a secret", "", map[string]any{"value": "v", "pin": "hunter2"}, "deployed", []string{
			`the handler reports attributes that its type does not declare: pin: expected an Integer, got a string | pin Optional[Integer] <redacted>`}},
	} {
		r := newRig(t)
		r.pin()
		r.e.Handlers["t::T"] = odd{handler: handler{r.w},
			read: func(*provider.Context) map[string]any { return maps.Clone(c.read) }}
		r.export(deploy.Export{Model: modelOf(res("odd")),
			Settings: &state.Settings{Strict: c.strict}})
		r.drain()
		r.want("odd", c.status)
		var lines []string
		for _, l := range r.last("odd").Messages {
			text := []any{l.Kwargs["attribute"], l.Kwargs["type"], l.Kwargs["value"]}
			b := strings.Builder{}
			b.WriteString(l.Msg + " |")
			for _, v := range text {
				b.WriteString(" ")
				if v == nil {
					b.WriteString("<nil>")
					continue
				}
				raw, _ := json.Marshal(v)
				b.WriteString(strings.NewReplacer(`"`, "", `\u003c`, "<", `\u003e`, ">").
					Replace(string(raw)))
			}
			lines = append(lines, b.String())
		}
		r.same(c.why, lines, c.lines...)
		if dry, err := r.e.DryRun(context.Background(), "e", 1); err != nil ||
			dry.Planned[0].Failed != (c.status == state.StatusFailed) {
			t.Error(c.why, dry, err)
		}
	}
}

// pin gives t::T a sensitive attribute.
func (r *rig) pin() {
	r.t.Helper()
	old, _ := r.types.Type("t::T")
	typ := old.Type
	typ.Attributes = append(slices.Clone(typ.Attributes),
		schema.Attribute{Name: "pin", Type: "Optional[Integer]", Sensitive: true})
	types, err := schema.NewRegistry(typ)
	if err != nil {
		r.t.Fatal(err)
	}
	r.types, r.e.Types = types, types
}
