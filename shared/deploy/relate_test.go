package deploy_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/local"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// tiedTypes are services, which need accounts and files, are told of packages, and come before and
// tell checks.
func tiedTypes(t *testing.T) *schema.Registry {
	t.Helper()
	name := schema.Attribute{Name: "name", Type: "String[1]", Behaviour: schema.Namevar}
	types, err := schema.NewRegistry(
		schema.Type{Name: "t::Service", Attributes: []schema.Attribute{
			name, {Name: "user", Type: "Optional[String]"},
			{Name: "files", Type: "Optional[Array[String]]"},
			{Name: "check", Type: "Optional[String]"},
		}, Relations: []schema.Relation{
			{Kind: schema.Require, Type: "t::Account", Titles: []string{"$user"}},
			{Kind: schema.Require, Type: "t::File", Titles: []string{"$files"}},
			{Kind: schema.Subscribe, Type: "t::Package", Titles: []string{"$name"}},
			{Kind: schema.Before, Type: "t::Check", Titles: []string{"$check"}},
			{Kind: schema.Notify, Type: "t::Check", Titles: []string{"${name}-told"}},
			{Kind: schema.Require, Type: "t::Service", Titles: []string{"$name"}},
		}},
		schema.Type{Name: "t::Account", Attributes: []schema.Attribute{name}},
		schema.Type{Name: "t::File", Attributes: []schema.Attribute{name,
			{Name: "of", Type: "Optional[String]"}},
			Relations: []schema.Relation{{Kind: schema.Require, Type: "t::Service",
				Titles: []string{"$of"}}}},
		schema.Type{Name: "t::Package", Attributes: []schema.Attribute{name}},
		schema.Type{Name: "t::Check", Attributes: []schema.Attribute{name}})
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// thing makes a resource: "t::File web of=x files=a,b".
func thing(text, set string, requires ...resource.ID) resource.Resource {
	words := strings.Fields(text)
	attrs := map[string]any{"name": words[1]}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		if k == "files" {
			list := []any{}
			for _, f := range strings.Split(v, ",") {
				list = append(list, f)
			}
			attrs[k] = list
			continue
		}
		attrs[k] = v
	}
	return resource.Resource{ID: resource.NewID(words[0], "a",
		resource.Key{Name: "name", Value: words[1]}), Type: words[0], Agent: "a", Attributes: attrs,
		Set: set, Requires: requires, Flags: resource.Flags{ReceiveEvents: true}}
}

func tiedEngine(t *testing.T) *deploy.Engine {
	t.Helper()
	home, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = home.Close() })
	return deploy.New(deploy.Config{State: home, Files: home.Files(), Notifier: home.Notifier,
		Clock: local.Clock{}, Caller: local.Caller{}, Secrets: home.Secrets(),
		Connector: &transport.Connector{Local: true}, Types: tiedTypes(t), Pack: "test",
		Holder: home.Holder(), NewID: home.NewID, Jitter: rand.Float64})
}

func TestRelations(t *testing.T) {
	e := tiedEngine(t)
	m := modelOf(thing("t::Service web user=www files=a,b,gone check=c", ""),
		thing("t::Account www", ""), thing("t::File a", ""), thing("t::File b", ""),
		thing("t::Package web", ""), thing("t::Check c", ""), thing("t::Check web-told", ""),
		thing("t::Package other", ""))
	if problems := e.ValidateClosed(m); len(problems) > 0 {
		t.Fatal(problems)
	}
	got := map[resource.ID][]resource.ID{}
	var heard []resource.ID
	hears := map[resource.ID][]resource.ID{}
	for _, r := range m.Resources {
		got[r.ID] = r.Requires
		if r.SendEvent {
			t.Errorf("%s sends events, which nobody wrote", r.ID)
		}
		if r.Subscribed {
			heard = append(heard, r.ID)
		}
		if len(r.Subscriptions) > 0 {
			hears[r.ID] = r.Subscriptions
		}
	}
	want := map[resource.ID][]resource.ID{
		"t::Service[a,name=web]": {"t::Account[a,name=www]", "t::File[a,name=a]",
			"t::File[a,name=b]", "t::Package[a,name=web]"},
		"t::Account[a,name=www]": nil, "t::File[a,name=a]": nil, "t::File[a,name=b]": nil,
		"t::Package[a,name=web]": nil, "t::Package[a,name=other]": nil,
		"t::Check[a,name=c]":        {"t::Service[a,name=web]"},
		"t::Check[a,name=web-told]": {"t::Service[a,name=web]"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]resource.ID{"t::Service[a,name=web]", "t::Package[a,name=web]"},
		heard); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[resource.ID][]resource.ID{
		"t::Service[a,name=web]":    {"t::Package[a,name=web]"},
		"t::Check[a,name=web-told]": {"t::Service[a,name=web]"}}, hears); d != "" {
		t.Error(d)
	}
}

