package deploy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// clever is the test's handler with what the case gives it beyond the four calls.
type clever struct {
	handler
	list     func(found func(provider.Found) error) error
	inSync   func(attribute string, desired, observed any) provider.Verdict
	noop     func(c *provider.Context, planned provider.BatchChange) error
	flush    func(done []provider.BatchChange) error
	generate func(r provider.Resource) ([]provider.Generated, error)
	create   func(c *provider.Context)
	form     func(attrs map[string]any) map[string]any
}

// lister, and the types below, have one optional interface each.
type (
	lister    struct{ clever }
	syncer    struct{ clever }
	nooper    struct{ clever }
	flusher   struct{ clever }
	generator struct{ clever }
	former    struct{ clever }
)

func (c clever) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	if c.create != nil {
		c.create(ctx)
	}
	return c.handler.Create(ctx, req)
}

func (c lister) List(_ *provider.Context, found func(provider.Found) error) error {
	return c.list(found)
}

func (c syncer) InSync(
	_ *provider.Context, attribute string, desired, observed any,
) (provider.Verdict, error) {
	return c.inSync(attribute, desired, observed), nil
}

func (c nooper) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	return c.noop(ctx, planned)
}

func (c flusher) Flush(_ context.Context, done []provider.BatchChange) error {
	return c.flush(done)
}

func (c generator) Generate(r provider.Resource) ([]provider.Generated, error) {
	return c.generate(r)
}

func (c former) Canonicalise(attrs map[string]any) (map[string]any, error) {
	return c.form(attrs), nil
}

func (r *rig) last(name string) state.Action {
	r.t.Helper()
	all, err := r.home.Actions(context.Background(), "e", state.ActionQuery{Resource: id(name)})
	if err != nil || len(all) == 0 {
		r.t.Fatal(err, len(all))
	}
	return slices.MaxFunc(all, func(a, b state.Action) int { return strings.Compare(a.ID, b.ID) })
}

func TestListIsReadOnceForABatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lists := 0
	r.w.things["b"] = "v"
	r.e.Handlers["t::T"] = lister{
		clever{handler: handler{r.w}, list: func(found func(provider.Found) error) error {
			lists++
			return errors.Join(
				found(provider.Found{Attributes: map[string]any{"name": "b", "value": "v"}}),
				found(provider.Found{Attributes: map[string]any{"name": "other"}}))
		}}}
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c"))})
	r.drain()
	calls := r.took("read", "create", "update")
	slices.Sort(calls)
	r.same("calls: what the list lacks is not asked for again", calls, "create a", "create c")
	if lists != 1 {
		t.Errorf("%d lists", lists)
	}
	r.want("b", state.StatusDeployed)
}

// TestListThatDoesNotSayIsNotBelieved has a list that leaves an attribute out and one that has it
// in other words, as lists that are made for discovery do: what they do not show to be right is
// read, and nothing is changed that is right.
func TestListThatDoesNotSayIsNotBelieved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.things["a"], r.w.things["b"], r.w.things["c"] = "v", "v", "v"
	r.e.Handlers["t::T"] = lister{
		clever{handler: handler{r.w}, list: func(found func(provider.Found) error) error {
			return errors.Join(found(provider.Found{Attributes: map[string]any{"name": "a"}}),
				found(provider.Found{Attributes: map[string]any{"name": "b", "value": "V"}}),
				found(provider.Found{Attributes: map[string]any{"name": "c", "value": "v"}}))
		}}}
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c"))})
	r.drain()
	calls := r.took("read", "create", "update")
	slices.Sort(calls)
	r.same("calls", calls, "read a", "read b")
}

func TestListThatFailsIsNoReading(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.things["a"] = "v"
	r.e.Handlers["t::T"] = lister{clever{handler: handler{r.w},
		list: func(func(provider.Found) error) error { return errors.New("too many") }}}
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"))})
	r.drain()
	r.same("calls", r.took("read", "create"), "read a", "read b", "create b")
}

func TestHandlerDecidesWhatIsInSync(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.things["a"], r.w.things["b"] = "V", "v"
	r.e.Handlers["t::T"] = syncer{clever{handler: handler{r.w},
		inSync: func(attribute string, desired, observed any) provider.Verdict {
			switch {
			case attribute == "value" && strings.EqualFold(desired.(string), observed.(string)) &&
				desired != observed:
				return provider.Verdict{Sync: provider.Same, Why: "case does not count"}
			case observed == "v":
				return provider.Verdict{Sync: provider.Differs, Why: "worn out"}
			}
			return provider.Verdict{}
		}}}
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"))})
	r.drain()
	r.same("updates", r.took("update"), "update b")
	if a := r.last("a"); a.Change != diff.NoChange || a.Messages[0].Msg != "case does not count" {
		t.Errorf("%+v", a)
	}
	if a := r.last("b"); a.Messages[0].Msg != "worn out" || a.Changes["value"].Current != "v" {
		t.Errorf("%+v", a)
	}
}

