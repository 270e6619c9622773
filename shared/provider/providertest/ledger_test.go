package providertest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/schema"
)

// ledger is a target that gives out numbers, lists its entries on pages of two, and allows several
// of one name: a connection to it is what handlers get.
type ledger struct {
	Stopper
	mu      sync.Mutex
	entries map[int64]map[string]any
	last    int64
	tokens  bool // a token that was used makes no second entry
}

// step is asked before each request.
func (l *ledger) step(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.Before()
}

// page returns some of the entries of a name, oldest first, and whether there are more; of "" all.
func (l *ledger) page(ctx context.Context, name string, n int) ([]map[string]any, bool, error) {
	if err := l.step(ctx); err != nil {
		return nil, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []map[string]any
	for _, number := range slices.Sorted(maps.Keys(l.entries)) {
		if entry := l.entries[number]; name == "" || entry["name"] == name {
			entry = maps.Clone(entry)
			entry["number"] = number
			out = append(out, entry)
		}
	}
	const size = 2
	return out[min(size*n, len(out)):min(size*n+size, len(out))], len(out) > size*n+size, nil
}

func (l *ledger) post(ctx context.Context, token string, entry map[string]any) error {
	if err := l.step(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if l.tokens && e["token"] == token {
			return nil
		}
	}
	l.last++
	entry["token"] = token
	l.entries[l.last] = entry
	return nil
}

// patch changes an entry; of nil it removes it.
func (l *ledger) patch(ctx context.Context, number int64, with map[string]any) error {
	if err := l.step(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entry := l.entries[number]
	if delete(l.entries, number); entry != nil && with != nil {
		l.entries[number] = maps.Clone(entry)
		maps.Copy(l.entries[number], with)
	}
	return nil
}

func (l *ledger) world(place string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, entry := range l.entries {
		name, _ := entry["name"].(string)
		if own, ok := strings.CutPrefix(name, place); ok {
			out = append(out, fmt.Sprint(own, entry["size"], entry["note"], entry["zone"],
				entry["key"]))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n"), nil
}

// clerk is a handler for entries of a ledger. Its members are how it can be wrong, but for blind:
// it cannot tell what a create led to.
type clerk struct {
	blind, repeats, findsNames, stuck bool
}

func (c clerk) of(ctx *provider.Context) (*ledger, error) {
	l, ok := ctx.Transport().(*ledger)
	if !ok {
		return nil, provider.Errorf(provider.NeedsChange, "%T is no ledger", ctx.Transport())
	}
	return l, nil
}

// all returns the entries of a name; what it has found before an error as well.
func (c clerk) all(ctx *provider.Context, name string) (out []map[string]any, err error) {
	l, err := c.of(ctx)
	for n, more := 0, true; err == nil && more; n++ {
		var some []map[string]any
		some, more, err = l.page(ctx, name, n)
		out = append(out, some...)
	}
	return out, err
}

func shownEntry(entry map[string]any) map[string]any {
	out := map[string]any{}
	for _, name := range []string{"number", "size", "note", "zone"} {
		out[name] = entry[name]
	}
	return out
}

// Read implements provider.Handler.
func (c clerk) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	all, err := c.all(ctx, nameOf(req.Resource))
	if err != nil || len(all) == 0 {
		return provider.Observation{}, err
	}
	out := shownEntry(all[len(all)-1])
	return provider.Observation{Exists: true, Attributes: out}, nil
}

// Create implements provider.Handler.
func (c clerk) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	l, err := c.of(ctx)
	if err == nil {
		entry := maps.Clone(req.Resource.Attributes)
		err = l.post(ctx, req.Token, entry)
	}
	return provider.Result{}, err
}

// FindCreated implements provider.Finder.
func (c clerk) FindCreated(ctx *provider.Context, req provider.CreateRequest) (bool, error) {
	if c.blind {
		return false, provider.ErrUndecided
	}
	if c.repeats {
		return false, nil
	}
	all, err := c.all(ctx, nameOf(req.Resource))
	for _, entry := range all {
		if entry["token"] == req.Token || c.findsNames {
			return true, nil
		}
	}
	return false, err
}

// Update implements provider.Handler.
func (c clerk) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	all, err := c.all(ctx, nameOf(req.Resource))
	if err != nil {
		return provider.Result{}, err
	}
	if len(all) == 0 {
		class := provider.Retryable
		if c.stuck {
			class = provider.Terminal
		}
		return provider.Result{}, provider.Errorf(class, "the entry is gone")
	}
	changes := map[string]any{}
	for name := range req.Changes {
		changes[name] = req.Resource.Attributes[name]
	}
	l, err := c.of(ctx)
	if err == nil {
		number, _ := all[len(all)-1]["number"].(int64)
		err = l.patch(ctx, number, changes)
	}
	return provider.Result{}, err
}

// Delete implements provider.Handler.
func (c clerk) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	l, err := c.of(ctx)
	if number, ok := req.Observed.Attributes["number"].(int64); ok && err == nil {
		err = l.patch(ctx, number, nil)
	}
	return provider.Result{}, err
}

