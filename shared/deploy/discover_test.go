package deploy_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

func TestDiscover(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.w.things = map[string]string{"a": "v", "b": "other", "moved": "now", "twin": "v"}
	var failure error
	r.e.Handlers["t::T"] = lister{
		clever{handler: handler{r.w}, list: func(found func(provider.Found) error) error {
			for _, attrs := range []map[string]any{{"name": "b", "value": "other", "serial": "7"},
				{"name": "a", "value": "v"}, {"name": "moved", "value": "before"},
				{"name": "", "value": "x"}, {"value": "x"}, {"name": "twin"},
				{"name": "twin", "value": "again"}, {"name": "odd", "value": 5}} {
				if err := found(provider.Found{Attributes: attrs}); err != nil {
					return err
				}
			}
			return failure
		}}}
	d, err := r.e.Discover(context.Background(), "e",
		deploy.DiscoveryQuery{Type: "t::T", Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Resources) != 3 || d.Resources[0].ID != id("a") ||
		len(d.Resources[0].Attributes) != 1 || len(d.Resources[1].Attributes) != 2 ||
		d.Resources[2].ID != id("twin") {
		t.Errorf("%+v: defaults and what is only reported are left out", d.Resources)
	}
	why := map[string]int{}
	for _, l := range d.LeftOut {
		why[l.Why]++
	}
	for text, n := range map[string]int{"it has no name that a resource can have": 2,
		"another thing has the same name": 1, "value: expected a String, got the integer 5": 1,
		"a read disagrees with the list: it would be updated": 1} {
		if why[text] != n {
			t.Errorf("%d × %q in %v", why[text], text, why)
		}
	}
	r.same("changes", r.took("create", "update", "delete"))
	failure = errors.New("no list")
	_, err = r.e.Discover(context.Background(), "e",
		deploy.DiscoveryQuery{Type: "t::T", Agent: "a"})
	if !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	for typ, kind := range map[string]fault.Kind{"t::Assigned": fault.Unsupported,
		"t::TT": fault.NotFound} {
		_, err := r.e.Discover(context.Background(), "e",
			deploy.DiscoveryQuery{Type: typ, Agent: "a"})
		if !fault.Is(err, kind) {
			t.Errorf("%s: %v", typ, err)
		}
	}
}

// TestDiscoveryEndsWithItsCaller pins that the end of the caller is not reported as a failure of the
// handler.
func TestDiscoveryEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	over := fault.New(fault.Timeout, "", "the time is over")
	for why, begin := range map[string]func() (context.Context, func()){
		"the caller gives up": func() (context.Context, func()) {
			ctx, cancel := context.WithCancelCause(t.Context())
			return ctx, func() { cancel(over) }
		},
		"its limit is shorter than the handler's": func() (context.Context, func()) {
			ctx, cancel := patience.WithTimeout(t.Context(), time.Millisecond)
			t.Cleanup(cancel)
			return ctx, func() { <-ctx.Done() }
		},
	} {
		ctx, end := begin()
		r.e.Handlers["t::T"] = lister{
			clever{handler: handler{r.w}, list: func(func(provider.Found) error) error {
				end()
				return errors.New("interrupted")
			}}}
		_, err := r.e.Discover(ctx, "e", deploy.DiscoveryQuery{Type: "t::T", Agent: "a"})
		if !fault.Is(err, fault.Timeout) || strings.Contains(err.Error(), "answer") {
			t.Errorf("%s: %v", why, err)
		}
	}
}