// TestSubscribeTellsTheSubscriberAlone has one resource that subscribes by its type and one that
// only requires: the first hears of changes, the other only if an author has said that events are
// sent.
func TestSubscribeTellsTheSubscriberAlone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	was, _ := r.e.Types.Type("t::T")
	typ := was.Type
	typ.Relations = []schema.Relation{
		{Kind: schema.Subscribe, Type: "t::T", Titles: []string{"$note"}}}
	types, err := schema.NewRegistry(typ)
	if err != nil {
		t.Fatal(err)
	}
	r.e.Types = types
	with := func(text, value, note string) resource.Resource {
		out := res(text)
		out.Attributes["value"] = value
		if note != "" {
			out.Attributes["note"] = note
		}
		return out
	}
	sending := func(r resource.Resource) resource.Resource {
		r.SendEvent = true
		return r
	}
	deaf := func(r resource.Resource) resource.Resource {
		r.ReceiveEvents = false
		return r
	}
	for _, step := range []struct {
		why       string
		resources []resource.Resource
		reloads   []string
	}{
		{"nothing is told at creation",
			[]resource.Resource{with("a", "1", ""), with("s", "1", "a"), with("o<a", "1", "")},
			nil},
		{"the subscriber is told, though it has not changed",
			[]resource.Resource{with("a", "2", ""), with("s", "1", "a"), with("o<a", "1", "")},
			[]string{"s"}},
		{"and alone, also when the other runs anyway",
			[]resource.Resource{with("a", "3", ""), with("s", "1", "a"), with("o<a", "3", "")},
			[]string{"s"}},
		{"who says that events are sent tells all",
			[]resource.Resource{sending(with("a", "4", "")), with("s", "1", "a"),
				with("o<a", "3", "")}, []string{"o", "s"}},
		{"who says that it receives none is not told",
			[]resource.Resource{with("a", "5", ""), deaf(with("s", "1", "a")),
				with("o<a", "3", "")}, nil},
		{"nobody is told when the subscriber is gone",
			[]resource.Resource{with("a", "6", ""), with("o<a", "3", "")}, nil},
	} {
		r.w.reload = nil
		r.export(deploy.Export{Model: modelOf(step.resources...)})
		r.drain()
		slices.Sort(r.w.reload)
		r.same("reloads: "+step.why, r.w.reload, step.reloads...)
	}
}

// TestRelationsCycle names the whole cycle, and which of it nobody wrote.
func TestRelationsCycle(t *testing.T) {
	e := tiedEngine(t)
	m := modelOf(thing("t::Service web files=a", ""),
		thing("t::File a", "", "t::Account[a,name=www]"),
		thing("t::Account www", "", "t::Service[a,name=web]"))
	m.Where = func(i int, _ string) diag.Pos { return diag.Pos{File: "x.yaml", Line: i + 1} }
	problems := e.ValidateClosed(m)
	if len(problems) != 1 {
		t.Fatalf("problems: %v", problems)
	}
	p := problems[0]
	for _, part := range []string{"dependency cycle: ",
		"t::Service[a,name=web] requires t::File[a,name=a]",
		"t::File[a,name=a] requires t::Account[a,name=www]",
		"t::Account[a,name=www] requires t::Service[a,name=web]"} {
		if !strings.Contains(p.Message, part) {
			t.Errorf("%q is not in %q", part, p.Message)
		}
	}
	const hint = "remove one of these requirements; t::Service[a,name=web] requires " +
		"t::File[a,name=a] by the nature of its type"
	if p.Hint != hint || len(p.Related) != 3 {
		t.Errorf("hint %q, related %v", p.Hint, p.Related)
	}
	if problems := e.ValidateClosed(
		modelOf(thing("t::Service web files=a", ""), thing("t::File a of=web", ""))); len(
		problems) != 1 || !strings.Contains(problems[0].Hint,
		"t::File[a,name=a] requires t::Service") {
		t.Errorf("two types that need each other: %v", problems)
	}
}

// TestRelationsAcrossSets holds them between sets of partial exports, and lets them go with the set
// that they lead to.
func TestRelationsAcrossSets(t *testing.T) {
	e := tiedEngine(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	export := func(x deploy.Export) {
		t.Helper()
		if _, err := e.Export(ctx, "e", x); err != nil {
			t.Fatal(err)
		}
	}
	requires := func(id resource.ID) []resource.ID {
		t.Helper()
		requires, _, err := e.Neighbours(ctx, "e", id)
		if err != nil {
			t.Fatal(err)
		}
		return requires
	}
	export(deploy.Export{Model: modelOf(thing("t::File a", "files"),
		thing("t::Check c", "checks"))})
	export(deploy.Export{Partial: true,
		Model: modelOf(thing("t::Service web files=a check=c", "services"))})
	if d := cmp.Diff([]resource.ID{"t::File[a,name=a]"},
		requires("t::Service[a,name=web]")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]resource.ID{"t::Service[a,name=web]"},
		requires("t::Check[a,name=c]")); d != "" {
		t.Error(d)
	}
	export(deploy.Export{Partial: true, Model: modelOf(), DeleteSets: []string{"files"}})
	if got := requires("t::Service[a,name=web]"); len(got) > 0 {
		t.Errorf("the service requires %v, which is gone", got)
	}
	export(deploy.Export{Partial: true, Model: modelOf(thing("t::File a", "files")),
		DeleteSets: []string{"services"}})
	if got := requires("t::Check[a,name=c]"); len(got) > 0 {
		t.Errorf("the check requires %v, which is gone", got)
	}
}

