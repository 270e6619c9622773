package deploy_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// factRound is what an apply of a random model has done, to compare it with its plan.
type factRound struct {
	before, after map[string]string // values of things, and of facts by their name for people
	missing       map[resource.ID][]string
	did           map[resource.ID]string
}

// world returns the values of all things and facts.
func (a author) world() map[string]string {
	out := maps.Clone(a.w.things)
	facts, err := a.home.Parameters(a.t.Context(), "e", state.ParameterQuery{Facts: true})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, f := range facts {
		out[deploy.AwaitedFact{Fact: f.Name, Of: f.Of}.String()] = f.Value
	}
	return out
}

// lacked returns the facts without a value to which each resource refers.
func lacked(m *model.Model, known map[string]string) map[resource.ID][]string {
	out := map[resource.ID][]string{}
	for i := range m.Resources {
		r := &m.Resources[i]
		if r.Purged {
			continue // its handler finds the object without the value
		}
		for _, ref := range resource.References(r.Attributes) {
			if f, is := ref.(resource.Fact); is {
				name := deploy.AwaitedFact{Fact: f.Name, Of: f.Of}.String()
				if _, is := known[name]; !is {
					out[r.ID] = append(out[r.ID], name)
				}
			}
		}
	}
	return out
}

// doubt returns why the plan of a resource does not fit the apply; "": it fits. The plan names the
// facts for which a resource waits. Such a resource is not read, so only whether its thing was there
// may differ. A resource that follows a fact changes if the fact does.
func (f *factRound) doubt(w *deploy.PlannedChange) string {
	var named, may []string
	for _, k := range w.KnownAfter {
		if name := k.String(); k.MayChange {
			may = append(may, name)
		} else {
			named = append(named, name)
		}
	}
	did, missing := f.did[w.ID], f.missing[w.ID]
	was, there := f.before[nameOfID(w.ID)]
	now, stays := f.after[nameOfID(w.ID)]
	changed := func(name string) bool { return f.before[name] != f.after[name] }
	switch {
	case w.Failed || w.Action == "undefined":
	case !slices.Equal(named, missing):
		return fmt.Sprintf("waits for %q, and names %q", missing, named)
	case len(named) == 0:
		follows := w.Action == "none" && did == "update" && slices.ContainsFunc(may, changed)
		if did != acts(deploy.DryRun{Planned: []deploy.PlannedChange{*w}})[w.ID] && !follows {
			return "was not read, or is not what it is said to be"
		}
	case w.Action == "delete" && (stays || did != "delete" && there):
		return "is not deleted"
	case w.Action == "none" && (stays || did != "" && !there):
		return "does not stay as it is, which is gone"
	case w.Action == "delete", w.Action == "none":
	case !stays, !there && did != "create", there && (did == "update") != (was != now),
		there && did != "update" && did != "":
		return "is not what it is to become"
	}
	return ""
}

// TestFactsPlanIsWhatApplyDoes compares, over random models with facts and drift, the changes of a
// plan with those of the apply after it: it makes what is to be created, it changes nothing that was not
// said, and exactly what the plan calls undefined stays so.
func TestFactsPlanIsWhatApplyDoes(t *testing.T) {
	t.Parallel()
	awaited, followed := 0, 0
	for seed := range uint64(worlds()) {
		a := author{learning(t), rand.New(rand.NewPCG(seed, 11)), seed%2 == 0}
		for range 6 {
			if a.drifts && a.one(2) {
				a.drift()
			}
			m := a.withFacts(a.model())
			planned := a.preview(deploy.Export{Model: m()}, false)
			read := a.preview(deploy.Export{Model: m()}, true)
			since, round := a.last(), factRound{before: a.world()}
			round.missing = lacked(m(), round.before)
			a.export(deploy.Export{Model: m(), Check: true, Expect: planned.State})
			a.drain()
			round.did, round.after = a.did(since), a.world()
			for i := range read.Planned {
				w := &read.Planned[i]
				if why := round.doubt(w); why != "" {
					t.Errorf("seed %d: a plan says %s, and an apply did %q: it %s", seed, stepText(*w),
						round.did[w.ID], why)
				}
				if len(w.KnownAfter) > 0 && !w.KnownAfter[0].MayChange {
					awaited++
				} else if w.Action == "none" && round.did[w.ID] == "update" {
					followed++
				}
			}
			unknown := a.status(state.StatusUndefined, state.StatusBlocked)
			for name, d := range map[string]deploy.DryRun{"plan --no-read": planned, "plan": read} {
				if want := told(d, "undefined"); !sameKeys(unknown, want) {
					t.Errorf("seed %d, %s: undefined %v, the plan was %v", seed, name, unknown, want)
				}
			}
		}
	}
	if awaited == 0 || followed == 0 {
		t.Errorf("%d waited for facts, %d followed one", awaited, followed)
	}
}

