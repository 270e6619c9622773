package acct

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"southbound/handlers/internal/rigtest"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// pair is a machine with the user bob and the group crew, and drives both types.
type pair struct {
	t     *testing.T
	root  string
	rigs  map[string]*rig
	attrs map[string]map[string]any
}

func newPair(t *testing.T) *pair {
	t.Helper()
	u := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
	g := &rig{rigtest.New(t, Group(), group{host{root: u.root}}), u.root}
	u.Must(map[string]any{"name": "bob", "group": "adm"}, diff.Created)
	u.Must(map[string]any{"name": "eve", "group": "adm"}, diff.Created)
	g.Must(map[string]any{"name": "crew"}, diff.Created)
	p := &pair{t: t, root: u.root, rigs: map[string]*rig{"user": u, "group": g}}
	p.again()
	return p
}

// again begins another run of the program, which has read nothing yet.
func (p *pair) again() {
	for _, g := range p.rigs {
		g.Host, g.Released = p.rigs["user"].Host, g.Released+1
	}
}

// apply applies the user or the group.
func (p *pair) apply(which string) (diff.Change, error) {
	p.t.Helper()
	return p.rigs[which].Apply(p.attrs[which], false)
}

// of returns the members of a group.
func (p *pair) of(group string) []string {
	p.t.Helper()
	row, err := host{root: p.root}.find("group", groupFields, group)
	if err != nil || row == nil {
		p.t.Fatal(row, err)
	}
	return slices.Sorted(slices.Values(members(row)))
}

// set gives a group its members, as a person does.
func (p *pair) set(group string, members []string) {
	p.t.Helper()
	path := filepath.Join(p.root, "etc/group")
	data, err := os.ReadFile(path)
	if err != nil {
		p.t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if f := strings.Split(line, ":"); f[0] == group {
			f[groupMembers] = strings.Join(members, ",")
			lines[i] = strings.Join(f, ":")
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// TestContradictions has a group and a user describe memberships, the one or the other first. If they
// contradict each other, the first stands, the second fails and names it, and so it stays; a plan
// foresees it.
func TestContradictions(t *testing.T) {
	type m = map[string]any
	for name, tc := range map[string]struct {
		group, user m
		contradict  bool
	}{
		"no member, in it":            {m{"members": []any{}}, m{"groups": []any{"crew"}}, true},
		"others, in it":               {m{"members": []any{"eve"}}, m{"groups": []any{"crew"}}, true},
		"others and more, in it":      {m{"members": []any{"eve"}, "exact_members": false}, m{"groups": []any{"crew"}}, false},
		"a member, in none":           {m{"members": []any{"bob"}}, m{"groups": []any{}, "exact_groups": true}, true},
		"a member or more, in none":   {m{"members": []any{"bob"}, "exact_members": false}, m{"groups": []any{}, "exact_groups": true}, true},
		"a member, in any":            {m{"members": []any{"bob"}}, m{"groups": []any{}}, false},
		"a member, in it":             {m{"members": []any{"bob"}}, m{"groups": []any{"crew"}, "exact_groups": true}, false},
		"no member, in none":          {m{"members": []any{}}, m{"groups": []any{}, "exact_groups": true}, false},
		"nothing described, in it":    {m{}, m{"groups": []any{"crew"}}, false},
		"a member, nothing described": {m{"members": []any{"bob"}}, m{}, false},
	} {
		for _, order := range [][]string{{"group", "user"}, {"user", "group"}} {
			t.Run(name+", "+order[0]+" first", func(t *testing.T) {
				p := newPair(t)
				tc.group["name"], tc.user["name"] = "crew", "bob"
				p.attrs = map[string]m{"group": tc.group, "user": tc.user}
				if _, err := p.apply(order[0]); err != nil {
					t.Fatal(err)
				}
				first := p.of("crew")
				for range 3 {
					_, err := p.apply(order[1])
					if (err != nil) != tc.contradict {
						t.Fatalf("%v", err)
					}
					if tc.contradict && (provider.ClassOf(err) != provider.NeedsChange ||
						!strings.Contains(err.Error(), "would undo acct::")) {
						t.Fatal(err)
					}
					if got := p.of("crew"); tc.contradict && !slices.Equal(got, first) {
						t.Fatalf("%v became %v", first, got)
					}
					p.again()
					if did, err := p.apply(order[0]); err != nil || did != diff.NoChange {
						t.Fatalf("the first one: %s, %v", did, err)
					}
					p.foresees(order, tc.contradict)
				}
			})
		}
	}
}

// foresees expects a plan to say that the second change would undo the first.
func (p *pair) foresees(order []string, contradict bool) {
	p.t.Helper()
	var err error
	p.again()
	for _, which := range order {
		g := p.rigs[which]
		full, problems := g.Type.Check(p.attrs[which])
		if len(problems) > 0 {
			p.t.Fatal(problems)
		}
		r := provider.Resource{ID: g.ID(full), Attributes: full}
		ctx := g.Host.Context(p.t.Context(), provider.Options{ID: r.ID, Released: g.Released})
		obs, e := g.Handler.Read(ctx, provider.ReadRequest{Resource: r})
		if e != nil {
			p.t.Fatal(e)
		}
		if changes, e := g.Handler.Diff(ctx, r, obs); e != nil || len(changes) > 0 {
			n, _ := g.Handler.(provider.Nooper)
			err = n.Noop(ctx, provider.BatchChange{Context: ctx, Change: diff.Updated, Resource: r,
				Changes: changes})
		}
	}
	if (err != nil) != contradict {
		p.t.Fatalf("foreseen: %v", err)
	}
}

// TestRemembersAdded draws what is described of a user's groups and of a group's members, and what
// persons do beside it: a name that is described no longer goes if it was added, and nothing else.
func TestRemembersAdded(t *testing.T) {
	for _, which := range []string{"user", "group"} {
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 7))
			p := newPair(t)
			names, attribute := []string{"crew", "wheel", "root"}, "groups"
			attrs := map[string]any{"name": "bob"}
			if which == "group" {
				names, attribute = []string{"bob", "eve", "root"}, "members"
				attrs = map[string]any{"name": "crew", "exact_members": false}
			}
			p.attrs = map[string]map[string]any{which: attrs}
			ours, have := map[string]bool{}, map[string]bool{}
			put := func() { // as a person
				for _, name := range names {
					g, member := name, "bob"
					if which == "group" {
						g, member = "crew", name
					}
					in := without(p.of(g), []string{member})
					if have[name] {
						in = append(in, member)
					}
					p.set(g, in)
				}
			}
			var did []string
			for range 8 {
				if rng.IntN(2) == 0 {
					name := names[rng.IntN(len(names))]
					have[name] = !have[name]
					did = append(did, fmt.Sprint("a person: ", have))
					put()
				}
				want := map[string]bool{}
				var described []any
				for _, name := range names {
					if rng.IntN(2) == 0 {
						want[name] = true
						described = append(described, name)
					}
				}
				attrs[attribute] = append([]any{}, described...)
				did = append(did, fmt.Sprint("described: ", described))
				if rng.IntN(3) == 0 {
					did = append(did, "a crash after the change")
					p.crash(which)
				} else if _, err := p.apply(which); err != nil {
					t.Fatal(did, err)
				}
				for _, name := range names {
					switch {
					case want[name] && !have[name]:
						ours[name], have[name] = true, true
					case !want[name] && ours[name]:
						ours[name], have[name] = false, false
					case !have[name]:
						ours[name] = false
					}
					g, member := name, "bob"
					if which == "group" {
						g, member = "crew", name
					}
					if is := slices.Contains(p.of(g), member); is != have[name] {
						t.Fatalf("seed %d, %s: %v: %s is in it: %t", seed, which, did, name, is)
					}
				}
				if again, err := p.apply(which); err != nil || again != diff.NoChange {
					t.Fatal(did, again, err)
				}
			}
		}
	}
}

