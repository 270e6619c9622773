package provider_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// plain is a handler that says what it is by what it observes.
type plain struct{ name string }

func (p plain) Read(*provider.Context, provider.ReadRequest) (provider.Observation, error) {
	return provider.Observation{Exists: true, Attributes: map[string]any{"by": p.name}}, nil
}

func (p plain) Create(*provider.Context, provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, errors.New(p.name + " created")
}

func (p plain) Update(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, errors.New(p.name + " updated")
}

func (p plain) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, errors.New(p.name + " deleted")
}

// rich has optional interfaces, too.
type rich struct {
	plain
	batches *[]int
}

func (r rich) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	*r.batches = append(*r.batches, len(items))
	out := make([]provider.Reading, len(items))
	for i := range out {
		out[i].Observation, _ = r.Read(nil, items[i].ReadRequest)
	}
	return out
}

func (r rich) ApplyBatch(_ context.Context, items []provider.BatchChange) []provider.Applied {
	return make([]provider.Applied, len(items)-1) // one is missing
}

func (r rich) Reload(*provider.Context, provider.ReadRequest) error {
	return errors.New("reloaded")
}

func (r rich) CallTimeout(provider.Resource) time.Duration { return time.Hour }

func (r rich) List(_ *provider.Context, found func(provider.Found) error) error {
	return found(provider.Found{Attributes: map[string]any{"name": "by " + r.name}})
}

// differ compares.
type differ struct{ plain }

func (differ) Diff(
	*provider.Context, provider.Resource, provider.Observation,
) (map[string]diff.Diff, error) {
	return nil, nil
}

func define(t *testing.T, providers ...provider.Provider) provider.Definition {
	t.Helper()
	d := provider.Define(schema.Type{Name: "t::T", Description: "a thing",
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar}}}, providers...)
	if _, err := schema.NewRegistry(d.Type); err != nil {
		t.Fatal(err)
	}
	return d
}

// facts are those of a machine that the test makes up.
func facts() map[string]string {
	return map[string]string{"os": "linux", "family": "ubuntu debian", "version": "22.04"}
}

