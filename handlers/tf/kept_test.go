package tf

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/tf/packages"
	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

func TestKeptForm(t *testing.T) {
	t.Parallel()
	// The order of members, signs of HTML and exact numbers stay as the provider has answered them.
	const state = `{"b":"<a&b>","a":12345678901234567890.5,"id":"x"}`
	k := &kept{Form: keptForm, Current: &record{Provider: "h/n/t", Digest: "d", Type: "x_y", Version: 3,
		State: json.RawMessage(state), Private: []byte{0, 255}, Identity: json.RawMessage(`{"id":"x"}`),
		IdentityVersion: 2, Tainted: true, Doubtful: true, Token: "token"},
		Deposed: []record{{Provider: "h/n/t", Type: "x_y", State: json.RawMessage(`{}`)}}}
	b, err := k.bytes()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), state) {
		t.Errorf("the state is not verbatim in %s", b)
	}
	again, err := readKept(b)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(k, again); d != "" {
		t.Error(d)
	}
	if b, err := (&kept{Form: keptForm}).bytes(); len(b) > 0 || err != nil {
		t.Errorf("no object: %s, %v", b, err)
	}
}

func TestReadKeptRejects(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ text, says string }{
		"newer":           {`{"form":2,"more":1}`, "newer version of this program"},
		"no form":         {`{}`, "damaged"},
		"unknown member":  {`{"form":1,"more":1}`, "damaged"},
		"two values":      {`{"form":1}{"form":1}`, "damaged"},
		"cut":             {`{"form":1,"current":{`, "damaged"},
		"a state of text": {`version: 4`, "damaged"},
	} {
		_, err := readKept([]byte(x.text))
		if err == nil || provider.ClassOf(err) != provider.Terminal || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	k, err := readKept(nil)
	if err != nil || k.Current != nil {
		t.Errorf("nothing kept: %v, %v", k, err)
	}
}