// crash makes the change of a resource, if there is one, and loses the facts that are reported during
// it, as a crash before the engine records them. The engine has recorded those of the reading.
func (p *pair) crash(which string) {
	p.t.Helper()
	g := p.rigs[which]
	full, problems := g.Type.Check(p.attrs[which])
	if len(problems) > 0 {
		p.t.Fatal(problems)
	}
	r := provider.Resource{ID: g.ID(full), Attributes: full}
	ctx := g.Host.Context(p.t.Context(), provider.Options{ID: r.ID, Desired: r, Released: g.Released})
	obs, err := g.Handler.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		p.t.Fatal(err)
	}
	changes, err := g.Handler.Diff(ctx, r, obs)
	if err != nil || obs.Exists && len(changes) == 0 {
		return
	}
	lost := providertest.NewHost(nil).Context(p.t.Context(), provider.Options{ID: r.ID, Desired: r,
		Released: g.Released, Known: ctx.Remembered()})
	if _, err := g.Handler.Create(lost, provider.CreateRequest{Resource: r}); err != nil {
		p.t.Fatal(err)
	}
	p.again()
}

// TestLockedWithoutShadow lists users whose hash is not in /etc/shadow.
func TestLockedWithoutShadow(t *testing.T) {
	for name, tc := range map[string]struct {
		field string
		attrs map[string]any
		did   diff.Change
		fails bool
	}{
		"none, to be locked":     {"x", map[string]any{"locked": true}, diff.NoChange, false},
		"none, to be unlocked":   {"x", map[string]any{"locked": false}, "", true},
		"none, a hash":           {"x", map[string]any{"password": hash}, diff.Updated, false},
		"none, a locked hash":    {"x", map[string]any{"password": hash, "locked": true}, diff.Updated, false},
		"there, to be locked":    {hash, map[string]any{"locked": true}, diff.Updated, false},
		"there, not to be":       {hash, map[string]any{"locked": false}, diff.NoChange, false},
		"locked, not to be":      {"!" + hash, map[string]any{"locked": false}, diff.Updated, false},
		"locked, to be locked":   {"!" + hash, map[string]any{"locked": true}, diff.NoChange, false},
		"no fit, to be unlocked": {"!", map[string]any{"locked": false}, "", true},
		"none, ages":             {"x", map[string]any{"max_days": int64(30)}, diff.Updated, false},
		"none, an end":           {"x", map[string]any{"expires": "2030-01-02"}, diff.Updated, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, User(), func(h host) rigtest.Handler { return user{h} })
			g.write("etc/passwd", "root:x:0:0:root:/root:/bin/bash\nsam:"+tc.field+
				":2003:4::/home/sam:/bin/sh\n")
			tc.attrs["name"] = "sam"
			if tc.fails {
				g.Fails(tc.attrs, false, provider.NeedsChange, "no password that could be unlocked")
				return
			}
			g.Must(tc.attrs, tc.did)
		})
	}
}