// TestSecretsInMaps takes secrets where a type has them in a map, and no literals there.
func TestSecretsInMaps(t *testing.T) {
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "keys", Type: "Optional[Hash[String, Sensitive[String]]]"},
		{Name: "all", Type: "Optional[Hash]", Sensitive: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	e := deploy.New(deploy.Config{Types: types})
	secret := map[string]any{"a": resource.Secret{Source: "env:A"}}
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		bad   bool
	}{
		{"secrets in a map", map[string]any{"keys": secret}, false},
		{"a literal among them", map[string]any{"keys": map[string]any{"a": "b"}}, true},
		{"a map that is secret as a whole", map[string]any{"all": map[string]any{"a": "b"}}, true},
		{"a secret that is a map", map[string]any{"all": resource.Secret{Source: "env:A"}}, false},
	} {
		tc.attrs["name"] = "x"
		r := resource.Resource{ID: "t::T[a,name=x]", Type: "t::T", Agent: "a", Attributes: tc.attrs}
		if problems := e.ValidateClosed(modelOf(r)); (len(problems) > 0) != tc.bad {
			t.Errorf("%s: %v", tc.why, problems)
		}
	}
}

// TestProblemsBesideCycle pins that a cycle that follows from types is told whatever else is wrong,
// also with those in it, unless it follows from what is wrong; and in a set that is exported alone.
func TestProblemsBesideCycle(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Types = tiedTypes(t)
	wrong := func(text, attribute string) resource.Resource {
		out := thing(text, "")
		out.Attributes[attribute] = int64(7)
		return out
	}
	const cycle,
		other = "dependency cycle: t::Service[a,name=s] requires t::File[a,name=f] requires " +
		"t::Service[a,name=s]", "expected"
	for why, c := range map[string]struct {
		all  []resource.Resource
		want []string
	}{
		"elsewhere": {[]resource.Resource{thing("t::Service s files=f", ""),
			thing("t::File f of=s", ""), wrong("t::Service z", "check")}, []string{cycle, other}},
		"in it": {[]resource.Resource{wrong("t::Service s files=f", "check"),
			thing("t::File f of=s", "")}, []string{cycle, other}},
		"one is there twice": {[]resource.Resource{thing("t::Service s files=f", ""),
			thing("t::File f of=s", ""), thing("t::File f", "")}, []string{cycle, "twice"}},
		"what makes it": {[]resource.Resource{thing("t::Service s files=f", ""),
			wrong("t::File f", "of")}, []string{other}},
	} {
		for _, validate := range []func(*model.Model) diag.Problems{r.e.Validate,
			r.e.ValidateClosed} {
			problems := validate(&model.Model{Resources: slices.Clone(c.all)})
			if len(problems) != len(c.want) {
				t.Errorf("%s: %v", why, problems)
			}
			for _, w := range c.want {
				if !strings.Contains(problems.Error(), w) {
					t.Errorf("%s: %q is not among %v", why, w, problems)
				}
			}
		}
	}
}

// TestTargetIsToldByWhatStays targets a service that hears a package, of which the documents say
// nothing: the package stays as it was, and tells of its changes from now on.
func TestTargetIsToldByWhatStays(t *testing.T) {
	t.Parallel()
	e, ctx := tiedEngine(t), t.Context()
	heard, hears := thing("t::Package web", ""), thing("t::Service web", "")
	if _, err := e.Export(ctx, "e", deploy.Export{Model: modelOf(heard)}); err != nil {
		t.Fatal(err)
	}
	only, err := state.ParseFilter([]string{string(hears.ID)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.Export(ctx, "e",
		deploy.Export{Model: modelOf(hears), Target: only}); err != nil {
		t.Fatal(err)
	}
	body := func(id resource.ID) *resource.Resource {
		row, err := e.Row(ctx, "e", id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := resource.Decode(row.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	service, pack := body(hears.ID), body(heard.ID)
	if !slices.Contains(service.Subscriptions, pack.ID) || !pack.SendsEvents() ||
		!service.ReceivesEventsOf(pack) {
		t.Errorf("%+v does not tell %+v of its changes", pack, service)
	}
}
