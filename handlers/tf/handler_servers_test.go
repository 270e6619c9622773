//go:build servers

package tf

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
	"southbound/shared/tf/packages"
	"southbound/shared/tf/process"
	"southbound/shared/tf/tftest"
)

// stocked is a world whose objects live in a store.
type stocked struct {
	*world
	store *tftest.Store
}

func newWorld(t *testing.T, local, program string, options map[string]any) *stocked {
	t.Helper()
	w := &stocked{&world{t: t, types: map[string]schema.Type{}}, &tftest.Store{}}
	server := httptest.NewServer(w.store)
	t.Cleanup(server.Close)
	store, pool := &packages.Store{Dir: t.TempDir()}, process.New(process.Options{})
	t.Cleanup(pool.Close)
	w.definition = Bridge(Options{Store: store, Pool: pool})
	i := install(t, store, local, program)
	s, err := ReadSchemas(t.Context(), pool, i)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.KeepSchemas(i.Digest, s); err != nil {
		t.Fatal(err)
	}
	types, problems := Types(Origin{Local: local, Address: i.Address.String(), Version: i.Version,
		Hashes: i.Hashes}, s)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	for _, typ := range types {
		theirs, _ := typ.Metadata[MetaType].(string)
		if typ.Metadata[MetaData] == true {
			theirs = "data " + theirs // a resource may have the same name
		}
		w.types[theirs] = typ
	}
	config := map[string]any{"url": server.URL}
	for name, v := range options {
		config[name] = v
	}
	w.agent, err = w.definition.Transport.Connect(t.Context(), "a",
		map[string]any{"provider": "example.com/a/" + local, "config": config})
	if err != nil {
		t.Fatal(err)
	}
	w.host = providertest.NewHost(w.agent)
	return w
}

// ends purges the resource, and fails the test if anything is left.
func (w *stocked) ends(theirs string, attributes map[string]any) {
	w.t.Helper()
	if err := w.purge(theirs, attributes); err != nil {
		w.t.Error(err)
	}
	if k := w.kept(); k.Current != nil || len(k.Deposed) > 0 || len(w.store.IDs()) > 0 {
		w.t.Errorf("left: %+v, %v", k, w.store.IDs())
	}
}

func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fw", tftest.Framework(t), nil)
	parts := []any{map[string]any{"name": "lid"}}
	w.does("created", "fw_thing", box("parts", parts, "secret", "s3cret"))
	w.does("nothing", "fw_thing", box("parts", parts, "secret", "s3cret"))
	w.does("updated tags", "fw_thing", box("parts", parts, "secret", "s3cret", "tags", map[string]any{"a": "b"}))
	w.does("nothing", "fw_thing", box("parts", parts, "secret", "s3cret", "tags", map[string]any{"a": "b"}))
	first := w.store.IDs()[0]
	w.store.Change(first, func(d map[string]any) { d["tags"] = map[string]any{"a": "drift"} })
	w.does("updated tags", "fw_thing", box("parts", parts, "secret", "s3cret", "tags", map[string]any{"a": "b"}))
	if got, err := w.apply("fw_thing", map[string]any{attrLabel: "box", "name": "crate"}); err != nil ||
		!strings.HasPrefix(got, "replaced") || len(w.store.IDs()) != 1 || w.store.IDs()[0] == first {
		t.Errorf("%s: %v, %v", got, err, w.store.IDs())
	}
	w.store.Forget(w.store.IDs()[0])
	w.does("created", "fw_thing", box())
	w.ends("fw_thing", box())
}

func TestLifeOfLegacyProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sdk", tftest.SDK(t), nil)
	of := func(zone string, ports ...any) map[string]any {
		var rules []any
		for _, p := range ports {
			rules = append(rules, map[string]any{"port": p})
		}
		return map[string]any{attrLabel: "web", "name": "web", "zone": zone, "rule": rules,
			"network": map[string]any{"cidr": "10.0.0.0/8"}}
	}
	w.does("created", "sdk_server", of("a", int64(80)))
	w.does("nothing", "sdk_server", of("a", int64(80)))
	w.does("updated rule", "sdk_server", of("a", int64(80), int64(443)))
	w.does("nothing", "sdk_server", of("a", int64(443), int64(80)))
	if got, err := w.apply("sdk_server", of("b", int64(80), int64(443))); err != nil ||
		!strings.HasPrefix(got, "replaced") {
		t.Errorf("%s: %v", got, err)
	}
	w.does("nothing", "sdk_server", of("b", int64(80), int64(443)))
	w.ends("sdk_server", of("b"))
}

