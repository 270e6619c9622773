package deploy_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// author makes up models of a few resources, and what happens to their things meanwhile.
type author struct {
	*rig
	*rand.Rand
	drifts bool
}

func (a author) name() string { return fmt.Sprintf("n%d", a.IntN(8)) }

func (a author) one(of int) bool { return a.IntN(of) == 0 }

// place puts every third resource on another agent.
func place(r resource.Resource) resource.Resource {
	if n := nameOfID(r.ID); (n[1]-'0')%3 == 2 {
		return on("b", r)
	}
	return r
}

// model makes up a model; call its result for as many copies as are needed, since an export
// resolves the references of the one that it gets.
func (a author) model() func() *model.Model {
	var rs []resource.Resource
	for i := range 8 {
		if a.one(3) {
			continue
		}
		r := place(res(fmt.Sprintf("n%d", i)))
		r.Attributes["value"] = fmt.Sprintf("v%d", a.IntN(3))
		if a.one(8) {
			r.Attributes["value"] = resource.Parameter{Name: fmt.Sprintf("p%d", a.IntN(2))}
		}
		for _, q := range rs {
			if a.one(4) {
				r.Requires = append(r.Requires, q.ID)
			}
		}
		r.PurgeOnDelete, r.Purged, r.ReportOnly = a.one(2), a.one(8), a.one(10)
		r.SendEvent, r.ReceiveEvents = a.one(3), !a.one(4)
		rs = append(rs, r)
	}
	return func() *model.Model {
		out := slices.Clone(rs)
		for i := range out {
			out[i].Attributes = maps.Clone(out[i].Attributes)
			out[i].Requires = slices.Clone(out[i].Requires)
		}
		m := modelOf(out...)
		m.Agents = []resource.Agent{{Name: "a", Transport: "local", Lanes: 3},
			{Name: "b", Transport: "local", Lanes: 1}}
		return m
	}
}

// drift changes some things behind the engine's back.
func (a author) drift() {
	for range a.IntN(3) {
		switch name := a.name(); {
		case a.one(2):
			delete(a.w.things, name)
		default:
			a.w.things[name] = fmt.Sprintf("v%d", a.IntN(3))
		}
	}
}

// did returns what was done to resources since an action: by the last action that did anything. What
// is made, and then reloads as something is purged after it, is made.
func (a author) did(since string) map[resource.ID]string {
	words := map[diff.Change]string{diff.Created: "create", diff.Updated: "update",
		diff.Purged: "delete"}
	out := map[resource.ID]string{}
	all, err := a.home.Actions(a.t.Context(), "e", state.ActionQuery{After: since})
	if err != nil {
		a.t.Fatal(err)
	}
	for _, x := range slices.Backward(all) { // the oldest first
		made := out[x.Resource] == "create" && x.Change == diff.Updated
		if x.Action != state.ActionDryRun && x.Change != diff.NoChange && !made {
			out[x.Resource] = words[x.Change]
		}
	}
	return out
}

func (a author) last() string {
	all, err := a.home.Actions(a.t.Context(), "e", state.ActionQuery{Limit: 1})
	if err != nil || len(all) == 0 {
		return ""
	}
	return all[0].ID
}

func (a author) preview(x deploy.Export, read bool) deploy.DryRun {
	d, err := a.e.Preview(a.t.Context(), "e", x, deploy.CompareOptions{Read: read})
	if err != nil {
		a.t.Fatal(err)
	}
	return d
}

func told(d deploy.DryRun, words ...string) map[resource.ID]string {
	out := map[resource.ID]string{}
	for _, w := range d.Planned {
		if slices.Contains(words, w.Action) && !w.Failed {
			out[w.ID] = w.Action
		}
	}
	return out
}

// reloads returns what would reload.
func reloads(d deploy.DryRun) map[resource.ID]bool {
	out := map[resource.ID]bool{}
	for _, w := range d.Planned {
		if len(w.ReloadFor) > 0 {
			out[w.ID] = true
		}
	}
	return out
}

// acts returns what would be done to resources; a reload counts as an update.
func acts(d deploy.DryRun) map[resource.ID]string {
	out := told(d, "create", "update", "delete")
	for id := range reloads(d) {
		if out[id] == "" {
			out[id] = "update"
		}
	}
	return out
}

