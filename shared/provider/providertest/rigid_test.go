package providertest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/schema"
)

// TestMissingMembersAreNamed pins that what a case has nothing for is not taken for checked.
func TestMissingMembersAreNamed(t *testing.T) {
	for member, tc := range map[string]struct {
		check string
		take  func(c *Case)
	}{
		"Interrupt": {"interrupted", func(c *Case) { c.Interrupt = nil }},
		"Foreign":   {"foreign", func(*Case) {}},
		"Edges":     {"edges", func(c *Case) { c.Edges = nil }},
		"Others":    {"neighbours", func(c *Case) { c.Others = nil }},
		"Updates":   {"update", func(c *Case) { c.Updates = nil }},
		"World":     {"dry_run", func(c *Case) { c.World = nil }},
	} {
		s := subject(faults{})
		newCase := s.New
		s.New = func(dir string, host *Host) (Case, error) {
			c, err := newCase(dir, host)
			tc.take(&c)
			return c, err
		}
		says, _ := only(t.Context(), t, s, tc.check)
		if says != "not checked: the case has no "+member {
			t.Errorf("%s: %q", member, says)
		}
		for _, f := range Verify(t.Context(), s, func() (string, error) {
			return t.TempDir(), nil
		}) {
			t.Errorf("%s: %s: %v", member, f.Check, f.Err)
		}
	}
}

// rigid is a target in which the zone of a disk cannot be changed, and whose key nobody reads.
type rigid struct {
	*twist
	keepsZone, tellsKey bool
}

func rigidSubject(change func(r *rigid)) Subject {
	s := twisted(func(*twist) {})
	typ := s.Definition.Type
	typ.Features = []string{}
	typ.Assigned = false
	typ.Attributes = slices.Clone(typ.Attributes)
	typ.Attributes = append(typ.Attributes,
		schema.Attribute{Name: "zone", Type: "String", Default: "a", Behaviour: schema.Replace,
			Description: "where it stands"},
		schema.Attribute{Name: "key", Type: "Optional[String]", Behaviour: schema.WriteOnly,
			Description: "opens it"})
	w, _ := s.Definition.Handler.(*twist)
	r := &rigid{twist: w}
	change(r)
	s.Definition = provider.Definition{Type: typ, Handler: struct{ provider.Handler }{r}}
	newCase := s.New
	s.New = func(dir string, host *Host) (Case, error) {
		c, err := newCase(dir, host)
		c.Attributes = maps.Clone(c.Attributes)
		c.Attributes["colour"], c.Attributes["key"] = "red", "k1"
		c.Updates, c.Edges = append(c.Updates, map[string]any{"key": "k2"}), nil
		c.Replaces = map[string]any{"zone": "b"}
		c.Interrupt = nil
		return c, err
	}
	return s
}

func (r *rigid) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	obs, err := r.shelf.Read(ctx, req)
	if obs.Exists {
		obs.Attributes["zone"] = r.get(nameOf(req.Resource), "zone")
		if r.tellsKey {
			obs.Attributes["key"] = r.get(nameOf(req.Resource), "key")
		}
	}
	return obs, err
}

func (r *rigid) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	name := nameOf(req.Resource)
	zone := r.get(name, "zone")
	out, err := r.shelf.Create(ctx, req)
	if zone == nil {
		zone = req.Resource.Attributes["zone"]
	}
	r.set(name, "zone", zone)
	r.set(name, "key", req.Resource.Attributes["key"])
	return out, err
}

func (r *rigid) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	name := nameOf(req.Resource)
	zone, key := r.get(name, "zone"), r.get(name, "key")
	out, err := r.shelf.Update(ctx, req)
	if _, ok := req.Changes["key"]; ok {
		key = req.Resource.Attributes["key"]
	}
	r.set(name, "zone", zone)
	r.set(name, "key", key)
	return out, err
}

func (r *rigid) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	if r.keepsZone && !req.Resource.Purged {
		return provider.Result{}, nil
	}
	return r.shelf.Delete(ctx, req)
}

// TestReplacedAndWritten pins what is asked of handlers of things that are replaced, and of
// attributes that are never read.
func TestReplacedAndWritten(t *testing.T) {
	t.Run("right", func(t *testing.T) { Run(t, rigidSubject(func(*rigid) {})) })
	for _, tc := range []struct {
		why, check, says, fix string
		change                func(r *rigid)
	}{
		{"a delete that leaves what is to be replaced", "replaced", "another zone",
			"delete only the observed object", func(r *rigid) { r.keepsZone = true }},
		{"a key that is reported", "create", "key was reported, and is write_only",
			"omit write_only attributes", func(r *rigid) { r.tellsKey = true }},
	} {
		t.Run(tc.why, func(t *testing.T) {
			says, fix := only(t.Context(), t, rigidSubject(tc.change), tc.check)
			if !strings.Contains(says, tc.says) || !strings.Contains(fix, tc.fix) {
				t.Fatalf("found: %q, to do: %q", says, fix)
			}
		})
	}
}