// TestDiscoverLike wants each attribute that is given to be used, by the handler or to select from
// what it lists, or to be refused.
func TestDiscoverLike(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Listed: []string{"shelf"},
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "root", Type: "String[1]", Behaviour: schema.Namevar, Default: "/"},
			{Name: "shelf", Type: "Optional[String]", Behaviour: schema.Parameter},
			{Name: "how", Type: "Optional[String]", Behaviour: schema.Parameter},
			{Name: "value", Type: "Optional[String]"}, {Name: "size", Type: "Integer", Default: int64(1)},
			{Name: "key", Type: "Optional[String]", Sensitive: true},
			{Name: "state", Type: "Optional[String]", Behaviour: schema.ReadOnly}}})
	if err != nil {
		t.Fatal(err)
	}
	r.e.Types = types
	r.w.things = map[string]string{"a": "x", "b": "y", "c": "x"}
	r.e.Handlers["t::T"] = lister{
		clever{handler: handler{r.w}, list: func(found func(provider.Found) error) error {
			for _, attrs := range []map[string]any{{"name": "a", "value": "x", "state": "up"},
				{"name": "b", "value": "y", "state": "up"}, {"name": "c", "value": "x", "size": 2}} {
				attrs["root"] = "/"
				if err := found(provider.Found{Attributes: attrs}); err != nil {
					return err
				}
			}
			return nil
		}}}
	for _, c := range []struct {
		like    map[string]string
		want    string // names of what is found
		refused string
	}{
		{nil, "a b c", ""},
		{map[string]string{"value": "x"}, "a c", ""},
		{map[string]string{"value": "x", "size": "2"}, "c", ""},
		{map[string]string{"size": "1"}, "a b", ""},
		{map[string]string{"state": "up"}, "a b", ""},
		{map[string]string{"name": "b"}, "b", ""},
		{map[string]string{"name": "none"}, "", ""},
		{map[string]string{"shelf": "s"}, "a b c", ""},
		{map[string]string{"root": "/"}, "a b c", ""},
		{map[string]string{"root": "/venv"}, "", "root"},
		{map[string]string{"how": "fast", "value": "x"}, "", "how"},
		{map[string]string{"key": "k"}, "", "key"},
		{map[string]string{"valu": "x"}, "", "valu"},
	} {
		d, err := r.e.Discover(t.Context(), "e",
			deploy.DiscoveryQuery{Type: "t::T", Agent: "a", Like: c.like})
		if c.refused != "" {
			if !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), c.refused) ||
				fault.HintOf(err) == "" {
				t.Errorf("%v: %v", c.like, err)
			}
			continue
		}
		// The rig reads other attributes than these types have: what is taken counts here.
		var names []string
		for _, one := range d.Resources {
			names = append(names, firstName(one.ID))
		}
		for _, one := range d.LeftOut {
			names = append(names, firstName(one.ID))
		}
		slices.Sort(names)
		if got := strings.Join(names, " "); err != nil || got != c.want {
			t.Errorf("%v: %q and %v, want %q", c.like, got, err, c.want)
		}
	}
}

// firstName returns the value of name in an id that begins with it.
func firstName(id resource.ID) string {
	_, rest, _ := strings.Cut(string(id), "name=")
	name, _, _ := strings.Cut(rest, ",")
	return name
}

// TestDiscoverSecrets wants what demands a secret, which nobody can read back, to be described with
// where to put it.
func TestDiscoverSecrets(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	types, err := schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "password", Type: "String[1]", Sensitive: true}}})
	if err != nil {
		t.Fatal(err)
	}
	r.types = types
	r.use(r.home, "test")
	r.e.Handlers["t::T"] = lister{
		clever{handler: handler{r.w}, list: func(found func(provider.Found) error) error {
			return found(provider.Found{Attributes: map[string]any{"name": "b-1"}})
		}}}
	d, err := r.e.Discover(context.Background(), "e",
		deploy.DiscoveryQuery{Type: "t::T", Agent: "a"})
	if err != nil || len(d.Resources) != 1 || len(d.LeftOut) != 0 {
		t.Fatal(d, err)
	}
	const source = "env:SECRET_T_T_A_NAME_B_1_PASSWORD"
	if got := d.Resources[0].Attributes["password"]; got != (resource.Secret{Source: source}) {
		t.Errorf("the password is described as %v", got)
	}
	if note := d.Notes[id("b-1")]; !strings.Contains(note,
		"password cannot be read back: set "+source) {
		t.Errorf("the note is %q", note)
	}
}

// referring finds things that refer to others, and notes what it is asked to compare them with.
type referring struct {
	handler
	asked *[]any
}

func (h referring) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	*h.asked = append(*h.asked, req.Resource.Attributes["value"])
	return h.handler.Read(ctx, req)
}

func (referring) List(_ *provider.Context, found func(provider.Found) error) error {
	for name, v := range map[string]any{"secret": resource.Secret{Source: "env:HOME"},
		"file": resource.File{Hash: strings.Repeat("0", 64)},
		"fact": resource.Fact{Name: "x", Of: id("a")}} {
		if err := found(provider.Found{
			Attributes: map[string]any{"name": name, "value": v},
		}); err != nil {
			return err
		}
	}
	return nil
}

// TestDiscoverBelievesNoReference pins that what is found refers to nothing: a hostile machine could
// name a secret of this one, whose value it would be sent when the document is applied.
func TestDiscoverBelievesNoReference(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var asked []any
	r.e.Handlers["t::T"] = referring{handler{r.w}, &asked}
	d, err := r.e.Discover(t.Context(), "e", deploy.DiscoveryQuery{Type: "t::T", Agent: "a"})
	if err != nil || len(asked) > 0 || len(d.Resources) > 0 || len(d.LeftOut) != 3 {
		t.Errorf("%+v, %v; compared with %v", d, err, asked)
	}
	for _, l := range d.LeftOut {
		if l.Why != "value: the value contains a reference, which could name a secret of another machine" {
			t.Errorf("%s: %s", l.ID, l.Why)
		}
	}
}