// TestFailedCreate pins the outcome of a create that fails before and after the object was made.
func TestFailedCreate(t *testing.T) {
	t.Parallel()
	for typ, program := range map[string]func(testing.TB) string{
		"fw_thing": tftest.Framework, "sdk_server": tftest.SDK} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, strings.Split(typ, "_")[0], program(t), nil)
			w.store.At(1, tftest.Reject)
			if _, err := w.apply(typ, box()); !errors.Is(err, provider.ErrNothingMade) ||
				w.kept().Current != nil {
				t.Errorf("rejected: %v", err)
			}
			w.store.At(2, tftest.Fail)
			_, err := w.apply(typ, box())
			if err == nil || errors.Is(err, provider.ErrNothingMade) {
				t.Errorf("failed after it was made: %v", err)
			}
			if k := w.kept(); k.Current == nil || !k.Current.Tainted {
				t.Fatalf("kept %+v", k)
			}
			finder, _ := provider.As[provider.Finder](w.handler(typ))
			ctx, r := w.context(box(), false)
			found, err := finder.FindCreated(ctx, provider.CreateRequest{Resource: r, Token: w.last})
			if !found || err != nil {
				t.Errorf("found %v, %v", found, err)
			}
			other, err := finder.FindCreated(ctx, provider.CreateRequest{Resource: r, Token: "another"})
			if other || err != nil {
				t.Errorf("another create: found %v, %v", other, err)
			}
			w.does("replaced "+attrTainted, typ, box())
			w.does("nothing", typ, box())
			w.ends(typ, box())
		})
	}
}

// TestFailedUpdate pins that the state of a failed update is read before anything depends on it.
func TestFailedUpdate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fw", tftest.Framework(t), nil)
	w.does("created", "fw_thing", box("note", "a"))
	w.store.At(2, tftest.Reject) // the read comes first
	if got, err := w.apply("fw_thing", box("note", "b")); err == nil {
		t.Error(got)
	}
	w.does("updated note", "fw_thing", box("note", "b"))
	w.does("nothing", "fw_thing", box("note", "b"))
}

func TestCreateBeforeDestroy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fw", tftest.Framework(t), nil)
	w.does("created", "fw_thing", box())
	w.store.Requests()
	crate := map[string]any{attrLabel: "box", "name": "crate", schema.CreateBeforeDestroy: true}
	if got, err := w.apply("fw_thing", crate); err != nil || !strings.HasPrefix(got, "replaced") {
		t.Errorf("%s: %v", got, err)
	}
	posts, deletes := -1, -1
	for i, q := range w.store.Requests() {
		if q == "POST /things" {
			posts = i
		}
		if strings.HasPrefix(q, "DELETE") {
			deletes = i
		}
	}
	if posts < 0 || deletes < posts || len(w.store.IDs()) != 1 {
		t.Errorf("created at %d, deleted at %d, left %v", posts, deletes, w.store.IDs())
	}
	w.does("nothing", "fw_thing", crate)
	w.ends("fw_thing", crate)
}

func TestImport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fw", tftest.Framework(t), nil)
	w.does("created", "fw_thing", box())
	id := w.store.IDs()[0]
	again := newWorld(t, "fw", tftest.Framework(t), nil)
	again.store, again.definition = w.store, w.definition
	again.agent, again.host = w.agent, providertest.NewHost(w.agent)
	again.does("nothing", "fw_thing", box(attrImport, id))
	if k := again.kept(); k.Current == nil || k.Current.Token != "" {
		t.Errorf("kept %+v", k)
	}
	again.does("nothing", "fw_thing", box(attrImport, id)) // by the kept state
}

// TestOddTimeouts pins that the provider refuses a duration that is none before anything is made.
func TestOddTimeouts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sdk", tftest.SDK(t), nil)
	_, err := w.apply("sdk_server", map[string]any{attrLabel: "web", "name": "web",
		"timeouts": map[string]any{"create": "soon"}})
	if provider.ClassOf(err) != provider.NeedsChange || !strings.Contains(err.Error(), "soon") ||
		len(w.store.IDs()) > 0 {
		t.Errorf("%v, made %v", err, w.store.IDs())
	}
}