// asSaid checks that what was done to resources, and which of them reloaded, is what was said.
func (a author) asSaid(who string, did map[resource.ID]string, said deploy.DryRun) {
	a.t.Helper()
	if want := acts(said); !maps.Equal(did, want) {
		a.t.Errorf("%s did %v; what was said is %v", who, did, want)
	}
	reloaded := map[resource.ID]bool{}
	for _, name := range a.w.reload {
		reloaded[place(res(name)).ID] = true
	}
	if want := reloads(said); !maps.Equal(reloaded, want) {
		a.t.Errorf("%s reloaded %v; what was said is %v", who, reloaded, want)
	}
}

// status returns the resources with one of these statuses.
func (a author) status(ss ...state.Status) map[resource.ID]bool {
	out := map[resource.ID]bool{}
	rows, err := a.home.ScanRows(a.t.Context(), "e", "", 1000)
	if err != nil {
		a.t.Fatal(err)
	}
	for i := range rows {
		if slices.Contains(ss, rows[i].Status()) {
			out[rows[i].ID] = true
		}
	}
	return out
}

// TestPlanIsWhatApplyDoes compares, over random models, removals, drift, failures that are mended
// and versions that are not released, what a plan says with what an apply then does. With
// reality read that is the same; without, all that is done although nothing has drifted was said.
func TestPlanIsWhatApplyDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(worlds()) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			a := author{newRig(t), rand.New(rand.NewPCG(seed, 1)), seed%2 == 0}
			for range 6 {
				a.round(t)
			}
		})
	}
}

func (a author) round(t *testing.T) {
	t.Helper()
	if a.one(3) { // something fails, and is mended
		a.w.fail[a.name()] = errors.New("it is broken")
		a.export(deploy.Export{Model: a.model()(), Check: a.one(2)})
		a.drain()
		clear(a.w.fail)
	}
	if a.one(4) {
		a.export(deploy.Export{Model: a.model()(), NoRelease: true})
	}
	if a.one(3) {
		p := state.Parameter{Name: fmt.Sprintf("p%d", a.IntN(2)),
			Value: fmt.Sprintf("v%d", a.IntN(3))}
		if err := a.e.SetParameters(t.Context(), "e", p); err != nil {
			t.Fatal(err)
		}
		a.drain()
	}
	if a.drifts && a.one(2) {
		a.drift()
	}
	m := a.model()
	planned := a.preview(deploy.Export{Model: m()}, false)
	read := a.preview(deploy.Export{Model: m()}, true)
	orphans, since := a.status(state.StatusOrphaned), a.last()
	a.w.reload = nil
	a.export(deploy.Export{Model: m(), Check: true, Expect: planned.State})
	a.drain()
	did := a.did(since)
	a.asSaid("an apply", did, read)
	if want := acts(planned); !a.drifts {
		for id, what := range did {
			// Whether something that failed before was made nobody knows without looking.
			if made := want[id] == "create" ||
				want[id] == "update"; want[id] != what && !(made && what != "delete") {
				t.Errorf("an apply did %s %s; the plan was %v", what, id, want)
			}
		}
	}
	left := a.status(state.StatusOrphaned)
	maps.DeleteFunc(left, func(id resource.ID, _ bool) bool { return orphans[id] })
	unknown := a.status(state.StatusUndefined, state.StatusBlocked)
	for name, d := range map[string]deploy.DryRun{"plan --no-read": planned, "plan": read} {
		if want := told(d, "orphan"); !sameKeys(left, want) {
			t.Errorf("%s: left behind %v, the plan was %v", name, left, want)
		}
		if want := told(d, "undefined"); !sameKeys(unknown, want) {
			t.Errorf("%s: undefined %v, the plan was %v", name, unknown, want)
		}
	}
}

// TestDryRunIsWhatRepairDoes compares what a dry run says, over random models and drift, with what a
// repair of everything then does.
func TestDryRunIsWhatRepairDoes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(worlds()) {
		a := author{newRig(t), rand.New(rand.NewPCG(seed, 2)), true}
		a.export(deploy.Export{Model: a.model()()})
		a.drain()
		for range 4 {
			a.drift()
			dry, err := a.e.DryRun(t.Context(), "e", 0)
			if err != nil {
				t.Fatal(err)
			}
			since := a.last()
			a.w.reload = nil
			a.repair("")
			a.asSaid(fmt.Sprintf("seed %d, a repair", seed), a.did(since), dry)
		}
	}
}

func sameKeys[A, B any](a map[resource.ID]A, b map[resource.ID]B) bool {
	return slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
}

