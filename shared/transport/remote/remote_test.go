package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// echo is a handler that answers with what it was given, or does what the attribute do says.
type echo struct{}

func echoType() schema.Type {
	return schema.Type{Name: "test::Echo", Description: "An echo.", Machine: true,
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String", Behaviour: schema.Namevar, Description: "its name"},
			{Name: "do", Type: "Optional[String]", Behaviour: schema.Parameter,
				Description: "what it does"}}}
}

func (echo) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	switch req.Resource.Attributes["do"] {
	case "panic":
		panic("boom")
	case "hang":
		<-ctx.Done()
		return provider.Observation{}, provider.Errorf(provider.Terminal, "it was told to end")
	case "skip":
		return provider.Observation{},
			provider.Errorf(provider.NeedsChange, "not now: %w", provider.ErrSkip)
	case "fail":
		return provider.Observation{},
			provider.Errorf(provider.Terminal, "it failed: %w",
				fault.New(fault.Full, "write", "no room").WithHint("make room"))
	case "say":
		ctx.Secret("s3cr3t")
		ctx.Warning("it says", "value", 7, "list", []string{"a"}, "error", io.EOF, "struct",
			struct{ A int }{1})
		ctx.SetChange(diff.Updated)
		ctx.SetProvider("one", "because")
		if c := ctx.Desired(); c.ID != req.Resource.ID || ctx.Version() != 7 || ctx.Released() != 9 ||
			!ctx.Reloading() || !ctx.DryRun() || string(ctx.State()) != "state" {
			return provider.Observation{}, errors.New("the context is not that of the run")
		}
	}
	return provider.Observation{Exists: true, Attributes: req.Resource.Attributes}, nil
}

func (echo) Create(*provider.Context, provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

func (echo) Update(_ *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	if !req.Observed.Exists || req.Changes["a"].Desired != int64(1) {
		return provider.Result{}, errors.New("the request is not what was sent")
	}
	return provider.Result{Again: &provider.Again{After: time.Minute, State: []byte("s")}}, nil
}

func (echo) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, nil
}

// ReadBatch implements provider.BatchReader.
func (e echo) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for i, it := range items {
		if it.Resource.Attributes["do"] == "few" {
			return out[:1]
		}
		out[i].Observation, out[i].Err = e.Read(it.Context, it.ReadRequest)
	}
	return out
}

// List implements provider.Lister.
func (echo) List(_ *provider.Context, found func(provider.Found) error) error {
	for _, name := range []string{"a", "b"} {
		if err := found(provider.Found{Attributes: map[string]any{"name": name}}); err != nil {
			return err
		}
	}
	return nil
}

// pair connects both ends through pipes. The types are served by echoes.
func pair(t *testing.T, beat time.Duration, types ...schema.Type) (*Conn, func()) {
	t.Helper()
	var definitions []provider.Definition
	for _, typ := range types {
		definitions = append(definitions, provider.Definition{Type: typ, Handler: echo{}})
	}
	return pairOf(t, beat, definitions...)
}

// pairOf is pair with other handlers.
func pairOf(t *testing.T, beat time.Duration, definitions ...provider.Definition) (*Conn, func()) {
	t.Helper()
	toMachine, fromEngine := io.Pipe()
	toEngine, fromMachine := io.Pipe()
	s := &Server{Definitions: definitions, Version: "v", Grace: time.Second}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = s.Serve(context.WithoutCancel(t.Context()), toMachine, fromMachine)
		_ = fromMachine.Close()
	}()
	greeting := make([]byte, len(Greeting)+1)
	if _, err := io.ReadFull(toEngine, greeting); err != nil || string(greeting) != Greeting+"\n" {
		t.Fatalf("greeting %q, %v", greeting, err)
	}
	cut := func() { _, _ = fromEngine.Close(), toEngine.Close() }
	c, err := newConn(t.Context(), toEngine, fromEngine, beat, Running{}, cut)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		<-ended
	})
	return c, cut
}