// TestUpgrade pins that states of former schemas are upgraded, and states of newer ones refused.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "sdk", tftest.SDK(t), nil)
	attributes := map[string]any{attrLabel: "web", "name": "web"}
	w.does("created", "sdk_server", attributes)
	k := w.kept()
	version := k.Current.Version
	change := func(f func(*record)) {
		k := w.kept()
		f(k.Current)
		b, err := k.bytes()
		if err != nil {
			t.Fatal(err)
		}
		ctx, _ := w.context(nil, false)
		if err := ctx.Keep(b); err != nil {
			t.Fatal(err)
		}
	}
	change(func(r *record) {
		r.Version = 0
		r.State = json.RawMessage(`{"id":"` + w.store.IDs()[0] + `","title":"web"}`)
	})
	w.does("nothing", "sdk_server", attributes)
	if got := w.kept().Current.Version; got != version {
		t.Errorf("the kept state has version %d", got)
	}
	change(func(r *record) { r.Version = version + 1 })
	if _, err := w.apply("sdk_server", attributes); provider.ClassOf(err) != provider.Terminal {
		t.Errorf("a newer state: %v", err)
	}
}

// TestErrors pins the classes of errors, and that an error has no secret of the agent.
func TestErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fw", tftest.Framework(t), map[string]any{"token": "wrong"})
	for range 2 {
		_, err := w.apply("fw_thing", box())
		if !errors.Is(err, provider.ErrUnavailable) || !strings.Contains(err.Error(), "does not accept") {
			t.Errorf("a refused configuration: %v", err)
		}
	}
	w = newWorld(t, "fw", tftest.Framework(t), nil)
	for name, attributes := range map[string]map[string]any{
		"no name":         {attrLabel: "box"},
		"a set attribute": box("id_", "a"),
		"wrong nesting":   box("parts", map[string]any{"name": "lid"}),
	} {
		if _, err := w.apply("fw_thing", attributes); provider.ClassOf(err) != provider.NeedsChange {
			t.Errorf("%s: %v", name, err)
		}
	}
	typ := w.types["fw_thing"]
	typ.Metadata = map[string]any{MetaType: "fw_thing", MetaProvider: "example.com/a/fw",
		MetaVersion: "1.0.0", MetaHashes: []any{"h1:another"}}
	w.types["fw_thing"] = typ
	if _, err := w.apply("fw_thing", box()); !errors.Is(err, provider.ErrUnavailable) {
		t.Errorf("another program: %v", err)
	}
}

// TestDryRun pins that a dry run plans and keeps nothing; the host refuses states of dry runs.
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fw", tftest.Framework(t), nil)
	h := w.handler("fw_thing")
	dry := func(attributes map[string]any) (map[string]diff.Diff, error) {
		ctx, r := w.context(attributes, true)
		seen, err := h.Read(ctx, provider.ReadRequest{Resource: r})
		if err != nil || !seen.Exists {
			n, _ := provider.As[provider.Nooper](h)
			return nil, errors.Join(err, n.Noop(ctx, provider.BatchChange{Context: ctx,
				Change: diff.Created, Resource: r}))
		}
		d, _ := provider.As[provider.Differ](h)
		return d.Diff(ctx, r, seen)
	}
	if _, err := dry(box()); err != nil {
		t.Error(err)
	}
	if _, err := dry(map[string]any{attrLabel: "box"}); provider.ClassOf(err) != provider.NeedsChange {
		t.Errorf("a create that would fail: %v", err)
	}
	if ids := w.store.IDs(); len(ids) > 0 {
		t.Errorf("a dry run made %v", ids)
	}
	w.does("created", "fw_thing", box("note", "a"))
	w.store.Change(w.store.IDs()[0], func(d map[string]any) { d["note"] = "drift" })
	got, err := dry(box("note", "a"))
	want := map[string]diff.Diff{"note": {Current: "drift", Desired: "a"}}
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%s %v", d, err)
	}
}

// TestCanceledCreate pins that the state of a create is kept although its caller gave up.
func TestCanceledCreate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fw", tftest.Framework(t), nil)
	h := w.handler("fw_thing")
	ctx, r := w.context(box(), false)
	seen, err := h.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		t.Fatal(err)
	}
	w.store.At(2, tftest.Hang) // after the object was made
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-w.store.Hanging()
		cancel()
	}()
	_, err = h.Create(ctx.With(inner), provider.CreateRequest{Resource: r, Token: "token",
		Carried: seen.Carried})
	if k := w.kept(); err == nil || k.Current == nil || k.Current.Token != "token" || !k.Current.Tainted {
		t.Errorf("%v, kept %+v", err, k)
	}
}