func TestDryRunReachesTheProvider(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.things["c"] = "v"
	r.e.Handlers["t::T"] = nooper{clever{handler: handler{r.w},
		noop: func(c *provider.Context, planned provider.BatchChange) error {
			if !c.DryRun() {
				return errors.New("not a dry run")
			}
			if nameOf(planned.Resource) == "b" {
				return errors.New("no room")
			}
			c.Changed("serial", nil, "would be 7")
			return nil
		}}}
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c")), NoRelease: true})
	d, err := r.e.DryRun(context.Background(), "e", 1)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range d.Planned {
		got = append(got, fmt.Sprintf("%s %s %t %v", w.ID, w.Action, w.Failed,
			w.Changes["serial"].Desired))
		if w.ID == id("b") && w.Reason != "a deploy would fail: no room" {
			t.Error(w.Reason)
		}
	}
	slices.Sort(got)
	r.same("would", got, string(id("a"))+" create false would be 7",
		string(id("b"))+" create true <nil>", string(id("c"))+" none false <nil>")
	r.same("calls", r.took("create", "update", "delete"))
}

func TestFlushIsOneForABatch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var sizes []int
	fail := false
	r.w.things["b"] = "v"
	r.e.Handlers["t::T"] = flusher{
		clever{handler: handler{r.w}, flush: func(done []provider.BatchChange) error {
			sizes = append(sizes, len(done))
			if fail {
				return errors.New("the daemon is gone")
			}
			return nil
		}}}
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c"))})
	r.drain()
	if !slices.Equal(sizes, []int{2}) {
		t.Errorf("flushed %v, want the two that were changed at once", sizes)
	}
	fail = true
	d := res("d")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("c"), d)})
	r.drain()
	r.want("d", state.StatusFailed)
	if reason := r.row("d").Reason; reason != "flush: the daemon is gone" {
		t.Error(reason)
	}
	r.want("a", state.StatusDeployed)
}

func TestGenerated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Handlers["t::T"] = generator{clever{handler: handler{r.w},
		generate: func(p provider.Resource) ([]provider.Generated, error) {
			switch nameOf(p) {
			case "a":
				return []provider.Generated{{Type: "t::T",
					Attributes: map[string]any{"name": "follows", "value": "made"}},
					{Type: "t::T", Attributes: map[string]any{"name": "b", "value": "made"}}}, nil
			case "endless":
				return []provider.Generated{{Type: "t::T",
					Attributes: map[string]any{"name": "endless", "value": "x"}},
					{Type: "t::None"}}, nil
			}
			if strings.HasPrefix(nameOf(p), "n") {
				return []provider.Generated{{Type: "t::T",
					Attributes: map[string]any{"name": nameOf(p) + "n"}}}, nil
			}
			return nil, nil
		}}}
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"))})
	r.drain()
	calls := r.took("create")
	if len(calls) != 3 || r.w.things["follows"] != "made" || r.w.things["b"] != "v" {
		t.Errorf("%q %v: what is written wins", calls, r.w.things)
	}
	if slices.Index(calls, "create follows") < slices.Index(calls, "create a") {
		t.Error("what follows comes after what it follows from")
	}
	problems := r.e.ValidateClosed(modelOf(res("endless")))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "no such type") {
		t.Error(problems)
	}
	problems = r.e.ValidateClosed(modelOf(res("n")))
	if len(problems) != 1 || !strings.Contains(problems[0].Message, "without end") {
		t.Error(problems)
	}
}