func TestChoice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "there")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	never := provider.Needs{Commands: []string{"no-such-command"}}
	is := func(name, value string) provider.Needs {
		return provider.Needs{Facts: map[string]string{name: value}, Machine: facts}
	}
	for name, tc := range map[string]struct {
		needs  []provider.Needs
		prefer []int
		named  string
		want   string // p0, p1, ... or an error
		why    string
	}{
		"the first of equals": {[]provider.Needs{{}, {}}, nil, "", "p0",
			"preferred (0) over p1"},
		"the preferred": {[]provider.Needs{{}, {}}, []int{1, 2}, "", "p1",
			"preferred (2) over p0"},
		"not one that lacks a command": {[]provider.Needs{never, {}}, []int{9, 0}, "", "p1",
			"not p0: there is no command no-such-command"},
		"by a command that is there": {[]provider.Needs{{Commands: []string{"sh"}}}, nil, "",
			"p0", "has sh"},
		"by a file": {[]provider.Needs{{Files: []string{file + "x"}},
			{Files: []string{file}}}, nil, "", "p1", "there is no " + file + "x"},
		"by a fact that is a list": {
			[]provider.Needs{is("family", "suse|rhel"), is("family", "rhel | debian")}, nil, "",
			"p1", `family is "ubuntu debian", not suse|rhel`},
		"by a version": {[]provider.Needs{is("version", "< 9"),
			is("version", ">=22.4")}, nil, "", "p1", `version is "22.04", not < 9`},
		"not by a fact that is not known": {[]provider.Needs{is("kernel", "x"), {}}, nil, "", "p1",
			`kernel is "", not x`},
		"not by a check": {
			[]provider.Needs{{Check: func(*provider.Context) string { return "it is Monday" }}, {}},
			nil, "", "p1", "not p0: it is Monday"},
		"by the transport": {
			[]provider.Needs{{Transport: func(v any) bool { return v == "ssh" }, Over: "ssh"},
				{Transport: func(v any) bool { return v == "wire" }, Over: "wire"}}, nil, "", "p1",
			"not connected over ssh"},
		"by name": {[]provider.Needs{{}, {}}, []int{5, 0}, "p1", "p1",
			"the resource names it"},
		"none that suits": {[]provider.Needs{never, is("os", "plan9")}, nil, "",
			"retryable",
			`no provider of t::T suits this machine: p0: there is no command no-such-command; p1: os is "linux", not plan9`},
		"by name, and it does not suit": {[]provider.Needs{never, {}}, nil, "p0", "retryable",
			"the provider p0, which the resource names, does not suit: there is no command"},
		"by a name that there is not": {[]provider.Needs{{}}, nil, "p7", "needs_change",
			`has no provider "p7"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.transport = "wire"
			var list []provider.Provider
			for i, n := range tc.needs {
				p := provider.Provider{Name: "p" + string(rune('0'+i)), Needs: n,
					Handler: plain{"p" + string(rune('0'+i))}}
				if tc.prefer != nil {
					p.Preference = tc.prefer[i]
				}
				list = append(list, p)
			}
			r := provider.Resource{Type: "t::T", Attributes: map[string]any{"name": "x"}}
			if tc.named != "" {
				r.Attributes[provider.ProviderAttribute] = tc.named
			}
			ctx := w.context(1)
			obs, err := define(t, list...).Handler.Read(ctx, provider.ReadRequest{Resource: r})
			if err != nil {
				if string(provider.ClassOf(err)) != tc.want ||
					!strings.Contains(err.Error(), tc.why) {
					t.Errorf("%s %v", provider.ClassOf(err), err)
				}
				return
			}
			if obs.Attributes["by"] != tc.want || w.chosen != tc.want ||
				!strings.Contains(w.why, tc.why) {
				t.Errorf("%v, %s because %q", obs, w.chosen, w.why)
			}
		})
	}
}

// TestChoiceLastsForTheRun: what becomes possible in the middle of a run does not change its
// provider.
func TestChoiceLastsForTheRun(t *testing.T) {
	t.Parallel()
	lack := "not yet"
	d := define(t, provider.Provider{Name: "late", Preference: 1, Handler: plain{"late"},
		Needs: provider.Needs{Check: func(*provider.Context) string { return lack }}},
		provider.Provider{Name: "early", Handler: plain{"early"}})
	w := newWorld()
	ctx := w.context(1)
	r := provider.Resource{Type: "t::T"}
	for range 2 {
		if obs, err := d.Handler.Read(ctx, provider.ReadRequest{Resource: r}); err != nil ||
			obs.Attributes["by"] != "early" {
			t.Error(obs, err)
		}
		lack = ""
	}
	for call, f := range map[string]func() (provider.Result, error){
		"created": func() (provider.Result,
			error) {
			return d.Handler.Create(ctx, provider.CreateRequest{Resource: r})
		},
		"updated": func() (provider.Result,
			error) {
			return d.Handler.Update(ctx, provider.UpdateRequest{Resource: r})
		},
		"deleted": func() (provider.Result, error) {
			return d.Handler.Delete(ctx.With(context.Background()),
				provider.DeleteRequest{Resource: r})
		},
	} {
		if _, err := f(); err == nil || err.Error() != "early "+call {
			t.Error(err)
		}
	}
	if obs, _ := d.Handler.Read(w.context(1),
		provider.ReadRequest{Resource: r}); obs.Attributes["by"] != "late" {
		t.Error("the next run has the better one")
	}
}

func TestChoiceSplitsBatches(t *testing.T) {
	t.Parallel()
	var batches []int
	d := define(t, provider.Provider{Name: "rich", Handler: rich{plain{"rich"}, &batches}},
		provider.Provider{Name: "plain", Handler: plain{"plain"}})
	w := newWorld()
	var reads []provider.BatchRead
	var changes []provider.BatchChange
	for _, name := range []string{"rich", "plain", "", "none"} {
		r := provider.Resource{Type: "t::T",
			Attributes: map[string]any{provider.ProviderAttribute: name}}
		ctx := w.context(1)
		reads = append(reads, provider.BatchRead{Context: ctx,
			ReadRequest: provider.ReadRequest{Resource: r}})
		changes = append(changes, provider.BatchChange{Context: ctx, Change: diff.Created,
			Resource: r})
	}
	b, ok := provider.As[provider.BatchReader](d.Handler)
	if !ok {
		t.Fatal("no batches")
	}
	got := b.ReadBatch(t.Context(), reads)
	for i, want := range []string{"rich", "plain", "rich"} {
		if got[i].Err != nil || got[i].Observation.Attributes["by"] != want {
			t.Errorf("%d: %+v", i, got[i])
		}
	}
	if got[3].Err == nil || len(batches) != 1 || batches[0] != 2 {
		t.Error(got[3], batches)
	}
	a, _ := provider.As[provider.BatchApplier](d.Handler)
	applied := a.ApplyBatch(t.Context(), changes)
	for i, want := range []string{"did not answer for each", "plain created",
		"did not answer for each", "has no provider"} {
		if applied[i].Err == nil || !strings.Contains(applied[i].Err.Error(), want) {
			t.Errorf("%d: %v", i, applied[i].Err)
		}
	}
}

func TestChoiceServesWhatItsProvidersDo(t *testing.T) {
	t.Parallel()
	var batches []int
	d := define(t, provider.Provider{Name: "rich", Handler: rich{plain{"rich"}, &batches}},
		provider.Provider{Name: "plain", Handler: plain{"plain"}})
	for capability, want := range map[reflect.Type]bool{
		reflect.TypeFor[provider.Reloader](): true, reflect.TypeFor[provider.Lister](): true,
		reflect.TypeFor[provider.Finder](): false,
		reflect.TypeFor[provider.Differ](): false, reflect.TypeFor[provider.Canonicaliser](): false,
		reflect.TypeFor[provider.FactReader](): false,
	} {
		if p, _ := d.Handler.(provider.Partial); p.Serves(capability) != want {
			t.Errorf("%s: %t", capability, !want)
		}
	}
	if _, ok := provider.As[provider.Finder](d.Handler); ok {
		t.Error("a finder")
	}
	l, _ := provider.As[provider.Reloader](d.Handler)
	w := newWorld()
	if err := l.Reload(w.context(1),
		provider.ReadRequest{Resource: provider.Resource{
			Attributes: map[string]any{"provider": "plain"}}}); err != nil {
		t.Error(err)
	}
	if err := l.Reload(w.context(1), provider.ReadRequest{}); err == nil {
		t.Error("not reloaded")
	}
	x, _ := provider.As[provider.Timeouter](d.Handler)
	if x.CallTimeout(provider.Resource{}) != time.Hour {
		t.Error("the time limit")
	}
}

func TestChoiceListsWithTheProvider(t *testing.T) {
	t.Parallel()
	var batches []int
	d := define(t, provider.Provider{Name: "one", Handler: rich{plain{"one"}, &batches}},
		provider.Provider{Name: "two", Handler: rich{plain{"two"}, &batches}},
		provider.Provider{Name: "mute", Handler: plain{"mute"}},
		provider.Provider{Name: "off", Handler: rich{plain{"off"}, &batches},
			Needs: provider.Needs{Files: []string{"/no/such/file"}}})
	l, _ := provider.As[provider.Lister](d.Handler)
	var got []string
	err := l.List(newWorld().context(1), func(f provider.Found) error {
		named, _ := f.Attributes["provider"].(string)
		name, _ := f.Attributes["name"].(string)
		got = append(got, name+"/"+named)
		return nil
	})
	if err != nil || strings.Join(got, " ") != "by one/ by two/two" {
		t.Error(got, err)
	}
}

func TestWrongDefinitions(t *testing.T) {
	t.Parallel()
	ok := plain{"x"}
	for says, list := range map[string][]provider.Provider{
		"there is no provider":      nil,
		`"" is not a name`:          {{Handler: ok}},
		"provider a has no handler": {{Name: "a"}},
		"provider a is there twice": {{Name: "a", Handler: ok}, {Name: "a", Handler: ok}},
		"compares with no version": {{Name: "a", Handler: ok,
			Needs: provider.Needs{Facts: map[string]string{"version": ">= eleven"}}}},
		"is not an absolute path": {
			{Name: "a", Handler: ok, Needs: provider.Needs{Files: []string{"etc"}}}},
		"1 of 2 providers implement Differ": {{Name: "a", Handler: ok},
			{Name: "b", Handler: differ{ok}}},
	} {
		d := provider.Define(schema.Type{Name: "t::T"}, list...)
		if _, err := schema.NewRegistry(d.Type); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
		if c, ok := d.Handler.(*provider.Choice); !ok || len(c.Providers()) > 0 {
			t.Errorf("%s: it can be used", says)
		}
	}
	d := provider.Define(schema.Type{Name: "t::T",
		Attributes: []schema.Attribute{{Name: "provider"}}},
		provider.Provider{Name: "a", Handler: ok})
	if _, err := schema.NewRegistry(d.Type); err == nil ||
		!strings.Contains(err.Error(), "the attribute provider is added, and declared already") {
		t.Errorf("the attribute is declared twice: %v", err)
	}
}

func TestDefinedTypeIsValid(t *testing.T) {
	t.Parallel()
	d := define(t, provider.Provider{Name: "apt", Description: "Debian", Handler: plain{"x"}},
		provider.Provider{Name: "with-dash", Handler: plain{"y"}})
	types, err := schema.NewRegistry(d.Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := types.Type("t::T")
	if _, problems := typ.Check(map[string]any{"name": "x", "provider": "with-dash"}); len(
		problems) > 0 {
		t.Error(problems)
	}
	_, problems := typ.Check(map[string]any{"name": "x", "provider": "dnf"})
	if len(problems) == 0 {
		t.Error("an unknown provider is accepted")
	}
}

func TestCompareVersions(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want int
	}{{"1.2", "1.10", -1}, {"1.10", "1.10", 0}, {"22.04", "22.4", 0}, {"2", "10", -1},
		{"1.0", "1", 1}, {"1.0a", "1.0b", -1}, {"", "", 0}, {"", "1", -1},
		{"184467440737095516160", "18446744073709551616", 1}} {
		if got := provider.CompareVersions(tc.a, tc.b); got != tc.want ||
			provider.CompareVersions(tc.b, tc.a) != -tc.want {
			t.Errorf("%q %q: %d", tc.a, tc.b, got)
		}
	}
}

func TestParseRelease(t *testing.T) {
	t.Parallel()
	got := provider.ParseRelease(
		"# a comment\nID=debian\nVERSION_ID=\"12\"\nNAME='It is \"x\"'\nODD=\"a \\\"b\\\" " +
			"\\$c\"\nnothing\n")
	for name, want := range map[string]string{"ID": "debian", "VERSION_ID": "12",
		"NAME": `It is "x"`, "ODD": `a "b" $c`} {
		if got[name] != want {
			t.Errorf("%s is %q", name, got[name])
		}
	}
	if here := provider.MachineFacts(); here["os"] == "" || here["arch"] == "" {
		t.Error(here)
	}
}

func TestExistingIsListedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld()
	l := &counted{}
	for range 3 {
		all, err := provider.Existing(w.context(1), l, provider.Keep{For: time.Minute})
		if err != nil || len(all) != 2 || l.lists != 1 {
			t.Fatal(all, err, l.lists)
		}
	}
	w.pass(time.Hour)
	if _, err := provider.Existing(w.context(1), l, provider.Keep{For: time.Minute}); err != nil ||
		l.lists != 2 {
		t.Error(err, l.lists)
	}
}

// counted lists two things and counts how often.
type counted struct{ lists int }

func (c *counted) List(_ *provider.Context, found func(provider.Found) error) error {
	c.lists++
	return errors.Join(found(provider.Found{}), found(provider.Found{}))
}