// List implements provider.Lister.
func (c clerk) List(ctx *provider.Context, found func(provider.Found) error) error {
	all, err := c.all(ctx, "")
	if err != nil {
		return err
	}
	for _, entry := range all {
		attrs := shownEntry(entry)
		attrs["name"] = entry["name"]
		if err := found(provider.Found{Attributes: attrs}); err != nil {
			return err
		}
	}
	return nil
}

// ledgerSubject is a type of entries whose replacements are made before or after the old one is
// deleted.
func ledgerSubject(first bool, change func(c *clerk, l *ledger)) Subject {
	c, l := &clerk{}, &ledger{entries: map[int64]map[string]any{}}
	change(c, l)
	places := 0
	return Subject{Transport: l, Definition: provider.Definition{Handler: *c, Type: schema.Type{
		Name: "test::Entry", Description: "an entry of a ledger", Assigned: true,
		Thing: schema.ByIdentity("name"), CreateFirst: first, Transports: []string{"ledger"}, Features: []string{"discover"},
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
			{Name: "number", Type: "Integer", Behaviour: schema.ReadOnly,
				Description: "what the ledger calls it"},
			{Name: "size", Type: "Integer", Default: int64(1), Description: "how large it is"},
			{Name: "note", Type: "Optional[String]", Description: "what is to be known of it"},
			{Name: "zone", Type: "Enum[a, b]", Default: "a", Behaviour: schema.Replace,
				Description: "where it is"},
			{Name: "key", Type: "Optional[Sensitive[String[1]]]", Behaviour: schema.WriteOnly,
				Description: "what opens it"},
		}}}, New: func(string, *Host) (Case, error) {
		places++
		place := fmt.Sprintf("place %d/", places)
		return Case{
			Attributes: map[string]any{"name": place + "a", "note": "hello", "key": "s3cr3t"},
			Updates:    []map[string]any{{"size": int64(2)}, {"note": "there"}, {"key": "n3w0ne"}},
			Replaces:   map[string]any{"zone": "b"},
			Others: []map[string]any{{"name": place + "b"}, {"name": place + "c"},
				{"name": place + "d"}},
			Edges: []string{"*"}, Secrets: []string{"s3cr3t", "n3w0ne"},
			World: func() (string, error) { return l.world(place) },
			Vanish: func() error {
				l.mu.Lock()
				defer l.mu.Unlock()
				maps.DeleteFunc(l.entries, func(_ int64, entry map[string]any) bool {
					return entry["name"] == place+"a"
				})
				return nil
			},
			Interrupt: l.Interrupt,
		}, nil
	}}
}

// TestGoodClerksPass pins that handlers of a target that chooses identities pass, whichever of the
// answers of a Finder they give, with replacements in either order.
func TestGoodClerksPass(t *testing.T) {
	for why, change := range map[string]func(c *clerk, l *ledger){
		"that looks creates up":       func(*clerk, *ledger) {},
		"that cannot tell":            func(c *clerk, _ *ledger) { c.blind = true },
		"whose target knows a token":  func(c *clerk, l *ledger) { c.repeats, l.tokens = true, true },
		"whose target knows it, both": func(_ *clerk, l *ledger) { l.tokens = true },
	} {
		for _, first := range []bool{false, true} {
			t.Run(fmt.Sprint(why, ", new one first: ", first), func(t *testing.T) {
				Run(t, ledgerSubject(first, change))
			})
		}
		t.Run(why+", as the resource selects", func(t *testing.T) {
			s := ledgerSubject(false, change)
			s.Definition.Type.Attributes = append(s.Definition.Type.Attributes, schema.Attribute{
				Name: schema.CreateBeforeDestroy, Type: "Boolean", Default: true,
				Behaviour: schema.Parameter, Description: "whether the new one is made first"})
			Run(t, s)
		})
	}
}

// TestWrongClerks pins that mistakes which show only at a target that gives out identities, or
// fails at the wrong moment, are found.
func TestWrongClerks(t *testing.T) {
	for _, tc := range []struct {
		why, check, says, fix string
		first                 bool
		change                func(c *clerk, l *ledger)
	}{
		{"a second one for one token", "find", "a create with the same token made another", "",
			false, func(c *clerk, _ *ledger) { c.repeats = true }},
		{"an old one that is taken for the new one", "find", "finds an object of another token",
			"search for the token", true, func(c *clerk, _ *ledger) { c.findsNames = true }},
		{"an update that gives up what is gone", "update_gone",
			"an update of an object that vanished fails as terminal", "class Retryable", false,
			func(c *clerk, _ *ledger) { c.stuck = true }},
	} {
		t.Run(tc.why, func(t *testing.T) {
			says, fix := only(t.Context(), t, ledgerSubject(tc.first, tc.change), tc.check)
			if !strings.Contains(says, tc.says) || !strings.Contains(fix, tc.fix) {
				t.Fatalf("found: %q, to do: %q", says, fix)
			}
		})
	}
}
