package deploy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

func (r *rig) set(name, value string) {
	r.t.Helper()
	p := state.Parameter{Name: name, Value: value, Source: "user"}
	if err := r.e.SetParameters(context.Background(), "e", p); err != nil {
		r.t.Fatal(err)
	}
	r.drain()
}

func (r *rig) unset(key state.ParameterKey) {
	r.t.Helper()
	if err := r.e.DeleteParameters(context.Background(), "e", key); err != nil {
		r.t.Fatal(err)
	}
	r.drain()
}

// release exports resources and does what follows.
func (r *rig) release(rs ...resource.Resource) {
	r.t.Helper()
	r.export(deploy.Export{Model: modelOf(rs...)})
	r.drain()
}

func valued(text string, value any) resource.Resource {
	out := res(text)
	out.Attributes["value"] = value
	return out
}

// TestUnknownIsUndefined pins that what refers to something unknown is undefined, whatever it was
// before, and that nothing is done to it until it is known.
func TestUnknownIsUndefined(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	param := resource.Parameter{Name: "p"}
	is := func(step string, status, dependant state.Status, value string) {
		t.Helper()
		t.Log(step)
		r.want("a", status)
		r.want("b", dependant)
		if r.w.things["a"] != value {
			t.Errorf("%s: a is %q, want %q", step, r.w.things["a"], value)
		}
	}
	r.release(valued("a", "one"), res("b<a"))
	is("a literal", state.StatusDeployed, state.StatusDeployed, "one")
	r.release(valued("a", param), res("b<a"))
	is("becomes a parameter", state.StatusUndefined, state.StatusBlocked, "one")
	r.set("p", "two")
	is("that is set", state.StatusDeployed, state.StatusDeployed, "two")
	r.unset(state.ParameterKey{Name: "p"})
	is("and forgotten", state.StatusDeployed, state.StatusDeployed, "two")
	r.release(valued("a", param), res("b<a"))
	is("and exported as before", state.StatusUndefined, state.StatusBlocked, "two")
	r.w.things["a"] = "drift"
	r.repair("")
	is("and is not repaired to what it was", state.StatusUndefined, state.StatusBlocked, "drift")
	r.set("p", "three")
	is("until it is set", state.StatusDeployed, state.StatusDeployed, "three")
	took := r.took("create", "update")
	r.release(valued("a", param), res("b<a"))
	r.same("exported with a value", r.took("read", "create", "update"))
	if len(took) == 0 {
		t.Error("nothing was done")
	}
	a := valued("a", param)
	r.unset(state.ParameterKey{Name: "p"})
	a.Attributes["note"] = "a literal that changes as well"
	r.release(a, res("b<a"))
	is("a literal beside it changes", state.StatusUndefined, state.StatusBlocked, "three")
}

// TestPartialExportKeepsValues pins that a partial export which only adds a requirement to a shared
// resource leaves it a value that was forgotten after it was deployed, as if the export did not
// describe it.
func TestPartialExportKeepsValues(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := valued("a", resource.Parameter{Name: "p"})
	r.release(a)
	r.set("p", "two")
	r.unset(state.ParameterKey{Name: "p"})
	r.want("a", state.StatusDeployed)
	b := res("b")
	b.Set = "s"
	again := valued("a<b", resource.Parameter{Name: "p"})
	r.export(deploy.Export{Model: modelOf(again, b), Partial: true})
	r.drain()
	r.want("b", state.StatusDeployed)
	r.want("a", state.StatusDeployed)
	if got := r.w.things["a"]; got != "two" {
		t.Errorf("a is %q, want %q", got, "two")
	}
}

// factual is the test's handler with a fact.
type factual struct{ handler }

func (factual) Facts(*provider.Context, provider.ReadRequest) (map[string]any, error) {
	return map[string]any{"address": "x"}, nil
}

