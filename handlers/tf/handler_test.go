package tf

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/tf/process"
	"southbound/shared/tf/wire"
	"southbound/shared/transport"
)

func TestMetadataOfAType(t *testing.T) {
	t.Parallel()
	types, problems := Types(Origin{Local: "x", Address: "example.com/a/x", Version: "1.2.3",
		Hashes: []string{"h1:a", "zh:b"}}, schemas(t, `{"resources":{"x_y":{"block":{"attributes":[
		{"name":"id","type":"string","computed":true},{"name":"label","type":"string","optional":true},
		{"name":"n","type":"number","optional":true}]}}}}`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	m, err := metaOf(&types[0])
	if err != nil {
		t.Fatal(err)
	}
	if m.provider.String() != "example.com/a/x" || m.version != "1.2.3" || m.theirs != "x_y" || m.data {
		t.Errorf("%+v", m)
	}
	if d := cmp.Diff([]string{"h1:a", "zh:b"}, m.hashes); d != "" {
		t.Error(d)
	}
	documents := map[string]any{attrLabel: "of the document", attrImport: "7", "label_": "theirs",
		schema.CreateBeforeDestroy: true, "n": int64(1)}
	theirs := m.configured(documents)
	if d := cmp.Diff(map[string]any{"label": "theirs", "n": int64(1)}, theirs); d != "" {
		t.Error(d)
	}
	theirs["id"] = "a"
	want := map[string]any{"label_": "theirs", "n": int64(1), "id_": "a"}
	if d := cmp.Diff(want, m.reported(theirs)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"id_"}, identityOf(&types[0])); d != "" {
		t.Error(d)
	}
}

func TestMetadataIsChecked(t *testing.T) {
	t.Parallel()
	good := map[string]any{MetaType: "x_y", MetaProvider: "a/x", MetaVersion: "1.0.0"}
	for member, v := range map[string]any{MetaType: 1, MetaProvider: "x", MetaVersion: nil,
		MetaAttributes: map[string]any{"a": true}} {
		bad := map[string]any{}
		for k, v := range good {
			bad[k] = v
		}
		bad[member] = v
		_, err := metaOf(&schema.Type{Name: "tf::x::Y", Metadata: bad})
		if err == nil || !strings.Contains(err.Error(), member) {
			t.Errorf("%s: %v", member, err)
		}
	}
	if _, err := metaOf(&schema.Type{Name: "tf::x::Y", Metadata: good}); err != nil {
		t.Error(err)
	}
}

// TestBroken pins the class of errors of calls, and that no error has a kind by which the engine would
// explain it differently: Internal is a panic of a handler, Unavailable a target that is not reached.
func TestBroken(t *testing.T) {
	t.Parallel()
	hinted := func(k fault.Kind) error { return fault.New(k, "call", "it").WithHint("do that") }
	refused := fault.Wrap(fault.Invalid, "configure", &process.Refused{Diagnostics: []wire.Diagnostic{
		{Severity: wire.SeverityError, Summary: "no such user"}}})
	for name, x := range map[string]struct {
		err         error
		class       provider.Class
		unavailable bool
		kind        fault.Kind
	}{
		"lost":            {hinted(fault.Unavailable), provider.Retryable, false, fault.Unknown},
		"failed":          {hinted(fault.Internal), provider.Retryable, false, fault.Unknown},
		"not implemented": {hinted(fault.Unsupported), provider.Terminal, false, fault.Unknown},
		"unreadable":      {hinted(fault.Damaged), provider.Terminal, false, fault.Unknown},
		"not installed":   {hinted(fault.NotFound), provider.Retryable, true, fault.Unknown},
		"not executable":  {hinted(fault.Denied), provider.Retryable, true, fault.Unknown},
		"another hash":    {hinted(fault.Refused), provider.Retryable, true, fault.Unknown},
		"configuration":   {refused, provider.Retryable, true, fault.Unknown},
		"canceled":        {context.Canceled, provider.Retryable, false, fault.Canceled},
		"time limit":      {hinted(fault.Timeout), provider.Retryable, false, fault.Timeout},
		"classified": {provider.Errorf(provider.NeedsChange, "other agent"), provider.NeedsChange, false,
			fault.Unknown},
	} {
		got := broken(x.err)
		if provider.ClassOf(got) != x.class || errors.Is(got, provider.ErrUnavailable) != x.unavailable ||
			fault.KindOf(got) != x.kind {
			t.Errorf("%s: %v: class %s, kind %s", name, got, provider.ClassOf(got), fault.KindOf(got))
		}
		if fault.HintOf(x.err) != "" && x.kind == fault.Unknown && !strings.Contains(got.Error(), "do that") {
			t.Errorf("%s: no hint in %v", name, got)
		}
	}
	if broken(nil) != nil {
		t.Error("no error is one")
	}
}

func TestDiagnostics(t *testing.T) {
	t.Parallel()
	m := &meta{ours: map[string]string{"id": "id_"}}
	all := []wire.Diagnostic{
		{Severity: wire.SeverityWarning, Summary: "Old", Detail: "Use another one.",
			Path: wire.Path{{Kind: wire.StepAttribute, Name: "id"}}},
		{Severity: wire.SeverityError, Summary: "Invalid", Detail: "Invalid",
			Path: wire.Path{{Kind: wire.StepAttribute, Name: "rule"}, {Kind: wire.StepIndex, At: 2}}},
		{Severity: wire.SeverityInvalid, Detail: "Only a detail."},
	}
	if d := cmp.Diff([]string{"id_: Old: Use another one."}, m.lines(all, true)); d != "" {
		t.Error(d)
	}
	err := m.failed(provider.NeedsChange, all)
	if err == nil || err.Error() != "rule/2: Invalid\nOnly a detail." ||
		provider.ClassOf(err) != provider.NeedsChange {
		t.Error(err)
	}
	if err := m.failed(provider.NeedsChange, all[:1]); err != nil {
		t.Errorf("a warning is an error: %v", err)
	}
	many := make([]wire.Diagnostic, 1000)
	if got := m.lines(many, false); len(got) != maxLines+1 {
		t.Errorf("%d lines", len(got))
	}
	err = m.invalid(diag.Problems{{Attribute: "id", Message: "wrong", Hint: "leave it out"}})
	if err.Error() != "id_: wrong; leave it out" || provider.ClassOf(err) != provider.NeedsChange {
		t.Error(err)
	}
}

func TestTimeLimit(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		timeouts any
		want     time.Duration
	}{
		{nil, defaultLimit},
		{map[string]any{"create": "2h", "delete": "5m"}, 2*time.Hour + answerMargin},
		{[]any{map[string]any{"read": "90s"}}, 90*time.Second + answerMargin},
		{map[string]any{"create": "soon", "read": int64(3), "delete": resource.Parameter{}}, defaultLimit},
		{map[string]any{"create": "-1h"}, defaultLimit},
		{map[string]any{"create": "1000000h"}, longestLimit + answerMargin},
		{"1h", defaultLimit},
	} {
		if got := timeLimit(map[string]any{"timeouts": x.timeouts}); got != x.want {
			t.Errorf("%v: %s, want %s", x.timeouts, got, x.want)
		}
		r := provider.Resource{Attributes: map[string]any{"timeouts": x.timeouts}}
		if got := (&handler{}).CallTimeout(r); got <= x.want+30*time.Second {
			t.Errorf("%v: the engine leaves the provider %s to answer", x.timeouts, got-x.want)
		}
	}
}