// TestExpect pins that an export that is to do exactly what a plan says is refused once the state
// is another, and that doing nothing is all that it does then.
func TestExpect(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := author{rig: r}
	r.export(deploy.Export{Model: modelOf(res("a"))})
	r.drain()
	x := func() deploy.Export { return deploy.Export{Model: modelOf(res("a"), res("b"))} }
	d := a.preview(x(), false)
	r.export(deploy.Export{Model: modelOf(res("a"), res("c"))})
	r.drain()
	y := x()
	y.Expect = d.State
	if _, err := r.e.Export(t.Context(), "e", y); !fault.Is(err, fault.Refused) {
		t.Fatalf("an export of a plan that is out of date: %v", err)
	}
	if env, _ := r.home.Env(t.Context(), "e"); env.Last != 2 ||
		len(a.status(state.StatusDeployed)) != 2 {
		t.Errorf("it did something: %+v", env)
	}
	y.Expect = a.preview(x(), false).State
	first, second := r.export(y), r.export(y) // the answer to the first was lost
	if first.Version != 3 || second.Version != 3 || second.New {
		t.Errorf("%+v and again %+v", first, second)
	}
}

// TestExpectOfWhatWasDone pins that a plan that was carried out stands for nothing else: what has
// changed since in the same documents, such as the version of a secret, is compared with it.
func TestExpectOfWhatWasDone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	x := deploy.Export{Model: modelOf(res("a"))}
	x.Expect = author{rig: r}.preview(deploy.Export{Model: modelOf(res("a"))}, false).State
	r.export(x)
	r.drain()
	x.Model = modelOf(valued("a", "another"))
	if _, err := r.e.Export(t.Context(), "e", x); !fault.Is(err, fault.Refused) {
		t.Errorf("another content of a plan that was carried out: %v", err)
	}
	r.drain()
	if r.w.things["a"] != "v" {
		t.Errorf("a is %q", r.w.things["a"])
	}
}

// TestLimits pins that an export by which more would leave than may is refused whole.
func TestLimits(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	gone := res("gone")
	gone.PurgeOnDelete = true
	r.export(deploy.Export{Model: modelOf(gone, res("left"), res("stays"))})
	r.drain()
	none := res("stays")
	none.Purged = true
	for _, c := range []struct {
		delete, leave int
		refused       bool
	}{{1, -1, true}, {-1, 1, true}, {0, 0, true}, {2, 2, false}} {
		_, err := r.e.Export(t.Context(), "e", deploy.Export{Model: modelOf(none),
			Limits: &deploy.Limits{Delete: c.delete, Leave: c.leave}})
		if fault.Is(err, fault.Refused) != c.refused || !c.refused && err != nil {
			t.Errorf("at most %d deleted and %d leaving: %v", c.delete, c.leave, err)
		}
		if env, _ := r.home.Env(t.Context(), "e"); env.Last != 1 && c.refused {
			t.Errorf("at most %d deleted and %d leaving: version %d is stored", c.delete, c.leave,
				env.Last)
		}
	}
}

// TestLimitsCountWhatWaits pins that what is deleted once something is known counts as much as what
// is deleted at once, that plans say so, and that it is deleted then.
func TestLimitsCountWhatWaits(t *testing.T) {
	t.Parallel()
	param := resource.Parameter{Name: "p"}
	gone, purged := res("a"), valued("a", param)
	gone.PurgeOnDelete, purged.Purged = true, true
	for name, c := range map[string]struct{ before, after []resource.Resource }{
		"it left, and who requires it is undefined": {
			[]resource.Resource{gone, res("b<a")}, []resource.Resource{valued("b", param)}},
		"it is to be purged, and undefined": {
			[]resource.Resource{res("a")}, []resource.Resource{purged}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.release(c.before...)
			x := func(n int) deploy.Export {
				return deploy.Export{Model: modelOf(c.after...),
					Limits: &deploy.Limits{Delete: n, Leave: -1}}
			}
			planned := author{rig: r}.preview(x(0), false).Planned
			if i := slices.IndexFunc(planned, func(w deploy.PlannedChange) bool {
				return w.ID == id("a")
			}); i < 0 ||
				planned[i].Action != "undefined" || !planned[i].Deletes || planned[i].Reason == "" {
				t.Errorf("planned: %+v", planned)
			}
			if _, err := r.e.Export(t.Context(), "e", x(0)); !fault.Is(err, fault.Refused) {
				t.Errorf("none may be deleted: %v", err)
			}
			r.export(x(1))
			r.drain()
			if _, there := r.w.things["a"]; !there {
				t.Fatal("it is deleted already")
			}
			r.set("p", "known")
			if _, there := r.w.things["a"]; there {
				t.Error("it is never deleted")
			}
		})
	}
}