// TestFactsGoWithTheirResource pins that facts are forgotten when what they were learned from is
// purged, and that a collection forgets those that were left.
func TestFactsGoWithTheirResource(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Handlers["t::T"] = factual{handler{r.w}}
	facts := func(n int) {
		t.Helper()
		got, err := r.home.Parameters(context.Background(), "e", state.ParameterQuery{Facts: true})
		if err != nil || len(got) != n {
			t.Fatalf("%d facts, want %d: %v %v", len(got), n, got, err)
		}
	}
	fact := resource.Fact{Name: "address", Of: id("a")}
	purged := res("a")
	purged.Purged = true
	r.release(res("a"), valued("b<a", fact))
	r.want("b", state.StatusDeployed)
	facts(1)
	r.release(purged, valued("b<a", fact))
	facts(0)
	r.release(purged, valued("b<a", fact))
	r.want("b", state.StatusUndefined)
	leaves := res("a")
	leaves.PurgeOnDelete = true
	r.release(leaves, valued("b<a", fact))
	r.want("b", state.StatusDeployed)
	facts(1)
	r.release(res("b"))
	facts(0)
	left := state.Parameter{Name: "address", Of: id("a"), Value: "x", Source: "fact"}
	if err := r.e.SetParameters(context.Background(), "e", left); err != nil {
		t.Fatal(err)
	}
	facts(1)
	if _, err := r.e.Collect(context.Background(), "e", time.Hour); err != nil {
		t.Fatal(err)
	}
	facts(0)
}

// commitsAfter is a State that calls something before the next commit of rows.
type commitsAfter struct {
	state.State
	f func()
}

func (s *commitsAfter) Commit(
	ctx context.Context, env string, c state.Commit,
) (state.Committed, error) {
	if f := s.f; f != nil && len(c.Rows) > 0 {
		s.f = nil
		f()
	}
	return s.State.Commit(ctx, env, c)
}

// TestFactsOfWhatComesBack pins that the facts of a resource are learned for whoever has waited for
// them if the resource comes back in the moment in which its removal ends.
func TestFactsOfWhatComesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Handlers["t::T"] = factual{handler{r.w}}
	a, b := res("a"), valued("b", resource.Fact{Name: "address", Of: id("a")})
	a.PurgeOnDelete, a.Set = true, "s"
	r.export(deploy.Export{Model: modelOf(a, b)}) // and nothing is run
	r.export(deploy.Export{Model: modelOf(), Partial: true, DeleteSets: []string{"s"}})
	r.releaseDuringRuns(1)
	r.drain()
	r.want("a", state.StatusDeployed)
	r.want("b", state.StatusDeployed)
}

// releaseDuringRuns releases a version, and makes all runs between its plan and its first commit.
func (r *rig) releaseDuringRuns(v int) {
	r.t.Helper()
	other := r.e
	config := r.e.Config
	config.State = &commitsAfter{State: r.home, f: func() {
		r.e, other = other, r.e
		r.drain()
		r.e, other = other, r.e
	}}
	r.e = deploy.New(config)
	if _, err := r.e.Release(r.t.Context(), "e", v, state.Origin{}); err != nil {
		r.t.Fatal(err)
	}
}

// TestFactsOfWhatComesBackLater pins that facts which were recorded before the removal are read again
// from the resource that comes back in the moment in which its removal ends: resources still refer to
// them.
func TestFactsOfWhatComesBackLater(t *testing.T) {
	t.Parallel()
	r := learning(t)
	a := func(value string) resource.Resource {
		out := valued("a", value)
		out.PurgeOnDelete, out.Set = true, "s"
		return out
	}
	r.export(deploy.Export{Model: modelOf(a("one"), valued("b", factOf("a")))})
	r.drain()
	r.export(deploy.Export{Model: modelOf(), Partial: true, DeleteSets: []string{"s"}})
	r.releaseDuringRuns(1)
	r.drain()
	r.export(deploy.Export{Model: modelOf(a("two")), Partial: true})
	r.drain()
	if r.want("b", state.StatusDeployed); r.w.things["b"] != "two" {
		t.Errorf("b is %q, want the new value of the fact", r.w.things["b"])
	}
}

// unplanned is a State in which nobody can plan.
type unplanned struct{ state.State }

func (s unplanned) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	if key == state.PlanKey {
		return state.Lease{}, fault.New(fault.Internal, "acquire", "the process has died")
	}
	return s.State.Acquire(ctx, env, key, holder, now, until)
}

