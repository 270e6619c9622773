package engine

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"southbound/shared/resource"
)

// drawer draws the operations of a plan, and maintains the author's model.
//
// Large: it has a method for each property that is drawn. Each draw depends on earlier draws and on
// the single source of randomness, so each method needs nearly all of the fields.
type drawer struct {
	rng    *rand.Rand
	p      *Plan
	pool   []spec // all resources of the plan
	in     []bool // whether each is in the model now
	agents []resource.Agent
	sets   bool
	focus  *Focus
}

func (d *drawer) one(n int) bool { return d.rng.IntN(n) == 0 }

// population draws agents and resources.
func (d *drawer) population() {
	for i := range 1 + d.rng.IntN(3) {
		d.agents = append(d.agents,
			resource.Agent{Name: fmt.Sprintf("a%d", i), Transport: "local",
				Lanes: []int{1, 1, 2, 3}[d.rng.IntN(4)]})
	}
	n := 2 + d.rng.IntN(8)
	if d.one(10) {
		n = 20 + d.rng.IntN(10)
	}
	f := d.focus
	if f == nil {
		f = &Focus{}
	}
	n = cmp.Or(f.size, n)
	d.sets = d.one(4)
	kinds := rand.New(rand.NewPCG(d.p.Seed, 0x5e91))
	rigid := kinds.IntN(3) == 0
	rooms := rand.New(rand.NewPCG(d.p.Seed, 0x2003))
	shared := rooms.IntN(4) == 0
	lists := rand.New(rand.NewPCG(d.p.Seed, 0x115d))
	listed := lists.IntN(5) == 0 || f.listed
	shelves := rand.New(rand.NewPCG(d.p.Seed, 0x5e1f))
	shelved := shelves.IntN(5) == 0 || f.shelved
	labels := rand.New(rand.NewPCG(d.p.Seed, 0x1abe))
	relabels := labels.IntN(5) == 0 || f.labels
	types := []string{typeThing, typeThing, typeThing, typeBatch, typeSlow, typeAssigned,
		typeLonely}
	if f.types != nil {
		types, rigid, shared = f.types, false, false
	}
	for i := range n {
		s := spec{v: 1,
			flags: resource.Flags{ReceiveEvents: !d.one(5), SendEvent: d.one(3),
				PurgeOnDelete: d.one(2)}}
		s.id = resource.NewID(types[d.rng.IntN(len(types))],
			d.agents[d.rng.IntN(len(d.agents))].Name, resource.Key{Name: "name",
				Value: fmt.Sprintf("r%02d", i)})
		if rigid && kinds.IntN(3) > 0 {
			s.id = resource.NewID([]string{typeRigid, typeSwap}[kinds.IntN(2)], s.id.Agent(),
				resource.Key{Name: "name", Value: nameOf(s.id)})
		}
		if f.types != nil && s.id.Type() == typeFile || shared && i > 0 && rooms.IntN(3) == 0 {
			s.id = inRoom(typeFile, s.id)
		}
		if listed && (f.listed || f.types == nil) && s.id.Type() != typeFile && lists.IntN(3) > 0 {
			s.id = resource.NewID(typeListed, s.id.Agent(),
				resource.Key{Name: "name", Value: nameOf(s.id)})
		}
		if shelved && (f.shelved || f.types == nil) && s.id.Type() != typeFile &&
			shelves.IntN(3) > 0 {
			s.id = resource.NewID(typeShelf, s.id.Agent(),
				resource.Key{Name: "name", Value: nameOf(s.id)})
		}
		if relabels && f.types == nil && s.id.Type() != typeFile && labels.IntN(2) == 0 {
			s.id = relabelled(s.id)
		}
		if d.sets {
			s.set = []string{"", "s1", "s2"}[d.rng.IntN(3)]
		}
		d.pool = append(d.pool, s)
		d.pool[i].text, d.pool[i].requires = d.text(i), d.requires(i)
		if f.each != nil {
			f.each(d, &d.pool[i])
		}
		d.tie(i)
		d.in = append(d.in, !d.one(5))
	}
	d.in[0] = true
	d.rooms(rooms)
	d.labels(labels)
}

// text draws the text of resource i: mostly none, otherwise a value, a secret, a parameter or a
// fact.
func (d *drawer) text(i int) any {
	switch d.rng.IntN(10) {
	case 0:
		return plainText
	case 5:
		if i > 0 && d.pool[0].id.Type() == typeThing && d.one(2) {
			return d.textOf(resource.Fact{Name: factName, Of: d.pool[0].id})
		}
		return d.textOf(nil)
	case 1, 2:
		if d.p.Secrets {
			return resource.Secret{Source: "env:" + []string{"A", "B"}[d.rng.IntN(2)]}
		}
	case 3:
		return resource.Parameter{Name: "p0"}
	case 4:
		if i > 0 && d.pool[0].id.Type() == typeThing {
			return resource.Fact{Name: factName, Of: d.pool[0].id}
		}
	}
	return nil
}

// requires draws the requirements of resource i: earlier resources of its own set or of the shared
// set.
func (d *drawer) requires(i int) []resource.ID {
	var out []resource.ID
	// its requirements precede the file that it may replace
	if id := d.pool[i].id; otherOf(id) != "" && i > 0 {
		if j := slices.IndexFunc(d.pool, func(o spec) bool { return o.id == otherOf(id) }); j >= 0 {
			i = min(i, j)
		}
	}
	for range d.rng.IntN(4) {
		if i == 0 {
			break
		}
		if o := d.pool[d.rng.IntN(i)]; (o.set == "" || o.set == d.pool[i].set) &&
			!slices.Contains(out, o.id) {
			out = append(out, o.id)
		}
	}
	slices.Sort(out)
	return out
}

// tie draws the subscriptions and notifications of resource i among its requirements, so that the
// types add no requirement.
func (d *drawer) tie(i int) {
	s := &d.pool[i]
	s.ear = ""
	for _, id := range s.requires {
		j := slices.IndexFunc(d.pool, func(o spec) bool { return o.id == id })
		if s.id.Type() != typeThing || id.Type() != typeThing {
			continue
		}
		switch q := &d.pool[j]; d.rng.IntN(6) {
		case 0, 1:
			s.ear = id
		case 2:
			// in the same set, as otherwise a partial export would keep an outdated tie
			if q.set == s.set {
				q.mouth = s.id
			}
		}
	}
}

// model returns the current model, without requirements that are not in it.
func (d *drawer) model(sets []string) []spec {
	in := map[resource.ID]bool{}
	for i, s := range d.pool {
		in[s.id] = d.in[i]
	}
	for i := range d.pool {
		d.pool[i].requires = instead(d.pool[i].requires, in)
	}
	var out []spec
	for i, s := range d.pool {
		if !d.in[i] || sets != nil && s.set != "" && !slices.Contains(sets, s.set) {
			continue
		}
		s.requires = slices.DeleteFunc(slices.Clone(s.requires),
			func(id resource.ID) bool { return !in[id] })
		if !slices.ContainsFunc(d.pool,
			func(o spec) bool { return o.id == s.mouth && slices.Contains(o.requires, s.id) }) {
			s.mouth = ""
		}
		out = append(out, s)
	}
	return out
}