// TestWriteOnlyVersion pins that the version of a write-only value changes with its reference only, and
// that an author's own version stays.
func TestWriteOnlyVersion(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	filled := func(stored, resolved map[string]any) map[string]any {
		c := *k.session
		c.ctx = k.host.Context(t.Context(), provider.Options{ID: "r",
			Stored: &resource.Resource{Attributes: stored}})
		return c.withVersions(resolved)
	}
	secret := func(version string) map[string]any {
		return map[string]any{"name": "n",
			"pin_wo": resource.Secret{Source: "env:PIN", Version: version}}
	}
	one := filled(secret("1"), map[string]any{"pin_wo": "abc"})["pin_wo_version"]
	same := filled(secret("1"), map[string]any{"pin_wo": "xyz"})["pin_wo_version"]
	other := filled(secret("2"), map[string]any{"pin_wo": "abc"})["pin_wo_version"]
	if n, is := one.(int64); !is || n <= 0 || n > 1<<31-1 || one != same || one == other {
		t.Errorf("%v, %v, %v", one, same, other)
	}
	own := filled(secret("1"), map[string]any{"pin_wo": "abc", "pin_wo_version": int64(7)})
	if own["pin_wo_version"] != int64(7) {
		t.Error(own)
	}
	text := filled(map[string]any{"words_wo": "w"}, map[string]any{"words_wo": "w"})
	if v, is := text["words_wo_version"].(string); !is || v == "" {
		t.Error(text)
	}
	if none := filled(map[string]any{"name": "n"}, map[string]any{"name": "n"}); len(none) != 1 {
		t.Error(none)
	}
}