// TestExpectAfterRelease pins that a plan that was carried out is not carried out once more after
// an earlier version was put in force: what was taken back stays so until somebody looks again.
func TestExpectAfterRelease(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.release(res("a"))
	x := func() deploy.Export { return deploy.Export{Model: modelOf(res("a"), res("b"))} }
	y := x()
	y.Expect = author{rig: r}.preview(x(), false).State
	r.export(y)
	r.drain()
	if _, err := r.e.Release(t.Context(), "e", 1, state.Origin{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.e.Export(t.Context(), "e", y); !fault.Is(err, fault.Refused) {
		t.Errorf("a plan from before the release: %v", err)
	}
	if env, _ := r.home.Env(t.Context(), "e"); env.Released != 1 {
		t.Errorf("version %d is in force", env.Released)
	}
}

// TestDryRunOfForgotten pins that a version which is not kept any more is not there, which is
// nobody's damage.
func TestDryRunOfForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.export(deploy.Export{Model: modelOf(res("x")), Settings: &state.Settings{KeepVersions: 1}})
	r.drain()
	r.export(deploy.Export{Model: modelOf(res("x"), res("y"))})
	r.drain()
	if _, err := r.e.Collect(t.Context(), "e", 0); err != nil {
		t.Fatal(err)
	}
	for _, number := range []int{1, 3} {
		if _, err := r.e.DryRun(t.Context(), "e", number); !fault.Is(err, fault.NotFound) {
			t.Errorf("version %d: %v, want that there is none", number, err)
		}
	}
}

// TestPlanOfWhatIsNotDone pins that a plan says why something is still to be done that documents
// describe as they did before.
func TestPlanOfWhatIsNotDone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.release(valued("a", "one"))
	x := deploy.Export{Model: modelOf(valued("a", "two"))}
	r.export(x) // and nobody has deployed it
	d := author{rig: r}.preview(deploy.Export{Model: modelOf(valued("a", "two"))}, false)
	if len(d.Planned) != 1 || d.Planned[0].Action != "update" ||
		!strings.Contains(d.Planned[0].Reason, "not been deployed yet") {
		t.Errorf("%+v", d.Planned)
	}
}

// TestPlanTellsOfWhatWasInterrupted pins that a plan says what reloads as something that sends
// events was running when whoever ran it ended: it may have changed, and the next success tells.
func TestPlanTellsOfWhatWasInterrupted(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]bool{"without reading": false, "reading": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := author{rig: newRig(t)}
			described := func() deploy.Export {
				sends := res("a")
				sends.SendEvent = true
				return deploy.Export{Model: modelOf(sends, res("b<a")), Check: true}
			}
			a.export(described())
			a.drain()
			a.lose("a", time.Minute, id("a"))
			a.clock.advance(time.Hour)
			said := reloads(a.preview(described(), read))
			a.export(described())
			a.drain()
			a.same("reloaded", a.w.reload, "b")
			if !said[id("b")] {
				t.Errorf("what was said to reload is %v", said)
			}
			if said := reloads(a.preview(described(), read)); len(said) > 0 {
				t.Errorf("after that %v is said to reload", said)
			}
		})
	}
}

// whoEnds holds leases in tests, and has ended.
const whoEnds = "who ends"

// lose has somebody take a lane for so long, claim resources of it, and end without a word.
func (r *rig) lose(lane string, span time.Duration, ids ...resource.ID) state.Lease {
	r.t.Helper()
	ctx, now := r.t.Context(), r.clock.Now()
	lease, err := r.home.Acquire(ctx, "e", lane, whoEnds, now, now.Add(span))
	if err != nil {
		r.t.Fatal(err)
	}
	s, err := r.home.Schedule(ctx, "e")
	if err != nil {
		r.t.Fatal(err)
	}
	done, err := r.home.Commit(ctx, "e", state.Commit{Next: ids, SeenPlan: s.PlanSeq,
		Guard: state.Guard{Key: lease.Key, Fence: lease.Fence}, Until: now.Add(span)})
	if err != nil || !done.Started {
		r.t.Fatalf("%v: started %v", err, done.Started)
	}
	return lease
}