// FuzzReadKept wants that a state which is read is written as the same, and that any other text is
// refused for good.
func FuzzReadKept(f *testing.F) {
	f.Add([]byte(`{"form":1,"current":{"provider":"p","digest":"d","type":"t","schema_version":1,"state":{"a":1}}}`))
	f.Add([]byte(`{"form":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		k, err := readKept(text)
		if err != nil {
			if provider.ClassOf(err) != provider.Terminal {
				t.Error(err)
			}
			return
		}
		b, err := k.bytes()
		if err != nil {
			t.Fatal(err)
		}
		again, err := readKept(b)
		if err != nil {
			t.Fatal(err)
		}
		c, err := again.bytes()
		if err != nil || string(b) != string(c) {
			t.Errorf("%s, %s, %v", b, c, err)
		}
	})
}

func TestRecordOfAnother(t *testing.T) {
	t.Parallel()
	m := &meta{name: "tf::x::Y", theirs: "x_y", version: "1.0.0",
		provider: packages.Address{Host: "h", Namespace: "n", Type: "x"}}
	good := record{Provider: "h/n/x", Type: "x_y", Version: 1, State: json.RawMessage(`{}`)}
	for says, change := range map[string]func(*record){
		"":                  func(*record) {},
		"that of a x_z":     func(r *record) { r.Type = "x_z" },
		"the provider h/n2": func(r *record) { r.Provider = "h/n2/x" },
		"has version 3":     func(r *record) { r.Version = 3 },
		"has no object":     func(r *record) { r.State = nil },
	} {
		r := good
		change(&r)
		switch err := r.check(m, 2); {
		case says == "" && err != nil:
			t.Error(err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says) ||
			provider.ClassOf(err) != provider.Terminal):
			t.Errorf("%s: %v", says, err)
		}
	}
}

// keeping is a session without a provider, and the host that keeps its state.
type keeping struct {
	*session
	t    testing.TB
	host *providertest.Host
}

const keepingSchema = `{"capabilities":{"plan_destroy":true},"resources":{"x_y":{"version":1,"block":{"attributes":[
	{"name":"id","type":"string","computed":true},
	{"name":"name","type":"string","required":true},
	{"name":"list","type":["list","string"],"optional":true},
	{"name":"key","type":"string","computed":true,"sensitive":true},
	{"name":"pin_wo","type":"string","optional":true,"write_only":true},
	{"name":"pin_wo_version","type":"number","optional":true},
	{"name":"words_wo","type":"string","optional":true,"write_only":true},
	{"name":"words_wo_version","type":"string","optional":true}]}}},
	"data_sources":{"x_z":{"block":{"attributes":[
	{"name":"id","type":"string","computed":true},
	{"name":"name","type":"string","required":true},
	{"name":"key","type":"string","computed":true,"sensitive":true}]}}},
	"identities":{"x_y":{"version":4,"attributes":[
	{"name":"name","type":"string","required_for_import":true}]}}}`

func newKeeping(t testing.TB) *keeping {
	t.Helper()
	p := &program{installed: &packages.Installed{Digest: "d"}, schemas: schemas(t, keepingSchema),
		types: map[string]*value.Type{}}
	ty, err := p.compiled("resource", "x_y")
	if err != nil {
		t.Fatal(err)
	}
	h := providertest.NewHost(nil)
	m := &meta{name: "tf::x::Y", theirs: "x_y", version: "1.0.0",
		provider: packages.Address{Host: "h", Namespace: "n", Type: "x"},
		schema:   map[string]string{"id_": "id"}, ours: map[string]string{"id": "id_"}}
	s := &session{calls: calls{ctx: h.Context(t.Context(), provider.Options{ID: "r"}), meta: m,
		program: p, ty: ty}}
	return &keeping{s, t, h}
}

func (k *keeping) object(id string) *live {
	k.t.Helper()
	v, err := k.ty.FromJSON([]byte(`{"id":"` + id + `","name":"n","key":"s3cret"}`))
	if err != nil {
		k.t.Fatal(err)
	}
	return &live{state: v, private: []byte(id)}
}

// state describes the kept state: the id of the object with its flags, and those that are set aside.
func (k *keeping) state() string {
	k.t.Helper()
	all, now, _, err := k.load()
	if err != nil {
		k.t.Fatal(err)
	}
	var out []string
	if now != nil {
		out = append(out, now.state.GetAttr("id").AsString())
		for flag, set := range map[string]bool{"tainted": now.tainted, "doubtful": now.doubtful} {
			if set {
				out = append(out, flag)
			}
		}
		if now.token != "" {
			out = append(out, now.token)
		}
	}
	for i := range all.Deposed {
		l, _, err := k.live(&all.Deposed[i])
		if err != nil {
			k.t.Fatal(err)
		}
		out = append(out, "("+l.state.GetAttr("id").AsString()+")")
	}
	return strings.Join(out, " ")
}

var errApply = provider.Errorf(provider.Retryable, "out of order")

func TestCreated(t *testing.T) {
	t.Parallel()
	wrong := provider.Errorf(provider.Terminal, "the result of the provider is invalid")
	for name, x := range map[string]struct {
		result        func(k *keeping) result
		state         string
		fails, unmade bool
	}{
		"made": {func(k *keeping) result { return result{now: k.object("a")} }, "a token", false, false},
		"failed after it was made": {func(k *keeping) result {
			return result{now: k.object("a"), err: errApply}
		}, "a tainted token", true, false},
		"made, and answered wrongly": {func(k *keeping) result {
			return result{now: k.object("a"), err: wrong}
		}, "a token", true, false},
		"failed": {func(*keeping) result { return result{err: errApply} }, "", true, true},
		"failed after a stop": {func(*keeping) result {
			return result{err: errApply, stopped: true}
		}, "", true, false},
		"no answer":          {func(*keeping) result { return result{err: errApply, broken: true} }, "", true, false},
		"made without state": {func(*keeping) result { return result{} }, "", true, false},
	} {
		k := newKeeping(t)
		err := k.created(&kept{}, x.result(k), "token")
		if got := k.state(); got != x.state {
			t.Errorf("%s: kept %q", name, got)
		}
		if (err != nil) != x.fails || errors.Is(err, provider.ErrNothingMade) != x.unmade {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUpdatedAndRemoved(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		result           result
		updated, removed string
		fails, removes   bool // whether each is an error
	}{
		"an object":            {result{now: newKeeping(t).object("b")}, "b old", "b doubtful old", false, true},
		"an object, failed":    {result{now: newKeeping(t).object("b"), err: errApply}, "b doubtful old", "b doubtful old", true, true},
		"nothing":              {result{}, "a old", "", true, false},
		"nothing, failed":      {result{err: errApply}, "a old", "a old", true, true},
		"no answer":            {result{err: errApply, broken: true}, "a old", "a old", true, true},
		"nothing after a stop": {result{err: errApply, stopped: true}, "a old", "a old", true, true},
	} {
		for _, what := range []string{"updated", "removed"} {
			k := newKeeping(t)
			was := k.object("a")
			was.token = "old"
			if err := k.keep(&kept{}, was); err != nil {
				t.Fatal(err)
			}
			r := x.result
			if r.now != nil {
				r.now = k.object("b")
			}
			all, now, _, err := k.load()
			if err != nil {
				t.Fatal(err)
			}
			want, fails := x.updated, x.fails
			if what == "updated" {
				err = k.updated(all, now, r)
			} else {
				want, fails = x.removed, x.removes
				err = k.session.removed(now, r, func(left *live) error { return k.keep(all, left) })
			}
			if got := k.state(); got != want {
				t.Errorf("%s, %s: kept %q, want %q", name, what, got, want)
			}
			if (err != nil) != fails {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

func TestSetAside(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		kept, read bool // an object is kept; Read has found it
		state      string
	}{
		"nothing kept":     {false, false, ""},
		"no longer exists": {true, false, ""},
		"exists":           {true, true, "(a)"},
	} {
		k := newKeeping(t)
		c := &carried{}
		if x.kept {
			if err := k.keep(&kept{}, k.object("a")); err != nil {
				t.Fatal(err)
			}
		}
		if x.read {
			c.now = k.object("a")
		}
		_, old, err := k.setAside(c)
		if err != nil || (old != nil) != x.read || k.state() != x.state {
			t.Errorf("%s: kept %q, %v", name, k.state(), err)
		}
	}
}

func TestIdentityIsKept(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	l := k.object("a")
	ty, err := k.program.compiled("identity", "x_y")
	if err != nil {
		t.Fatal(err)
	}
	v, err := ty.FromAttributes(map[string]any{"name": "n"})
	if err != nil {
		t.Fatal(err)
	}
	if l.identity, err = encode(ty, v); err != nil {
		t.Fatal(err)
	}
	if err := k.keep(&kept{}, l); err != nil {
		t.Fatal(err)
	}
	_, again, _, err := k.load()
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(l.identity, again.identity); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(l.private, again.private); d != "" {
		t.Error(d)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	q, follows := lookup(k.session, provider.Resource{Attributes: map[string]any{"name": "n"}})
	if !follows || q.ID != "" || q.Identity.Absent() {
		t.Errorf("by identity: %v, %v", q, follows)
	}
	q, follows = lookup(k.session, provider.Resource{Attributes: map[string]any{"name": "n", attrImport: "7"}})
	if d := cmp.Diff(wire.Import{ID: "7"}, q); d != "" || !follows {
		t.Errorf("by import: %s", d)
	}
	k.program.schemas.Identities = nil
	k.program.types = map[string]*value.Type{}
	if _, follows = lookup(k.session, provider.Resource{Attributes: map[string]any{"name": "n"}}); follows {
		t.Error("a resource without identity is looked up")
	}
}