// TestWrongPlansOfFacts pins that the comparison above finds plans that are wrong.
func TestWrongPlansOfFacts(t *testing.T) {
	t.Parallel()
	one, two := deploy.AwaitedFact{Fact: "v", Of: id("a")}, deploy.AwaitedFact{Fact: "v", Of: id("b")}
	may := one
	may.MayChange = true
	type facts = []deploy.AwaitedFact
	for _, c := range []struct {
		reason      string
		action, did string
		names       facts
		lacks       facts
		was, now    string // value of the thing; "": it does not exist
		right       bool
	}{
		{"a creation", "create", "create", facts{one}, facts{one}, "", "x", true},
		{"no fact is named", "create", "create", nil, facts{one}, "", "x", false},
		{"another fact is named", "create", "create", facts{two}, facts{one}, "", "x", false},
		{"one of two is named", "create", "create", facts{one}, facts{one, two}, "", "x", false},
		{"a fact that is known is named", "create", "create", facts{one, two}, facts{one}, "", "x", false},
		{"a creation of a thing that was there", "create", "update", facts{one}, facts{one}, "y", "x", true},
		{"the same that names nothing", "create", "update", nil, nil, "y", "x", false},
		{"a creation that was not made", "create", "", facts{one}, facts{one}, "", "", false},
		{"an update of a thing that was not there", "create", "update", facts{one}, facts{one}, "", "x", false},
		{"a removal of a thing that was not there", "delete", "", facts{one}, facts{one}, "", "", true},
		{"the same that names nothing", "delete", "", nil, nil, "", "", false},
		{"a removal that was not made", "delete", "", facts{one}, facts{one}, "y", "y", false},
		{"a thing that is to be gone, and is", "none", "", facts{one}, facts{one}, "", "", true},
		{"the same that is made", "none", "create", facts{one}, facts{one}, "", "x", false},
		{"an update that deletes", "update", "delete", facts{one}, facts{one}, "y", "", false},
		{"a fact that has changed", "none", "update", facts{may}, nil, "y", "x", true},
		{"a fact that has not", "none", "update", facts{two}, nil, "y", "x", false},
		{"a follower that names nothing", "none", "update", nil, nil, "y", "x", false},
	} {
		w := deploy.PlannedChange{ID: id("c"), Action: c.action, KnownAfter: c.names}
		f := factRound{before: map[string]string{one.String(): "1"}, after: map[string]string{one.String(): "2"},
			missing: map[resource.ID][]string{}, did: map[resource.ID]string{w.ID: c.did}}
		for _, fact := range c.lacks {
			f.missing[w.ID] = append(f.missing[w.ID], fact.String())
		}
		if c.was != "" {
			f.before["c"] = c.was
		}
		if c.now != "" {
			f.after["c"] = c.now
		}
		if why := f.doubt(&w); (why == "") != c.right {
			t.Errorf("%s: %q, want right: %v", c.reason, why, c.right)
		}
	}
}
