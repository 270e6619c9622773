package tf

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
	"southbound/shared/tf/packages"
	"southbound/shared/tf/process"
)

// toys is an installed toy, which all worlds share.
type toys struct {
	definition provider.Definition
	types      map[string]schema.Type
}

func newToys(t *testing.T) *toys {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	store, pool := &packages.Store{Dir: t.TempDir()}, process.New(process.Options{})
	t.Cleanup(pool.Close)
	i := install(t, store, "x", program)
	s := schemas(t, keepingSchema)
	if err := store.KeepSchemas(i.Digest, s); err != nil {
		t.Fatal(err)
	}
	types, problems := Types(Origin{Local: "x", Address: i.Address.String(), Version: i.Version,
		Hashes: i.Hashes}, s)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return &toys{Bridge(Options{Store: store, Pool: pool}),
		map[string]schema.Type{"x_y": types[0], "x_z": types[1]}}
}

// toyWorld is a world of a toy.
type toyWorld struct {
	*world
	dir string
}

func (o *toys) world(t *testing.T) *toyWorld {
	t.Helper()
	w := &toyWorld{&world{t: t, definition: o.definition, types: o.types}, t.TempDir()}
	var err error
	w.agent, err = o.definition.Transport.Connect(t.Context(), "a", map[string]any{
		"provider": "example.com/a/x", "env": map[string]any{toyVariable: w.dir}})
	if err != nil {
		t.Fatal(err)
	}
	w.host = providertest.NewHost(w.agent)
	return w
}

// fault sets the fault of the next apply.
func (w *toyWorld) fault(name string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, "fault"), []byte(name), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// calls returns the calls since the last time, without their common endings.
func (w *toyWorld) calls() string {
	w.t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, "calls"))
	if err == nil {
		err = os.Remove(filepath.Join(w.dir, "calls"))
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.NewReplacer("\n", " ", "ResourceChange", "", "ResourceState", "", "ResourceConfig", "",
		"Resource", "").Replace(strings.TrimSpace(string(b)))
}

// things returns the objects that exist.
func (w *toyWorld) things() string {
	var out []string
	for _, path := range globbed(w.dir) {
		out = append(out, strings.TrimSuffix(filepath.Base(path), ".json"))
	}
	return strings.Join(out, " ")
}

func (w *toyWorld) made(want string) {
	w.t.Helper()
	if got := w.things(); got != want {
		w.t.Errorf("there are %q, want %q", got, want)
	}
}

func (w *toyWorld) called(want string) {
	w.t.Helper()
	if got := w.calls(); got != want {
		w.t.Errorf("calls %q, want %q", got, want)
	}
}

// found looks a create up.
func (w *toyWorld) found(token string, attributes map[string]any) (bool, error) {
	w.t.Helper()
	f, _ := provider.As[provider.Finder](w.handler("x_y"))
	ctx, r := w.context(attributes, false)
	return f.FindCreated(ctx, provider.CreateRequest{Resource: r, Token: token})
}

