package deploy_test

import (
	"context"
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
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// newLabelRig returns a rig whose resources have labels: the thing of each is in the attribute
// name.
func newLabelRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.types = must(schema.NewRegistry(schema.Type{Name: "t::T", Attributes: []schema.Attribute{
		{Name: "label", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "name", Type: "String[1]", Behaviour: schema.Parameter},
		{Name: "value", Type: "String", Default: "v"},
	}, Thing: schema.ByIdentity("name")}))(t)
	r.use(r.home, "test")
	return r
}

// labelled describes the thing of a name under a label.
func labelled(agent, label, name string, requires ...resource.ID) resource.Resource {
	return resource.Resource{
		ID:   resource.NewID("t::T", agent, resource.Key{Name: "label", Value: label}),
		Type: "t::T", Agent: agent, Requires: requires,
		Attributes: map[string]any{"label": label, "name": name},
		Flags:      resource.Flags{ReceiveEvents: true, PurgeOnDelete: true},
	}
}

// randomThings returns a version of a small world: each thing has one id, and what requires others
// comes after these.
func randomThings(rng *rand.Rand) []resource.Resource {
	var out []resource.Resource
	used := map[resource.ID]bool{}
	for _, n := range rng.Perm(6)[:rng.IntN(6)+1] {
		r := labelled([]string{"a", "b", "c"}[rng.IntN(3)], fmt.Sprint("l", rng.IntN(4)),
			fmt.Sprint("thing", n))
		if used[r.ID] {
			continue
		}
		used[r.ID] = true
		r.Attributes["value"] = fmt.Sprint("v", rng.IntN(2))
		r.PurgeOnDelete = rng.IntN(3) > 0
		if len(out) > 0 && rng.IntN(2) == 0 {
			r.Requires = []resource.ID{out[rng.IntN(len(out))].ID}
		}
		out = append(out, r)
	}
	return out
}

// inForce returns the ids of the version in force by the names of their things.
func (r *rig) inForce() map[string]resource.Resource {
	r.t.Helper()
	env := must(r.home.Env(r.t.Context(), "e"))(r.t)
	out := map[string]resource.Resource{}
	if env.Released == 0 {
		return out
	}
	v := must(r.e.VersionOf(r.t.Context(), "e", env.Released))(r.t)
	for n := range v.Chunks {
		for _, res := range must(r.e.VersionPart(r.t.Context(), &v, n))(r.t).Resources {
			name := res.Attributes["name"].(string)
			if _, twice := out[name]; twice {
				r.t.Errorf("version %d has %s twice", v.Number, name)
			}
			out[name] = res
		}
	}
	return out
}

// TestMovesKeepThings deploys random versions of a small world one after the other: whole, in part,
// and earlier ones again. Then the world has exactly the things of the version, and those that were
// left behind; nothing was deleted and made again that both versions have; and the plan said so.
func TestMovesKeepThings(t *testing.T) {
	t.Parallel()
	moved, targeted, back := 0, 0, 0
	for seed := range uint64(12) {
		r := newLabelRig(t)
		rng := rand.New(rand.NewPCG(seed, 0x7161))
		for step := range 40 {
			before := r.inForce()
			had := maps.Clone(r.w.things)
			what := r.deployRandom(rng, step)
			if t.Failed() {
				t.Fatalf("seed %d, step %d: %s", seed, step, what)
			}
			switch {
			case strings.HasPrefix(what, "refused"):
				continue
			case strings.HasPrefix(what, "targeted"):
				targeted++
			case strings.HasPrefix(what, "release"):
				back++
			}
			now := r.inForce()
			for name, res := range before {
				if is, stays := now[name]; stays && is.ID != res.ID {
					moved++
				}
			}
			r.wantWorld(before, now, had)
			if t.Failed() {
				t.Fatalf("seed %d, step %d: %s; before %v, now %v", seed, step, what, before, now)
			}
		}
	}
	t.Logf("%d moves, %d targeted exports, %d releases of earlier versions", moved, targeted, back)
	if min(moved, targeted, back) < 20 {
		t.Error("too few of something")
	}
}