func TestSensitiveValuesAreNoFacts(t *testing.T) {
	t.Parallel()
	k := newKeeping(t)
	l := k.object("a")
	want := map[string]any{"id": "a", "id_": "a", "name": "n"}
	if d := cmp.Diff(want, k.facts(l)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]any{"key": "s3cret"}, k.outputs(l)); d != "" {
		t.Error(d)
	}
	l.doubtful = true
	if got := k.facts(l); len(got) > 0 {
		t.Errorf("a doubtful state has facts %v", got)
	}
	l.doubtful, l.tainted = false, true
	if got := k.facts(l); len(got) > 0 {
		t.Errorf("a tainted object has facts %v", got)
	}
	k.ctx = k.host.Context(t.Context(), provider.Options{ID: "r", Stored: &resource.Resource{
		Attributes: map[string]any{"name": resource.Secret{}}}})
	if got := k.facts(k.object("a")); got["name"] != nil {
		t.Errorf("the value of a secret is a fact: %v", got)
	}
}

// TestBridgeIsDefined pins that the definition is accepted by a program, with its transport.
func TestBridgeIsDefined(t *testing.T) {
	t.Parallel()
	of := []provider.Definition{Bridge(Options{})}
	if _, err := provider.NewRegistry(of); err != nil {
		t.Error(err)
	}
	packs, err := transport.BroughtBy(of)
	if err != nil {
		t.Fatal(err)
	}
	if packs.Named(Transport) == nil {
		t.Error("there is no transport")
	}
	types, _ := Types(Origin{Local: "x", Address: "a/x", Version: "1.0.0"}, schemas(t,
		`{"resources":{"x_y":{"block":{}}},"data_sources":{"x_z":{"block":{}}}}`))
	for i := range types {
		h, err := of[0].Bridge.Handler(types[i])
		if err != nil {
			t.Fatal(err)
		}
		if wrong := provider.Mismatches(h); len(wrong) > 0 {
			t.Error(wrong)
		}
		_, keeps := provider.As[provider.Keeper](h)
		if keeps == strings.Contains(types[i].Name, "data") {
			t.Errorf("%s: keeps state: %v", types[i].Name, keeps)
		}
		ctx := providertest.NewHost("another connection").Context(t.Context(), provider.Options{})
		if _, err := h.Read(ctx, provider.ReadRequest{}); !errors.Is(err, provider.ErrUnavailable) {
			t.Errorf("%s over another transport: %v", types[i].Name, err)
		}
	}
}

func TestAgentOptions(t *testing.T) {
	t.Parallel()
	a, err := newAgent("db", map[string]any{"provider": "cyrilgdn/postgresql",
		"config": map[string]any{"host": "h"}, "env": map[string]any{"B": "2", "A": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(a.address, a.env); got != "registry.opentofu.org/cyrilgdn/postgresql [A=1 B=2]" {
		t.Error(got)
	}
	if _, err := newAgent("db", map[string]any{"provider": "postgresql"}); !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	other := &meta{name: "tf::x::Y"}
	if _, err := a.target(other, nil); provider.ClassOf(err) != provider.NeedsChange {
		t.Errorf("a type of another provider: %v", err)
	}
	a.note(fault.Wrap(fault.Invalid, "configure", &process.Refused{}))
	if _, err := a.target(other, nil); !fault.Is(err, fault.Denied) {
		t.Errorf("after a refusal: %v", err)
	}
}