// TestFactsOfWhatExistsAgain pins that facts that went with a purged thing are learned once it
// exists again, for whoever has waited for them all the time.
func TestFactsOfWhatExistsAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.e.Handlers["t::T"] = factual{handler{r.w}}
	b := valued("b", resource.Fact{Name: "address", Of: id("a")})
	a := res("a")
	a.Set = "s"
	purged := a
	purged.Purged = true
	r.export(deploy.Export{Model: modelOf(a, b)})
	config := r.e.Config
	config.State = unplanned{r.home}
	whole := r.e
	r.e = deploy.New(config)
	_, err := r.e.RunAgent(t.Context(), "e", "a", r.clock.Now().Add(time.Hour))
	if !fault.Is(err, fault.Internal) { // the fact is learned, and nobody can plan what follows
		t.Fatal(err)
	}
	r.want("b", state.StatusUndefined)
	r.e = whole
	for _, a := range []resource.Resource{purged, a} {
		r.export(deploy.Export{Model: modelOf(a), Partial: true})
		if _, err := r.e.RunAgent(t.Context(), "e", "a",
			r.clock.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	r.drain()
	r.want("b", state.StatusDeployed)
}

// TestUnknownBehindWhatIsForgotten pins that what waits for something that is not known, by way of
// something that was let go of, goes on once it is known.
func TestUnknownBehindWhatIsForgotten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	leaving := func(text string) resource.Resource {
		out := res(text)
		out.PurgeOnDelete = true
		return out
	}
	last := leaving("c<b")
	last.Attributes["value"] = resource.Parameter{Name: "p"}
	r.release(leaving("a"), leaving("b<a"), last)
	last.Requires = nil
	r.release(last) // a is to be removed after b, and b after c
	r.want("a", state.StatusBlocked)
	if _, err := r.e.Forget(t.Context(), "e", id("b")); err != nil {
		t.Fatal(err)
	}
	r.drain()
	r.want("a", state.StatusBlocked)
	r.set("p", "known")
	if _, is := r.w.things["a"]; is {
		t.Error("a is still there")
	}
	r.want("c", state.StatusDeployed)
}

// countsRows is a home that counts the rows that are read.
type countsRows struct {
	*local.Home
	read int
}

func (s *countsRows) counted(rows []state.Row, err error) ([]state.Row, error) {
	s.read += len(rows)
	return rows, err
}

func (s *countsRows) ScanRows(ctx context.Context, env string, after resource.ID, n int) ([]state.Row, error) {
	return s.counted(s.Home.ScanRows(ctx, env, after, n))
}

func (s *countsRows) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	return s.counted(s.Home.Rows(ctx, env, ids))
}

func (s *countsRows) FindRows(ctx context.Context, env string, q state.RowQuery) (state.RowPage, error) {
	page, err := s.Home.FindRows(ctx, env, q)
	s.read += len(page.Rows)
	return page, err
}

// TestParameterReadsUndefinedRows pins that to set a parameter reads the undefined rows and their
// dependants, and resolves those that refer to it, whatever number of resources there is.
func TestParameterReadsUndefinedRows(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	rs := []resource.Resource{valued("p", resource.Parameter{Name: "p"}), res("needs<p"),
		valued("q", resource.Parameter{Name: "q"}),
		valued("both", resource.Parameter{Name: "p"})}
	rs[3].Attributes["note"] = resource.Parameter{Name: "q"}
	for i := range 200 {
		rs = append(rs, res(fmt.Sprint("r", i)))
	}
	r.release(rs...)
	config, store := r.e.Config, &countsRows{Home: r.home}
	config.State = store
	e := deploy.New(config)
	for _, c := range []struct {
		name, value string
		most        int
		want        map[string]state.Status
	}{
		{"other", "1", 3, map[string]state.Status{"p": state.StatusUndefined, "needs": state.StatusBlocked}},
		{"p", "2", 3 + 1, map[string]state.Status{"p": state.StatusAvailable, "needs": state.StatusAvailable,
			"q": state.StatusUndefined, "both": state.StatusUndefined}},
		{"q", "3", 2, map[string]state.Status{"q": state.StatusAvailable, "both": state.StatusAvailable}},
		{"q", "4", 0, map[string]state.Status{"q": state.StatusAvailable}},
	} {
		store.read = 0
		if err := e.SetParameters(t.Context(), "e", state.Parameter{Name: c.name, Value: c.value,
			Source: "user"}); err != nil {
			t.Fatal(err)
		}
		if store.read > c.most {
			t.Errorf("%s: %d rows were read, more than %d", c.name, store.read, c.most)
		}
		for name, status := range c.want {
			r.want(name, status)
		}
	}
	r.drain()
	for name, value := range map[string]string{"p": "2", "q": "3", "both": "2"} {
		if r.w.things[name] != value {
			t.Errorf("%s is %q, want %q", name, r.w.things[name], value)
		}
	}
}
