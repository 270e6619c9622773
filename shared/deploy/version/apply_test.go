package version

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// relatedTypes returns a checker of a type whose resources require ("in"), precede ("first") and
// notify ("tells") others by their attributes, and manage the thing "value".
func relatedTypes(t *testing.T) *model.Checker {
	t.Helper()
	to := func(kind schema.RelationKind, attribute string) schema.Relation {
		return schema.Relation{Kind: kind, Type: "t::T",
			Keys: map[string]string{"name": "$" + attribute}}
	}
	attributes := []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
	}
	for _, name := range []string{"value", "in", "first", "tells"} {
		attributes = append(attributes, schema.Attribute{Name: name, Type: "Optional[String]",
			Description: "a relation"})
	}
	types, err := schema.NewRegistry(schema.Type{
		Name: "t::T", Description: "a type", Attributes: attributes,
		Thing: func(a map[string]any) schema.Thing {
			s, _ := a["value"].(string)
			return schema.NewThing(s)
		},
		Relations: []schema.Relation{to(schema.Require, "in"), to(schema.Before, "first"),
			to(schema.Notify, "tells")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return model.NewChecker(types, nil, nil, nil)
}

func idOf(name string) resource.ID { return resource.ID("t::T[a,name=" + name + "]") }

// resourceOf returns a resource of a set with attributes, given as names and values.
func resourceOf(name, set string, attributes ...string) resource.Resource {
	r := resource.Resource{ID: idOf(name), Type: "t::T", Agent: "a", Set: set,
		Attributes: map[string]any{"name": name, "value": "thing of " + name}}
	for pair := range slices.Chunk(attributes, 2) {
		r.Attributes[pair[0]] = pair[1]
	}
	return r
}

// modelOf returns a model of copies of resources, completed by their relations.
func modelOf(c *model.Checker, resources ...resource.Resource) *model.Model {
	m := &model.Model{Resources: resources}
	m = m.Clone()
	c.Relate(m.Resources, indexOf(m.Resources))
	return m
}

func indexOf(resources []resource.Resource) map[resource.ID]int {
	out := map[resource.ID]int{}
	for i := range resources {
		out[resources[i].ID] = i
	}
	return out
}

// baseOf returns the base that has the resources of a model.
func baseOf(m *model.Model) Base {
	out := Base{}
	for i := range m.Resources {
		out[m.Resources[i].ID] = &m.Resources[i]
	}
	return out
}

func problemsOf(c *model.Checker, m *model.Model) diag.Problems {
	problems := c.CheckThings(m.Resources, len(m.Resources), model.TargetsOf(nil, true), m.At)
	problems = append(problems, c.CheckThere(m.Resources, m.At)...)
	return append(problems, c.CheckCycles(m.Resources, m.At)...)
}

// randomResource describes resource i of 12 anew. With like, it precedes and notifies the same ones:
// a version does not record which requirements it once gave to others. For the same reason, authors
// require the last three resources only, which types do not.
func randomResource(rng *rand.Rand, i int, like *resource.Resource) resource.Resource {
	name := func() string { return fmt.Sprint(rng.IntN(9)) }
	r := resourceOf(fmt.Sprint(i), fmt.Sprint("s", rng.IntN(3)))
	if rng.IntN(6) == 0 {
		r.Attributes["value"] = "thing of " + name()
	}
	if rng.IntN(3) == 0 {
		r.Attributes["in"] = name()
	}
	for _, attribute := range []string{"first", "tells"} {
		if like != nil && like.Attributes[attribute] != nil {
			r.Attributes[attribute] = like.Attributes[attribute]
		} else if like == nil && i < 9 && rng.IntN(6) == 0 {
			r.Attributes[attribute] = name()
		}
	}
	if rng.IntN(4) == 0 {
		r.Requires = []resource.ID{idOf(fmt.Sprint(9 + rng.IntN(3)))}
	}
	return r
}

// TestApplyIsWhole compares random edits of random versions with the version of all documents: it
// has the same resources, the same of them are refused, and a resource that differs from the base
// is affected.
func TestApplyIsWhole(t *testing.T) {
	t.Parallel()
	c, edits, refused := relatedTypes(t), 0, 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var before, put, after []resource.Resource
		e := &Edit{Drop: map[resource.ID]bool{}}
		for i := range 12 {
			var had *resource.Resource
			if rng.IntN(3) > 0 {
				before = append(before, randomResource(rng, i, nil))
				had = &before[len(before)-1]
			}
			switch n := rng.IntN(5); {
			case n == 0:
				put = append(put, randomResource(rng, i, had))
				after = append(after, put[len(put)-1])
			case had != nil && n == 1:
				e.Drop[had.ID] = true
			case had != nil:
				after = append(after, *had)
			}
		}
		first := modelOf(c, before...)
		if len(problemsOf(c, first)) > 0 {
			continue
		}
		edits++
		e.Put = modelOf(c, put...)
		base := baseOf(first)
		next, want := Apply(c, base, e), modelOf(c, after...)
		if (len(Check(c, next, e)) > 0) != (len(problemsOf(c, want)) > 0) {
			t.Fatalf("seed %d: the edit: %v\nthe whole: %v", seed, Check(c, next, e),
				problemsOf(c, want))
		} else if len(problemsOf(c, want)) > 0 {
			refused++
			continue
		}
		if diff := cmp.Diff(baseOf(want), baseOf(next.Model),
			cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("seed %d: the whole (-), the edit (+): %s", seed, diff)
		}
		for id, r := range baseOf(next.Model) {
			if !cmp.Equal(r, base[id], cmpopts.EquateEmpty()) && !next.Affected[id] {
				t.Fatalf("seed %d: %s differs and is not affected", seed, id)
			}
		}
		for id := range base {
			if baseOf(next.Model)[id] == nil && !next.Affected[id] {
				t.Fatalf("seed %d: %s leaves and is not affected", seed, id)
			}
		}
		if diff := cmp.Diff(baseOf(modelOf(c, before...)), base); diff != "" {
			t.Fatalf("seed %d: the base has changed: %s", seed, diff)
		}
	}
	if edits < 300 || refused < 50 || edits-refused < 100 {
		t.Errorf("%d edits, %d of them refused", edits, refused)
	}
}

// TestApplyRequirements pins what becomes of the requirements of a resource that stays.
func TestApplyRequirements(t *testing.T) {
	t.Parallel()
	c := relatedTypes(t)
	stays := func(set string, requires ...string) resource.Resource {
		r := resourceOf("stays", set, "in", "typed")
		for _, name := range requires {
			r.Requires = append(r.Requires, idOf(name))
		}
		return r
	}
	for _, test := range []struct {
		why    string
		r      resource.Resource
		put    []resource.Resource
		drop   []string
		frozen bool
		moved  map[resource.ID]resource.ID
		want   []resource.ID
		wrong  int // problems
	}{
		{why: "a requirement by type ends with its resource", r: stays("s"),
			drop: []string{"typed"}},
		{why: "so it does in a frozen edit", r: stays("s"), drop: []string{"typed"},
			frozen: true},
		{why: "a documented requirement is refused", r: stays("s", "written"),
			drop: []string{"written"}, want: []resource.ID{idOf("typed"), idOf("written")},
			wrong: 1},
		{why: "so it is in a frozen edit", r: stays("s", "written"), frozen: true,
			drop: []string{"written"}, want: []resource.ID{idOf("typed"), idOf("written")},
			wrong: 1},
		{why: "a resource in the shared set gives it up", r: stays("", "written"),
			drop: []string{"written"}, want: []resource.ID{idOf("typed")}},
		{why: "but not in a frozen edit", r: stays("", "written"), frozen: true,
			drop: []string{"written"}, want: []resource.ID{idOf("typed"), idOf("written")},
			wrong: 1},
		{why: "a moved requirement has its new id", r: stays("s", "written"), frozen: true,
			drop:  []string{"written"},
			moved: map[resource.ID]resource.ID{idOf("written"): idOf("new")},
			put:   []resource.Resource{resourceOf("new", "s")},
			want:  []resource.ID{idOf("new"), idOf("typed")}},
		{why: "a new relation is added", r: stays("s"),
			put:  []resource.Resource{resourceOf("new", "s", "first", "stays")},
			want: []resource.ID{idOf("new"), idOf("typed")}},
		{why: "but not in a frozen edit", r: stays("s"), frozen: true,
			put:  []resource.Resource{resourceOf("new", "s", "first", "stays")},
			want: []resource.ID{idOf("typed")}},
	} {
		base := baseOf(modelOf(c, test.r, resourceOf("typed", "s"), resourceOf("written", "s")))
		e := &Edit{Put: modelOf(c, test.put...), Drop: map[resource.ID]bool{}, Moved: test.moved,
			Frozen: test.frozen}
		for _, name := range test.drop {
			e.Drop[idOf(name)] = true
		}
		next := Apply(c, base, e)
		got := baseOf(next.Model)[idOf("stays")].Requires
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.why, got, test.want)
		}
		if problems := Check(c, next, e); len(problems) != test.wrong {
			t.Errorf("%s: %v", test.why, problems)
		}
		if changed := !slices.Equal(got, base[idOf("stays")].Requires); changed &&
			!next.Affected[idOf("stays")] {
			t.Errorf("%s: it is not affected", test.why)
		}
	}
}

// TestFrozenSubscription pins that a resource that stays sends events to a resource that is put, and
// none that is put to a resource that stays.
func TestFrozenSubscription(t *testing.T) {
	t.Parallel()
	c := relatedTypes(t)
	base := baseOf(modelOf(c, resourceOf("sends", "s", "tells", "new"), resourceOf("hears", "s")))
	e := &Edit{Put: modelOf(c, resourceOf("new", "s", "tells", "hears")), Frozen: true}
	next := Apply(c, base, e)
	all := baseOf(next.Model)
	if !all[idOf("sends")].Subscribed || !next.Affected[idOf("sends")] {
		t.Error("the resource that stays sends no events")
	}
	if len(all[idOf("hears")].Subscriptions) > 0 || next.Affected[idOf("hears")] {
		t.Error("the resource that stays is notified of a resource that is put")
	}
}