// deployRandom brings a version into force, deploys it, and says which way.
func (r *rig) deployRandom(rng *rand.Rand, step int) string {
	r.t.Helper()
	what := "whole"
	x := deploy.Export{Model: modelOf(randomThings(rng)...), Check: true}
	env := must(r.home.Env(r.t.Context(), "e"))(r.t)
	r.took()
	switch n := rng.IntN(10); {
	case n < 2 && step > 2:
		number := 1 + rng.IntN(env.Last)
		what = fmt.Sprint("release ", number)
		if _, err := r.e.Release(r.t.Context(), "e", number, state.Origin{}); err != nil {
			r.t.Error(err)
		}
		r.drain()
		return what
	case n < 5 && step > 0:
		agent := []string{"a", "b", "c"}[rng.IntN(3)]
		what = "targeted at " + agent
		x.Target = must(state.ParseFilter([]string{"agent=" + agent}))(r.t)
	}
	planned, err := r.e.Preview(r.t.Context(), "e", x, deploy.CompareOptions{Read: true})
	r.took()
	if _, exportErr := r.e.Export(r.t.Context(), "e", x); (err == nil) != (exportErr == nil) {
		r.t.Errorf("the plan says %v, the export %v", err, exportErr)
	} else if err != nil {
		if problems, _ := diag.Of(err); len(problems) == 0 && x.Target.Empty() {
			r.t.Error(err)
		}
		return "refused " + what
	}
	r.drain()
	did := map[string][]string{}
	r.w.mu.Lock()
	for _, c := range r.w.calls {
		call, name, _ := strings.Cut(c, " ")
		did[call] = append(did[call], name)
	}
	r.w.mu.Unlock()
	for action, call := range map[string]string{"create": "create", "update": "update",
		"delete": "delete"} {
		n := 0
		for _, w := range planned.Planned {
			if w.Action == action && !w.Failed {
				n++
			}
		}
		if n != len(did[call]) {
			r.t.Errorf("%d to %s were planned, done: %v; the plan: %+v", n, action, did[call],
				planned.Planned)
		}
	}
	return what
}

// wantWorld compares the world with what a version had and what the one after it has.
func (r *rig) wantWorld(before, now map[string]resource.Resource, had map[string]string) {
	r.t.Helper()
	ids := map[resource.ID]bool{}
	for _, res := range now {
		ids[res.ID] = true
	}
	want := map[string]string{}
	for name, value := range had {
		if was, managed := before[name]; !managed || !was.PurgeOnDelete || ids[was.ID] {
			want[name] = value // left behind, now or earlier
		}
	}
	for name, res := range now {
		want[name] = res.Attributes["value"].(string)
	}
	if !maps.Equal(want, r.w.things) {
		r.t.Errorf("there is %v, want %v", r.w.things, want)
	}
	for _, call := range r.took("create", "delete") {
		what, name, _ := strings.Cut(call, " ")
		_, both := now[name]
		if _, was := had[name]; both && was || what == "delete" && both {
			r.t.Errorf("%s, which was there and stays", call)
		}
	}
	for _, row := range must(r.home.ScanRows(r.t.Context(), "e", "", 1000))(r.t) {
		switch {
		case ids[row.ID] && row.Status() != state.StatusDeployed:
			r.t.Errorf("%s is %s: %s", row.ID, row.Status(), row.Why())
		case !ids[row.ID] && !row.Orphaned:
			r.t.Errorf("%s has left and is %s", row.ID, row.Status())
		}
	}
}

// TestOneThingOfTwoAgents pins that a thing is described once on a target, and that the hint names
// both agents.
func TestOneThingOfTwoAgents(t *testing.T) {
	t.Parallel()
	r := newLabelRig(t)
	far := func(name, host, user string) resource.Agent {
		return resource.Agent{Name: name, Transport: "ssh", Lanes: 1,
			Options: map[string]any{"host": host, "user": user}}
	}
	for why, c := range map[string]struct {
		agents []resource.Agent
		want   string
	}{
		"two names of this machine": {nil, `agents "a" and "b": both reach this machine`},
		"one host, two users": {[]resource.Agent{far("a", "h", "x"), far("b", "H", "y")},
			`agents "a" and "b": both reach ssh h:22`},
		"two hosts": {[]resource.Agent{far("a", "h", "x"), far("b", "i", "x")}, ""},
	} {
		r.types = must(schema.NewRegistry(schema.Type{Name: "t::T", Machine: true,
			Attributes: []schema.Attribute{{Name: "label", Type: "String[1]",
				Behaviour: schema.Namevar}, {Name: "name", Type: "String[1]"}},
			Thing: schema.ByIdentity("name")}))(t)
		r.use(r.home, "test")
		problems := r.e.ValidateClosed(&model.Model{Agents: c.agents, Resources: []resource.Resource{
			labelled("a", "x", "one"), labelled("b", "y", "one")}})
		if c.want == "" && len(problems) > 0 || c.want != "" && (len(problems) != 1 ||
			!strings.Contains(problems[0].Hint, c.want)) {
			t.Errorf("%s: %v", why, problems)
		}
	}
}

