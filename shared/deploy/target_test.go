package deploy_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// target makes up what an export is about.
func (a author) target() state.Filter {
	terms := [][]string{{string(place(res(a.name())).ID)}, {"t::T[a,name=n[*"}, {"set=x"}, {"set="},
		{"type=t::T"}, {"agent=a", "set=y"},
		{"status=failed"}, {"t::T\\[a,name=n?*", "set=x"}, {"*n1*"}, {"agent=a"}}[a.IntN(10)]
	f, err := state.ParseFilter(terms)
	if err != nil {
		a.t.Fatal(err)
	}
	return f
}

// spread puts some resources of a model into sets.
func (a author) spread(m func() *model.Model) func() *model.Model {
	sets := make([]string, 8)
	for i := range sets {
		sets[i] = []string{"", "x", "y"}[a.IntN(3)]
	}
	return func() *model.Model {
		out := m()
		for i := range out.Resources {
			r := &out.Resources[i]
			r.Set = sets[nameOfID(r.ID)[1]-'0']
		}
		return out
	}
}

func nameOfID(id resource.ID) string {
	_, name, _ := strings.Cut(string(id), "name=")
	return strings.TrimSuffix(name, "]")
}

// rows returns all rows by id.
func (a author) rows() map[resource.ID]state.Row {
	list, err := a.home.ScanRows(a.t.Context(), "e", "", 1000)
	if err != nil {
		a.t.Fatal(err)
	}
	out := map[resource.ID]state.Row{}
	for i := range list {
		out[list[i].ID] = list[i]
	}
	return out
}

// TestTargetIsAllThatChanges exports by filters over random models, removals, drift, failures,
// values that become known, and versions that are not released. What is done is what the plan with
// the same filter says, and of everything else neither the intent nor the thing changes.
func TestTargetIsAllThatChanges(t *testing.T) {
	t.Parallel()
	done := 0
	for seed := range uint64(worlds()) {
		a := author{newRig(t), rand.New(rand.NewPCG(seed, 7)), true}
		for range 6 {
			done += a.targeted(fmt.Sprintf("seed %d", seed))
		}
	}
	if done < 2*worlds() {
		t.Errorf("only %d targeted exports were made", done)
	}
}

func (a author) targeted(name string) int {
	t, ctx := a.t, a.t.Context()
	if a.one(3) {
		a.w.fail[a.name()] = errors.New("it is broken")
	}
	a.export(deploy.Export{Model: a.spread(a.model())(), Check: a.one(2)})
	a.drain()
	clear(a.w.fail)
	if a.one(4) {
		a.export(deploy.Export{Model: a.spread(a.model())(), NoRelease: true})
	}
	for a.one(2) {
		p := state.Parameter{Name: fmt.Sprintf("p%d", a.IntN(2)),
			Value: fmt.Sprintf("v%d", a.IntN(3))}
		if err := a.e.SetParameters(ctx, "e", p); err != nil {
			t.Fatal(err)
		}
		a.drain()
	}
	a.drift()
	m, f := a.spread(a.model()), a.target()
	x := func() deploy.Export { return deploy.Export{Model: m(), Target: f, Check: true} }
	before, things, since := a.rows(), maps.Clone(a.w.things), a.last()
	read, err := a.e.Preview(ctx, "e", x(), deploy.CompareOptions{Read: true})
	out, again := a.e.Export(ctx, "e", x())
	if (err == nil) != (again == nil) {
		t.Fatalf("%s: the plan says %v, the export %v", name, err, again)
	}
	if err != nil {
		if !errors.As(err, new(diag.Problems)) && !fault.Is(err, fault.Invalid) {
			t.Fatalf("%s: %v", name, err)
		}
		if now := a.rows(); !sameKeys(before, now) {
			t.Errorf("%s: it is refused, and did something", name)
		}
		return 0
	}
	a.drain()
	about := map[resource.ID]bool{}
	for _, w := range read.Planned {
		about[w.ID] = true
	}
	did, want := a.did(since), acts(read)
	notified := consequences(a.rows(), about, did)
	maps.DeleteFunc(did, func(id resource.ID, _ string) bool {
		return !about[id] && (waited(before[id]) || notified[id])
	})
	for id := range reloads(read) { // what is told, and not a target, is not read before
		if want[id] == "update" && did[id] == "create" {
			did[id] = "update"
		}
	}
	if !maps.Equal(did, want) {
		t.Errorf("%s: it did %v; the plan was %v", name, did, want)
	}
	for id := range notified { // of these the intent alone stays as it is
		things[nameOfID(id)] = a.w.things[nameOfID(id)]
	}
	a.untouched(name, about, before, things)
	if out.Version == 0 {
		t.Errorf("%s: %+v", name, out)
	}
	return 1
}