func forward(t *testing.T, c *Conn, typ schema.Type) provider.Handler {
	t.Helper()
	h, err := Handler(typ, echo{}, func(context.Context) (*Conn, error) { return c, nil })
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func asks(do string) provider.ReadRequest {
	return provider.ReadRequest{Resource: provider.Resource{ID: "test::Echo[a,name=x]",
		Type: "test::Echo", Agent: "a", Attributes: map[string]any{"name": "x", "do": do}}}
}

// TestValues pins that values come back as they went, with their Go types.
func TestValues(t *testing.T) {
	t.Parallel()
	c, _ := pair(t, 0, echoType())
	huge, _ := new(big.Int).SetString("-123456789012345678901234567890", 10)
	want := map[string]any{"nil": nil, "text": "ü", "bytes": "\xff\x00\xfe", "int": int64(-1),
		"most": int64(1<<63 - 1), "big": huge, "float": 5.0, "small": 1e-300, "yes": true,
		"list":   []any{int64(1), nil, "a", []any{}, map[string]any{}},
		"file":   resource.File{Size: 7},
		"of":     map[string]any{"file": resource.File{Hash: strings.Repeat("a", 64)}},
		"secret": resource.Secret{Source: "env:X"}, "parameter": resource.Parameter{Name: "p"},
		"fact": resource.Fact{Name: "f", Of: "x"}, "long": strings.Repeat("x", 3<<20)}
	req := asks("")
	req.Resource.Attributes = want
	obs, err := forward(t, c, echoType()).Read(
		providertest.NewHost(nil).Context(t.Context(), provider.Options{}), req)
	if err != nil || !reflect.DeepEqual(obs.Attributes, want) {
		t.Errorf("%v, %v", err, obs.Attributes)
	}
}

// TestErrors pins what an error is on this side of a connection.
func TestErrors(t *testing.T) {
	t.Parallel()
	c, _ := pair(t, 0, echoType())
	h := forward(t, c, echoType())
	for _, one := range []struct {
		do    string
		class provider.Class
		kind  fault.Kind
		hint  string
		skip  bool
		text  string
	}{
		{"fail", provider.Terminal, fault.Full, "make room", false, "it failed: write: no room"},
		{"skip", provider.NeedsChange, "", "", true, "not now"},
		{"panic", provider.Retryable, fault.Internal, "", false, "boom"},
	} {
		_, err := h.Read(providertest.NewHost(nil).Context(t.Context(), provider.Options{}),
			asks(one.do))
		if provider.ClassOf(err) != one.class || fault.KindOf(err) != one.kind ||
			fault.HintOf(err) != one.hint || errors.Is(err, provider.ErrSkip) != one.skip ||
			!strings.HasPrefix(err.Error(), one.text) {
			t.Errorf("%s: %v: %q, %q, %q, %v", one.do, err, provider.ClassOf(err),
				fault.KindOf(err), fault.HintOf(err), errors.Is(err, provider.ErrSkip))
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := h.Read(providertest.NewHost(nil).Context(ctx, provider.Options{}),
		asks("hang")); provider.ClassOf(err) != provider.Terminal {
		t.Errorf("a call that was given up: %v", err)
	}
	batch, ok := provider.As[provider.BatchReader](h)
	if !ok {
		t.Fatal("it reads no batches")
	}
	for _, do := range []string{"panic", "few"} {
		item := provider.BatchRead{Context: providertest.NewHost(nil).
			Context(t.Context(), provider.Options{}), ReadRequest: asks(do)}
		if out := batch.ReadBatch(t.Context(), []provider.BatchRead{item, item}); out != nil {
			t.Errorf("%s: a batch that says nothing of its items: %v", do, out)
		}
	}
	if _, ok := provider.As[provider.Reloader](h); ok {
		t.Error("it can more than what it stands for")
	}
}

// TestRun pins what of a run reaches the machine and what comes back.
func TestRun(t *testing.T) {
	t.Parallel()
	c, _ := pair(t, 0, echoType())
	h, host := forward(t, c, echoType()), providertest.NewHost(nil)
	req := asks("say")
	ctx := host.Context(t.Context(),
		provider.Options{ID: req.Resource.ID, Desired: req.Resource, Version: 7, Released: 9, Reload: true,
			DryRun: true, State: []byte("state")})
	if _, err := h.Read(ctx, req); err != nil {
		t.Error(err)
	}
	lines := host.Lines()
	want := map[string]any{"value": int64(7), "list": []any{"a"}, "error": "EOF",
		"struct": map[string]any{"A": int64(1)}}
	if len(lines) != 1 || lines[0].Level != provider.LevelWarning ||
		!reflect.DeepEqual(lines[0].Kwargs, want) {
		t.Errorf("logged %v", lines)
	}
	out, err := h.Update(ctx, provider.UpdateRequest{Resource: req.Resource,
		Observed: provider.Observation{Exists: true},
		Changes:  map[string]diff.Diff{"a": {Desired: int64(1)}}})
	if err != nil || out.Again == nil || out.Again.After != time.Minute ||
		string(out.Again.State) != "s" {
		t.Errorf("update: %v, %v", out, err)
	}
	lister, ok := provider.As[provider.Lister](h)
	if !ok {
		t.Fatal("it lists nothing")
	}
	var names []any
	err = lister.List(host.Context(t.Context(), provider.Options{ID: "test::Echo[a]"}),
		func(f provider.Found) error {
			names = append(names, f.Attributes["name"])
			return nil
		})
	if err != nil || !reflect.DeepEqual(names, []any{"a", "b"}) {
		t.Errorf("found %v, %v", names, err)
	}
}

// TestOtherProgram pins that programs that differ say so.
func TestOtherProgram(t *testing.T) {
	t.Parallel()
	other := echoType()
	other.Attributes[1].Type = "Optional[Integer]"
	c, _ := pair(t, 0, other)
	missing := echoType()
	missing.Name = "test::Other"
	for _, typ := range []schema.Type{echoType(), missing} {
		_, err := forward(t, c, typ).Read(
			providertest.NewHost(nil).Context(t.Context(), provider.Options{}), asks(""))
		if provider.ClassOf(err) != provider.Terminal || !fault.Is(err, fault.Unsupported) ||
			!strings.Contains(fault.HintOf(err), "same program") {
			t.Errorf("%s: %v", typ.Name, err)
		}
	}
	var in bytes.Buffer
	if err := newFrameWriter(&in).send(
		frame{kindHello, hello{Protocol: protocol + 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := newConn(t.Context(), &in, io.Discard, 0, Running{}, func() {}); !fault.Is(err,
		fault.Unsupported) || provider.ClassOf(err) != provider.Terminal {
		t.Errorf("another protocol: %v", err)
	}
}

// TestSilence pins that an end from which nothing is received any more counts as dead, and that
// calls end when the connection does.
func TestSilence(t *testing.T) {
	t.Parallel()
	var hi bytes.Buffer
	if err := newFrameWriter(&hi).send(
		frame{kindHello, hello{Protocol: protocol,
			Types: map[string]string{"test::Echo": digest(echoType())}}}); err != nil {
		t.Fatal(err)
	}
	silent, never := io.Pipe()
	defer never.Close()
	c, err := newConn(t.Context(), io.MultiReader(&hi, silent), io.Discard, 50*time.Millisecond,
		Running{}, func() { _ = silent.Close() })
	if err != nil {
		t.Fatal(err)
	}
	_, err = forward(t, c, echoType()).Read(
		providertest.NewHost(nil).Context(t.Context(), provider.Options{}), asks(""))
	if !fault.Is(err, fault.Unavailable) || !wasLost(err) ||
		!strings.Contains(err.Error(), "nothing was received") {
		t.Errorf("a machine that is silent: %v", err)
	}
	in, engine := io.Pipe()
	defer engine.Close()
	go func() {
		_ = newFrameWriter(engine).send(
			frame{kindHello, hello{Protocol: protocol, Beat: 50 * time.Millisecond}})
	}()
	if err := (&Server{}).Serve(t.Context(), in, io.Discard); !fault.Is(err, fault.Unavailable) {
		t.Errorf("an engine that is silent: %v", err)
	}
}

// TestWaiting pins that a connection on which a call takes long is not taken for dead. Its time is
// that of the test alone: on a machine that is busy, what is received late would be a failure else.
func TestWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		live, _ := pair(t, 10*time.Second, echoType())
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		_, _ = forward(t, live, echoType()).Read(
			providertest.NewHost(nil).Context(ctx, provider.Options{}), asks("hang"))
		// The time is up at both ends in the same instant, and the other end may be the first to
		// say so.
		if waited := time.Since(began); live.Context().Err() != nil || waited < 59*time.Minute {
			t.Errorf("a connection that waits was taken for dead after %v: %v", waited,
				context.Cause(live.Context()))
		}
	})
}

// FuzzFrames feeds both ends with anything: they refuse it or live with it, and take no more memory
// than was sent.
func FuzzFrames(f *testing.F) {
	var seed bytes.Buffer
	w := newFrameWriter(&seed)
	for _, one := range []frame{{kindHello, hello{Protocol: protocol}}, {kind: kindPing},
		{kindCall, call{ID: 1, Method: callRead, Type: "test::Echo", Items: 1}},
		{kindItem, item{Call: 1, ID: "x", Attributes: map[string]any{"a": resource.File{Size: 1}}}},
		{kindCancel, cancel{1}}, {kindData, data{Stream: 1}}} {
		if err := w.send(one); err != nil {
			f.Fatal(err)
		}
	}
	f.Add(seed.Bytes())
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{4, 0, 0, 0, 3, 1, 2, 3})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &Server{Definitions: []provider.Definition{{Type: echoType(), Handler: echo{}}},
			Grace: time.Second}
		_ = s.Serve(t.Context(), bytes.NewReader(b), io.Discard)
		c, err := newConn(t.Context(), bytes.NewReader(b), io.Discard, 0, Running{}, func() {})
		if err == nil {
			<-c.Context().Done()
		}
	})
}