// TestMoveWhileItRuns renames what is just being changed. Its result has no row any more, so that
// those that receive its events are notified by the run of the new id.
func TestMoveWhileItRuns(t *testing.T) {
	t.Parallel()
	r := newLabelRig(t)
	sender := func(label, value string) resource.Resource {
		out := labelled("a", label, "sender")
		out.Attributes["value"], out.SendEvent = value, true
		return out
	}
	hearer := func(of string) resource.Resource {
		return labelled("b", "hearer", "hearer", sender(of, "").ID)
	}
	r.export(deploy.Export{Model: modelOf(sender("old", "1"), hearer("old"))})
	r.drain()
	renamed := false
	r.w.hook = func(call, name string) {
		if call == "update" && name == "sender" && !renamed {
			renamed = true
			r.export(deploy.Export{Model: modelOf(sender("new", "2"), hearer("new"))})
		}
	}
	r.took()
	r.export(deploy.Export{Model: modelOf(sender("old", "2"), hearer("old"))})
	r.drain()
	r.same("what was done", r.took("create", "update", "delete"), "update sender")
	r.same("what was reloaded", r.w.reload, "hearer")
	r.w.reload = nil
	out := r.export(deploy.Export{Model: modelOf(sender("third", "2"), hearer("third"))})
	r.drain()
	r.same("what a move reloads", r.w.reload)
	if want := []deploy.Move{{From: sender("new", "").ID, To: sender("third", "").ID}}; out.Moved != 1 ||
		!slices.Equal(out.Moves, want) || out.Removed != 0 {
		t.Errorf("%+v", out)
	}
}

// claimsBefore is a State in which a worker of agent a claims a resource before a commit that writes
// another, and is lost.
type claimsBefore struct {
	state.State
	t            *testing.T
	clock        state.Clock
	claims, with resource.ID
}

func (s *claimsBefore) Commit(ctx context.Context, env string, c state.Commit) (state.Committed, error) {
	if slices.ContainsFunc(c.Rows, func(r state.Row) bool { return r.ID == s.with }) {
		now, seen := s.clock.Now(), must(s.Env(ctx, env))(s.t)
		l := must(s.Acquire(ctx, env, "a", "lost", now, now.Add(time.Minute)))(s.t)
		claim := state.Commit{Guard: state.Guard{Key: l.Key, Fence: l.Fence},
			Next: []resource.ID{s.claims}, SeenPlan: seen.PlanSeq, Until: now.Add(time.Minute)}
		if done := must(s.State.Commit(ctx, env, claim))(s.t); !done.Started {
			s.t.Error("the claim was refused")
		}
		s.with = ""
	}
	return s.State.Commit(ctx, env, c)
}

// TestMoveFromALostRun moves a thing to an id of another agent after a worker has claimed the former
// id, and is lost. The run may have changed the thing without a record, so receivers reload. The move
// waits until the lease ends.
func TestMoveFromALostRun(t *testing.T) {
	t.Parallel()
	r := newLabelRig(t)
	sender := func(agent string) resource.Resource {
		out := labelled(agent, "sender", "sender")
		out.SendEvent = true
		return out
	}
	hearer := func(agent string) resource.Resource {
		return labelled("c", "hearer", "hearer", sender(agent).ID)
	}
	r.export(deploy.Export{Model: modelOf(sender("a"), hearer("a"))})
	r.drain()
	r.took()
	whole, config := r.e, r.e.Config
	config.State = &claimsBefore{r.home, t, r.clock, sender("a").ID, sender("b").ID}
	r.e = deploy.New(config)
	r.export(deploy.Export{Model: modelOf(sender("b"), hearer("b"))})
	r.e = whole
	run := func() int {
		return must(r.e.RunAgent(t.Context(), "e", "b", r.clock.Now().Add(time.Second/2)))(t).Ran
	}
	if n := run(); n != 0 {
		t.Errorf("%d runs while the lease of the former agent lasts", n)
	}
	r.clock.advance(2 * time.Minute)
	r.drain()
	r.same("what was done", r.took("create", "update", "delete"))
	r.same("what was reloaded", r.w.reload, "hearer")
}