func TestWhatAHandlerSaysOfARun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Handlers["t::T"] = clever{handler: handler{r.w}, create: func(c *provider.Context) {
		switch nameOf(c.Desired()) {
		case "drift":
			c.Changed("note", "old", "new")
			c.Changed("serial", nil, "7")
			c.Changed("free", nil, "text")
		case "found":
			c.SetChange(diff.NoChange)
			c.SetChange(diff.NoChange)
		case "unsure":
			c.SetChange(diff.NoChange)
			c.SetChange(diff.Updated)
		}
		if c.Version() != 1 || c.Released() != 1 {
			c.Error("the version is wrong", "version", c.Version(), "released", c.Released())
		}
	}}
	r.export(deploy.Export{Model: modelOf(res("drift"), res("found"), res("unsure"))})
	r.drain()
	drift := r.last("drift")
	if _, refused := drift.Changes["note"]; refused || drift.Changes["serial"].Desired != "7" ||
		drift.Changes["free"].Desired != "text" {
		t.Errorf("changes %v: the note is not managed", drift.Changes)
	}
	if len(drift.Messages) != 1 || drift.Messages[0].Kwargs["attribute"] != "note" ||
		drift.Messages[0].Kwargs["current"] != "old" {
		t.Errorf("%+v", drift.Messages)
	}
	if found := r.last("found"); found.Change != diff.NoChange ||
		found.Outcome != state.StatusDeployed {
		t.Errorf("%+v", found)
	}
	r.want("unsure", state.StatusFailed)
	if class := r.row("unsure").Class; class != provider.Terminal {
		t.Error(class)
	}
}

func TestStrictAboutTheCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		strict provider.Strictness
		status state.Status
		lines  int
	}{{provider.StrictOff, state.StatusDeployed, 0},
		{provider.StrictWarning, state.StatusDeployed, 1},
		{provider.StrictError, state.StatusFailed, 1}} {
		r := newRig(t)
		r.w.things["a"] = "V"
		r.e.Handlers["t::T"] = former{
			clever{handler: handler{r.w}, form: func(attrs map[string]any) map[string]any {
				return map[string]any{"name": attrs["name"],
					"value": strings.ToLower(fmt.Sprint(attrs["value"]))}
			}}}
		r.export(deploy.Export{Model: modelOf(res("a")),
			Settings: &state.Settings{Strict: tc.strict}})
		r.drain()
		r.want("a", tc.status)
		if lines := r.last("a").Messages; len(lines) != tc.lines ||
			tc.lines > 0 && !strings.Contains(lines[0].Msg, "own canonical form: value") {
			t.Errorf("%q: %+v", tc.strict, lines)
		}
	}
}

func TestProviderIsRecorded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	typ, _ := r.e.Types.Type("t::T")
	d := provider.Define(typ.Type, provider.Provider{Name: "plain", Handler: handler{r.w}},
		provider.Provider{Name: "never", Handler: handler{r.w},
			Needs: provider.Needs{Commands: []string{"no-such-command"}}, Preference: 9})
	r.e.Handlers["t::T"] = d.Handler
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"))})
	r.drain()
	for _, name := range []string{"a", "b"} {
		a := r.last(name)
		const why = "it suits: it needs nothing; not never: there is no command no-such-command"
		if a.Provider != "plain" || a.ProviderWhy != why {
			t.Errorf("%q because %q", a.Provider, a.ProviderWhy)
		}
	}
	dry, err := r.e.DryRun(context.Background(), "e", 1)
	if err != nil || dry.Covered != 2 {
		t.Fatal(dry, err)
	}
	if a := r.last("a"); a.Action != state.ActionDryRun || a.Provider != "plain" {
		t.Errorf("%+v", a)
	}
}

func TestCacheIsTheAgents(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made := map[string]int{}
	closed := []string{}
	r.e.Handlers["t::T"] = clever{handler: handler{r.w}, create: func(c *provider.Context) {
		agent := c.ID().Agent()
		_, back, err := provider.Borrow(c, provider.Key{Name: "session"},
			provider.Keep{For: time.Hour},
			func(*provider.Context) (string, error) { made[agent]++; return agent, nil },
			func(s string) { closed = append(closed, s) })
		back()
		if err != nil {
			c.Error("cache", "error", err)
		}
	}}
	other := res("c")
	other.Agent, other.ID = "z", resource.ID("t::T[z,name=c]")
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), other)})
	r.drain()
	r.export(deploy.Export{Model: modelOf(res("a"), res("b"), res("d"), other)})
	r.drain()
	if made["a"] != 1 || made["z"] != 1 {
		t.Errorf("made %v, want one for each agent", made)
	}
	r.e.Close()
	slices.Sort(closed)
	r.same("closed", closed, "a", "z")
}

func TestParameterNames(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	set := func(name string) error {
		return r.e.SetParameters(t.Context(), "e", state.Parameter{Name: name, Value: "1"})
	}
	for _, name := range []string{"", "/", "a\r\nb", "a\nb", "\x00", "\x1b[31m", "\xff", "a\u2028b",
		strings.Repeat("x", 1025), resource.Unknown("why").Name} {
		if err := set(name); !fault.Is(err, fault.Invalid) ||
			strings.ContainsAny(err.Error(), "\r\n\x1b") {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"a", "db/host-1.example", "mit Leerzeichen und ü", "日本"} {
		if err := set(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