// TestHandler drives the handler as the engine does, with a provider that is this test program.
func TestHandler(t *testing.T) {
	t.Parallel()
	o := newToys(t)
	for name, test := range map[string]func(w *toyWorld){
		"a life": func(w *toyWorld) {
			list := func(l ...any) map[string]any { return box("list", l) }
			w.does("created", "x_y", list("a"))
			w.called("Validate Plan Apply")
			w.does("nothing", "x_y", list("a"))
			w.called("Read Validate Plan")
			w.does("updated list", "x_y", list("a", "b"))
			w.called("Read Validate Plan Apply")
			if got, err := w.apply("x_y", map[string]any{attrLabel: "box", "name": "crate"}); err != nil ||
				got != "replaced 2 attributes" {
				w.t.Errorf("%s, %v", got, err)
			}
			w.called("Read Validate Plan Plan Plan Apply Apply")
			w.made("t-crate")
			if err := w.purge("x_y", box()); err != nil {
				w.t.Error(err)
			}
			w.called("Read Plan Apply")
			if b := w.keptBytes(); len(b) > 0 || w.things() != "" {
				w.t.Errorf("left: %s, %s", b, w.things())
			}
		},
		"a plan that depends on more than the object": func(w *toyWorld) {
			due := filepath.Join(w.dir, "due")
			w.does("created", "x_y", box())
			w.does("nothing", "x_y", box())
			w.does("nothing", "x_y", box())
			if err := os.WriteFile(due, nil, 0o600); err != nil {
				w.t.Fatal(err)
			}
			w.does("updated key", "x_y", box())
			if err := os.Remove(due); err != nil {
				w.t.Fatal(err)
			}
			w.does("nothing", "x_y", box())
		},
		"drift": func(w *toyWorld) {
			w.does("created", "x_y", box())
			if err := os.WriteFile(filepath.Join(w.dir, "t-box.json"),
				[]byte(`{"ID":"t-box","Name":"box","List":["x"]}`), 0o600); err != nil {
				w.t.Fatal(err)
			}
			w.does("updated list", "x_y", box())
			w.does("nothing", "x_y", box())
		},
		"forgotten": func(w *toyWorld) {
			w.does("created", "x_y", box())
			if err := os.Remove(filepath.Join(w.dir, "t-box.json")); err != nil {
				w.t.Fatal(err)
			}
			w.does("created", "x_y", box())
			w.made("t-box")
		},
		"create rejected": func(w *toyWorld) {
			w.fault("reject")
			if _, err := w.apply("x_y", box()); !errors.Is(err, provider.ErrNothingMade) ||
				!strings.Contains(err.Error(), "Rejected") || provider.ClassOf(err) != provider.Retryable {
				w.t.Error(err)
			}
			if b := w.keptBytes(); len(b) > 0 {
				w.t.Errorf("kept %s", b)
			}
		},
		"create failed": func(w *toyWorld) {
			w.fault("fail")
			if _, err := w.apply("x_y", box()); err == nil || errors.Is(err, provider.ErrNothingMade) {
				w.t.Error(err)
			}
			if found, err := w.found(w.last, box()); !found || err != nil {
				w.t.Errorf("found %v, %v", found, err)
			}
			if found, err := w.found("another", box()); found || err != nil {
				w.t.Errorf("another create: found %v, %v", found, err)
			}
			w.does("replaced tainted", "x_y", box())
			w.does("nothing", "x_y", box())
			w.made("t-box")
		},
		"create crashed": func(w *toyWorld) {
			w.fault("crash")
			_, err := w.apply("x_y", box())
			if err == nil || errors.Is(err, provider.ErrNothingMade) ||
				!strings.Contains(err.Error(), "the toy is broken") {
				w.t.Error(err)
			}
			if found, err := w.found(w.last, box()); !found || err != nil {
				w.t.Errorf("found %v, %v", found, err)
			}
			w.does("nothing", "x_y", box())
			w.made("t-box")
		},
		"create crashed before": func(w *toyWorld) {
			if found, err := w.found("token", box()); found || err != nil {
				w.t.Errorf("found %v, %v", found, err)
			}
		},
		"create lied": func(w *toyWorld) {
			w.fault("lie")
			if _, err := w.apply("x_y", box()); provider.ClassOf(err) != provider.Terminal ||
				errors.Is(err, provider.ErrNothingMade) || !strings.Contains(err.Error(), "name") {
				w.t.Error(err)
			}
			w.does("nothing", "x_y", box())
		},
		"update failed": func(w *toyWorld) {
			w.does("created", "x_y", box())
			for _, fault := range []string{"reject", "fail", "mute", "crash"} {
				w.fault(fault)
				if got, err := w.apply("x_y", box("list", []any{fault})); err == nil {
					w.t.Errorf("%s: %s", fault, got)
				}
				if w.keptBytes() == nil {
					w.t.Errorf("%s: nothing kept", fault)
				}
			}
			w.does("nothing", "x_y", box("list", []any{"crash"})) // it was done before the process ended
		},
		"delete rejected": func(w *toyWorld) {
			w.does("created", "x_y", box())
			w.fault("reject")
			if err := w.purge("x_y", box()); err == nil || w.keptBytes() == nil {
				w.t.Errorf("%v, kept %s", err, w.keptBytes())
			}
			if err := w.purge("x_y", box()); err != nil || w.things() != "" {
				w.t.Errorf("%v, left %s", err, w.things())
			}
		},
		"create before destroy": func(w *toyWorld) {
			w.does("created", "x_y", box())
			w.calls()
			crate := map[string]any{attrLabel: "box", "name": "crate", schema.CreateBeforeDestroy: true}
			w.fault("reject")
			if _, err := w.apply("x_y", crate); !errors.Is(err, provider.ErrNothingMade) {
				w.t.Error(err)
			}
			w.made("t-box")
			w.calls()
			if _, err := w.apply("x_y", crate); err != nil {
				w.t.Error(err)
			}
			w.called("Read Validate Plan Plan Apply Plan Apply")
			w.made("t-crate")
			if k := w.kept(); k.Current == nil || len(k.Deposed) > 0 {
				w.t.Errorf("kept %+v", k)
			}
			w.does("nothing", "x_y", crate)
		},
		"import": func(w *toyWorld) {
			w.does("created", "x_y", box(attrImport, "t-box")) // there is none yet
			w.host = providertest.NewHost(w.agent)
			w.calls()
			w.does("nothing", "x_y", box(attrImport, "t-box"))
			w.called("Import Read Validate Plan")
			w.does("nothing", "x_y", box(attrImport, "t-box"))
			w.called("Read Validate Plan")
			w.does("nothing", "x_y", box()) // it is needed once
			_, err := w.apply("x_y", box(attrImport, "t-other"))
			if provider.ClassOf(err) != provider.NeedsChange || !strings.Contains(err.Error(), `imported as "t-box"`) {
				w.t.Errorf("the import of another object: %v", err)
			}
		},
		"upgrade": func(w *toyWorld) {
			w.does("created", "x_y", box())
			w.change(func(r *record) {
				r.Version, r.State = 0, json.RawMessage(`{"id":"t-box","title":"box"}`)
			})
			w.calls()
			w.does("nothing", "x_y", box())
			w.called("Upgrade Read Validate Plan")
			w.does("nothing", "x_y", box())
			w.called("Read Validate Plan")
			w.change(func(r *record) { r.Digest = "another program" })
			w.does("nothing", "x_y", box())
			w.called("Upgrade Read Validate Plan")
			w.change(func(r *record) { r.Version = 9 })
			if _, err := w.apply("x_y", box()); provider.ClassOf(err) != provider.Terminal {
				w.t.Errorf("a newer state: %v", err)
			}
		},
		"invalid": func(w *toyWorld) {
			for want, attributes := range map[string]map[string]any{
				"name: The name is bad":              {attrLabel: "box", "name": "bad"},
				"name: the attribute is required":    {attrLabel: "box"},
				"lst: there is no such attribute":    box("lst", true),
				"id_: the provider computes":         box("id_", "a"),
				"list: expected a list, found a map": box("list", map[string]any{}),
			} {
				_, err := w.apply("x_y", attributes)
				if provider.ClassOf(err) != provider.NeedsChange || !strings.Contains(err.Error(), want) ||
					!errors.Is(err, provider.ErrNothingMade) {
					w.t.Errorf("%v, want %s", err, want)
				}
			}
		},
		"write-only": func(w *toyWorld) {
			w.does("created", "x_y", box("pin_wo", "1", "pin_wo_version", int64(1)))
			w.does("nothing", "x_y", box("pin_wo", "2", "pin_wo_version", int64(1)))
			w.does("updated pin_wo_version", "x_y", box("pin_wo", "3", "pin_wo_version", int64(2)))
			b, err := os.ReadFile(filepath.Join(w.dir, "t-box.json"))
			if err != nil || !strings.Contains(string(b), `"Pin":"3"`) {
				w.t.Errorf("%s, %v", b, err)
			}
			if strings.Contains(string(w.keptBytes()), `"pin_wo":"`) {
				w.t.Errorf("a write-only value is kept: %s", w.keptBytes())
			}
			w.does("updated pin_wo_version", "x_y", box("pin_wo", "4")) // by the reference in the document
			w.does("nothing", "x_y", box("pin_wo", "4"))
		},
		"facts": func(w *toyWorld) {
			w.does("created", "x_y", box("list", []any{"a"}))
			ctx, r := w.context(box(), false)
			if ctx.Known("id") != "t-box" || ctx.Known("id_") != "t-box" || ctx.Known("key") != "" {
				w.t.Errorf("facts: %q, %q, %q", ctx.Known("id"), ctx.Known("id_"), ctx.Known("key"))
			}
			f, _ := provider.As[provider.FactReader](w.handler("x_y"))
			got, err := f.Facts(ctx, provider.ReadRequest{Resource: r})
			if err != nil || got["list"] == nil || got["key"] != nil {
				w.t.Errorf("%v, %v", got, err)
			}
		},
		"dry run": func(w *toyWorld) {
			h := w.handler("x_y")
			ctx, r := w.context(box(), true)
			n, _ := provider.As[provider.Nooper](h)
			if err := n.Noop(ctx, provider.BatchChange{Context: ctx, Change: diff.Created,
				Resource: r}); err != nil || w.things() != "" {
				w.t.Errorf("%v, made %s", err, w.things())
			}
			w.does("created", "x_y", box())
			before := string(w.keptBytes())
			w.change(func(r *record) { r.Digest = "another program" })
			ctx, r = w.context(box(), true)
			if _, err := h.Read(ctx, provider.ReadRequest{Resource: r}); err != nil {
				w.t.Error(err)
			}
			if string(w.keptBytes()) == before {
				w.t.Error("a dry run has kept an upgraded state")
			}
		},
		"canceled": func(w *toyWorld) {
			h := w.handler("x_y")
			ctx, r := w.context(box(), false)
			seen, err := h.Read(ctx, provider.ReadRequest{Resource: r})
			if err != nil {
				w.t.Fatal(err)
			}
			w.fault("hang")
			inner, cancel := context.WithCancel(ctx)
			defer cancel()
			go func() {
				for !fileIsThere(filepath.Join(w.dir, "hangs")) {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			_, err = h.Create(ctx.With(inner), provider.CreateRequest{Resource: r, Token: "token",
				Carried: seen.Carried})
			k := w.kept()
			if err == nil || k.Current == nil || !k.Current.Tainted || k.Current.Token != "token" {
				w.t.Errorf("%v, kept %+v", err, k)
			}
		},
		"data source": func(w *toyWorld) {
			w.does("created", "x_y", box())
			w.does("nothing", "x_z", box())
			ctx, r := w.context(box(), false)
			if ctx.Known("id") != "t-box" || ctx.Known("key") != "" {
				w.t.Errorf("facts: %q, %q", ctx.Known("id"), ctx.Known("key"))
			}
			f, _ := provider.As[provider.FactReader](w.handler("x_z"))
			got, err := f.Facts(ctx, provider.ReadRequest{Resource: r})
			if err != nil || got["id_"] != "t-box" || got["key"] != nil {
				w.t.Errorf("%v, %v", got, err)
			}
			for name, class := range map[string]provider.Class{"bad": provider.NeedsChange,
				"none": provider.Retryable} {
				_, err := w.apply("x_z", map[string]any{attrLabel: "box", "name": name})
				if err == nil || provider.ClassOf(err) != class {
					w.t.Errorf("%s: %v", name, err)
				}
			}
			r.Purged = true
			if seen, err := w.handler("x_z").Read(ctx, provider.ReadRequest{Resource: r}); seen.Exists || err != nil {
				w.t.Errorf("purged: %v, %v", seen, err)
			}
		},
		"no carried values": func(w *toyWorld) {
			h := w.handler("x_y")
			ctx, r := w.context(box(), false)
			if _, err := h.Create(ctx, provider.CreateRequest{Resource: r, Token: "token"}); err != nil {
				w.t.Fatal(err)
			}
			ctx, r = w.context(box("list", []any{"a"}), false)
			d, _ := provider.As[provider.Differ](h)
			diffs, err := d.Diff(ctx, r, provider.Observation{Exists: true})
			if names, _ := named(diffs); names != "list" || err != nil {
				w.t.Errorf("%s, %v", names, err)
			}
			if _, err := h.Update(ctx, provider.UpdateRequest{Resource: r}); err != nil {
				w.t.Error(err)
			}
			ctx, r = w.context(box("list", []any{"a"}), false)
			if _, err := h.Delete(ctx, provider.DeleteRequest{Resource: r,
				Observed: provider.Observation{Exists: true, Attributes: map[string]any{"id_": "other"}}}); err != nil ||
				w.things() != "t-box" {
				w.t.Errorf("another object: %v, left %q", err, w.things())
			}
			if _, err := h.Delete(ctx, provider.DeleteRequest{Resource: r,
				Observed: provider.Observation{Exists: true, Attributes: map[string]any{"id_": "t-box"}}}); err != nil ||
				w.things() != "" {
				w.t.Errorf("%v, left %q", err, w.things())
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(o.world(t))
		})
	}
}

// keptBytes returns the kept state as it is stored.
func (w *world) keptBytes() []byte {
	ctx, _ := w.context(nil, true)
	return ctx.Kept()
}

// change changes the kept state.
func (w *world) change(f func(*record)) {
	w.t.Helper()
	k := w.kept()
	f(k.Current)
	b, err := k.bytes()
	if err == nil {
		ctx, _ := w.context(nil, false)
		err = ctx.Keep(b)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}