// TestMoveCutShort pins that what is recorded of a moved thing is not lost if the release is cut short
// before the row of the new id is written (seed 450909 of the simulator).
func TestMoveCutShort(t *testing.T) {
	t.Parallel()
	r := newLabelRig(t)
	old, now := labelled("a", "old", "thing"), labelled("a", "new", "thing")
	r.export(deploy.Export{Model: modelOf(old)})
	r.drain()
	was := must(r.e.Row(t.Context(), "e", old.ID))(t)
	whole := r.e
	config := r.e.Config
	config.State = &diesAfter{State: r.home, of: now.ID}
	_, err := deploy.New(config).Export(t.Context(), "e", deploy.Export{Model: modelOf(now)})
	if err == nil {
		t.Fatal("the release was not cut short")
	}
	r.e = whole
	r.export(deploy.Export{Model: modelOf(now)})
	row := must(r.e.Row(t.Context(), "e", now.ID))(t)
	if row.Deployed != was.Deployed || !row.SucceededAt.Equal(was.SucceededAt) {
		t.Errorf("recorded: %q at %s, want %q at %s", row.Deployed, row.SucceededAt, was.Deployed,
			was.SucceededAt)
	}
	if row, err := r.e.Row(t.Context(), "e", old.ID); err == nil {
		t.Errorf("the old id stays: %+v", row)
	}
}

// TestFactsMove pins that a fact belongs to the thing, and that what refers to it under the new id
// is not undefined meanwhile.
func TestFactsMove(t *testing.T) {
	t.Parallel()
	r := newLabelRig(t)
	r.e.Handlers["t::T"] = factual{handler{r.w}}
	old, now := labelled("a", "old", "one"), labelled("b", "new", "one")
	user := func(of resource.ID) resource.Resource {
		out := labelled("c", "user", "two", of)
		out.Attributes["value"] = resource.Fact{Name: "address", Of: of}
		return out
	}
	r.export(deploy.Export{Model: modelOf(old, user(old.ID))})
	r.drain()
	learned := must(r.home.Parameters(t.Context(), "e", state.ParameterQuery{Facts: true}))(t)
	if len(learned) != 1 || learned[0].Of != old.ID {
		t.Fatalf("%+v", learned)
	}
	r.export(deploy.Export{Model: modelOf(now, user(now.ID))})
	facts := must(r.home.Parameters(t.Context(), "e", state.ParameterQuery{Facts: true}))(t)
	if len(facts) != 1 || facts[0].Of != now.ID || facts[0].Value != learned[0].Value {
		t.Errorf("%+v", facts)
	}
	row := must(r.e.Row(t.Context(), "e", user("").ID))(t)
	if row.Undefined() {
		t.Errorf("it is undefined: %s", row.Why())
	}
}

// TestMoveByWaves renames an agent by targeted exports, as waves do it: what stays and required the
// old id requires the new one.
func TestMoveByWaves(t *testing.T) {
	t.Parallel()
	r := newLabelRig(t)
	one, renamed := labelled("a", "one", "one"), labelled("b", "one", "one")
	of := func(id resource.ID) resource.Resource { return labelled("c", "other", "two", id) }
	r.export(deploy.Export{Model: modelOf(one, of(one.ID))})
	r.drain()
	r.took()
	for _, later := range []bool{true, false} {
		x := deploy.Export{Model: modelOf(renamed, of(renamed.ID)), Defer: later,
			Target: must(state.ParseFilter([]string{"agent=b"}))(t)}
		if _, err := r.e.Export(t.Context(), "e", x); err != nil {
			t.Fatal(err)
		}
		r.drain()
		r.same("what was done", r.took("create", "update", "delete"))
		if is := r.inForce(); is["one"].ID != renamed.ID ||
			!slices.Equal(is["two"].Requires, []resource.ID{renamed.ID}) {
			t.Errorf("%+v", is)
		}
	}
}