// consequences returns what an export is not about and was run since it was notified of changes: what
// has drifted is corrected by that, and what had failed tried again.
func consequences(
	rows map[resource.ID]state.Row, about map[resource.ID]bool, did map[resource.ID]string,
) map[resource.ID]bool {
	out := map[resource.ID]bool{}
	for id := range rows {
		row := rows[id]
		res, err := resource.Decode(row.Body)
		if about[id] || err != nil {
			continue
		}
		for _, q := range res.Requires {
			if of := rows[q]; did[q] != "" && row.ReceivesEventsOf(&of) {
				out[id] = true
			}
		}
	}
	return out
}

// waited reports whether a resource was skipped or blocked because of another: when that recovers,
// it runs.
func waited(row state.Row) bool {
	return row.Status() == state.StatusSkipped || row.Status() == state.StatusBlocked
}

// untouched checks that nothing has changed of what an export was not about.
func (a author) untouched(name string, about map[resource.ID]bool, before map[resource.ID]state.Row,
	things map[string]string) {
	now := a.rows()
	for id, was := range before {
		row, there := now[id]
		switch {
		case about[id] || waited(was):
			continue
		case !there || row.Hash != was.Hash || row.Orphaned != was.Orphaned ||
			row.Removing != was.Removing:
			a.t.Errorf("%s: %s is not targeted, was %s and is %s", name, id, was.Body, row.Body)
		}
		if n := nameOfID(id); things[n] != a.w.things[n] {
			a.t.Errorf("%s: %s (%s) is not targeted, was %q and is %q", name, id, was.Status(),
				things[n], a.w.things[n])
		}
	}
	for id := range now {
		if _, had := before[id]; !had && !about[id] {
			a.t.Errorf("%s: %s is not targeted, and is new", name, id)
		}
	}
}

// TestTargetRefuses pins what a targeted export cannot do without touching anything else.
func TestTargetRefuses(t *testing.T) {
	t.Parallel()
	one, err := state.ParseFilter([]string{string(id("a"))})
	if err != nil {
		t.Fatal(err)
	}
	over := func(text string) *model.Model {
		m := modelOf(res("a"), res("b"))
		m.Agents = []resource.Agent{{Name: "a", Transport: "local",
			Options: map[string]any{"note": text}}}
		return m
	}
	for what, c := range map[string]struct {
		base, next *model.Model
		x          deploy.Export
		text       string
	}{
		"what leaves is still required": {modelOf(res("a"), res("b<a")), modelOf(res("b")),
			deploy.Export{},
			"t::T[a,name=b]: requires t::T[a,name=a], which leaves; resources that require it are not " +
				"targeted"},
		"it is left until later": {modelOf(res("a"), res("b<a")), modelOf(res("b")),
			deploy.Export{Defer: true}, ""},
		"another agent": {over("one"), over("two"), deploy.Export{},
			"not all that it has is targeted"},
		"part of the sets": {modelOf(res("a")), modelOf(res("a")),
			deploy.Export{Partial: true}, "does not go together"},
		"not released": {modelOf(res("a")), modelOf(res("a")),
			deploy.Export{NoRelease: true}, "does not go together"},
		"nothing matches": {modelOf(res("b")), modelOf(res("b")), deploy.Export{},
			"nothing matches"},
		"a cycle": {modelOf(res("a"), res("b<a")),
			modelOf(res("a<c"), res("c<b"), res("b")), deploy.Export{}, ""},
	} {
		r := newRig(t)
		r.export(deploy.Export{Model: c.base})
		r.drain()
		c.x.Model, c.x.Target = c.next, one
		_, err := r.e.Export(t.Context(), "e", c.x)
		if c.text == "" && err != nil ||
			c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestTargetTakesWhatItNeeds pins that what is required comes along, is not checked where it is
// deployed, and that everything else waits for an export that is about it.
func TestTargetTakesWhatItNeeds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.export(deploy.Export{Model: modelOf(res("a"), res("b<a"), res("c"), res("gone"))})
	r.drain()
	changed := func(text string) resource.Resource {
		out := res(text)
		out.Attributes["value"] = "new"
		return out
	}
	r.w.things["a"] = "drifted"
	f, err := state.ParseFilter([]string{string(id("b"))})
	if err != nil {
		t.Fatal(err)
	}
	r.took()
	next := func() *model.Model {
		return modelOf(res("a"), changed("n"), changed("b<a,n"),
			changed("c"))
	}
	r.export(deploy.Export{Model: next(), Target: f, Check: true})
	r.drain()
	r.same("done", r.took("create", "update", "delete"), "create n", "update b")
	r.want("gone", state.StatusDeployed)
	rest := deploy.Export{Model: next(), Check: true, CheckAgents: []string{"nobody"}}
	r.export(rest)
	r.drain()
	r.same("done by the rest", r.took("create", "update", "delete"), "update c")
	r.want("gone", state.StatusOrphaned)
	r.export(deploy.Export{Model: next(), Check: true})
	r.drain()
	r.same("done by a check of all", r.took("create", "update", "delete"), "update a")
}
