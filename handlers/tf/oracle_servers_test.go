//go:build servers

package tf

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
	"southbound/shared/tf/tftest"
)

// oracleRow is one case: an object is made by a configuration, the world changes, and the object
// gets another configuration. A name that is left out is that of the row.
type oracleRow struct {
	reason          string
	typ             string
	config, changed map[string]any
	gone            bool           // the second configuration has no object
	existing        map[string]any // the document of an object that is imported
	first           bool           // create_before_destroy
	world           func(document map[string]any)
	forget          bool // the world removes the document
	// state changes the state of the object, and returns the version of its schema.
	state  func(attributes map[string]any) int64
	faults [2]oracleFault // of the two rounds
	// want are the actions of the second round, and the paths that replace the object.
	want string
}

// oracleCase is a row in progress.
type oracleCase struct {
	oracleRow
	t        *testing.T
	name     string
	address  string // in OpenTofu
	world    *stocked
	imported map[bool]string // the ids of the existing object; true: there
}

// rounds of a row: made, changed, and unchanged since.
const (
	roundMade = iota
	roundChanged
	roundSettled
)

// oracle is a group of rows, whose objects are in one working directory of OpenTofu.
type oracle struct {
	*testing.T
	theirs *tofu
	stores map[string]*pickyStore // of our side
	cases  []*oracleCase
}

// TestOracle compares the bridge with OpenTofu, the same provider on both sides: the actions, the paths
// that replace an object, the document in the store and the state afterwards are equal.
func TestOracle(t *testing.T) {
	t.Parallel()
	programs := map[string]string{"fw": tftest.Framework(t), "sdk": tftest.SDK(t)}
	o := newOracle(t, programs, slices.Concat(oracleRows(), oracleNested(), oracleFaults()))
	for round := range roundSettled + 1 {
		o.round(round)
	}
}

func newOracle(t *testing.T, programs map[string]string, rows []oracleRow) *oracle {
	t.Helper()
	o := &oracle{T: t, theirs: newTofu(t, programs)}
	var urls map[string]string
	o.stores, urls = newStores(t, slices.Sorted(maps.Keys(programs))...)
	worlds := map[string]*stocked{}
	for local, program := range programs {
		worlds[local] = newWorld(t, local, program, map[string]any{"url": urls[local]})
	}
	for i, row := range rows {
		c := &oracleCase{oracleRow: row, t: t, name: fmt.Sprintf("r%d", i), imported: map[bool]string{}}
		c.address = c.typ + "." + c.name
		w := *worlds[c.local()].world
		w.host = providertest.NewHost(w.agent)
		c.world = &stocked{&w, nil}
		o.cases = append(o.cases, c)
		if c.existing != nil {
			c.imported[true] = newDocument(t, o.theirs.urls[c.local()], c.named(c.existing))
			c.imported[false] = newDocument(t, urls[c.local()], c.named(c.existing))
		}
	}
	return o
}

// newDocument makes a document, and returns its id.
func newDocument(t *testing.T, url string, document map[string]any) string {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.Post(url+"/things", "application/json", strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	var made struct{ ID string }
	if err := json.NewDecoder(a.Body).Decode(&made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func (c *oracleCase) local() string {
	local, _, _ := strings.Cut(c.typ, "_")
	return local
}

// named returns attributes with the name of the row, unless they have a name.
func (c *oracleCase) named(attributes map[string]any) map[string]any {
	out := maps.Clone(attributes)
	if out == nil {
		out = map[string]any{}
	}
	if out["name"] == nil {
		out["name"] = c.name
	}
	return out
}

// in returns the configuration in a round, nil for none.
func (c *oracleCase) in(round int) map[string]any {
	switch {
	case round == roundMade:
		return c.named(c.config)
	case c.gone:
		return nil
	case c.changed == nil:
		return c.named(c.config)
	}
	return c.named(c.changed)
}

// round makes a round on both sides, and compares their results.
func (o *oracle) round(round int) {
	o.Helper()
	for _, c := range o.cases {
		for _, stores := range []map[string]*pickyStore{o.theirs.stores, o.stores} {
			s := stores[c.local()]
			if s.faults == nil {
				s.faults = map[string]oracleFault{}
			}
			delete(s.faults, c.name)
			if round < roundSettled && c.faults[round].request != "" {
				s.faults[c.name] = c.faults[round]
			}
		}
	}
	if round == roundChanged {
		o.change()
	}
	plans := o.theirs.plan(o.configuration(round))
	if round < roundSettled {
		o.theirs.apply()
	}
	states := o.theirs.state(nil)
	for _, c := range o.cases {
		c.compare(round, plans[c.address])
		if round < roundSettled {
			c.result(o, round, states)
		}
	}
	for local, s := range o.stores {
		if theirs := o.theirs.stores[local].IDs(); len(theirs) != len(s.IDs()) {
			o.Errorf("round %d: the store of %s has %d documents with OpenTofu, and %d here", round, local,
				len(theirs), len(s.IDs()))
		}
	}
}

// configuration returns the configuration of all rows for OpenTofu.
func (o *oracle) configuration(round int) map[string]any {
	sources, providers, resources, imports := map[string]any{}, map[string]any{}, map[string]any{}, []any{}
	for local, url := range o.theirs.urls {
		sources[local] = map[string]any{"source": "example.com/a/" + local}
		providers[local] = map[string]any{"url": url}
	}
	for _, c := range o.cases {
		config := c.in(round)
		if config == nil {
			continue
		}
		if c.first {
			config["lifecycle"] = map[string]any{"create_before_destroy": true}
		}
		if resources[c.typ] == nil {
			resources[c.typ] = map[string]any{}
		}
		resources[c.typ].(map[string]any)[c.name] = config
		if id := c.imported[true]; id != "" {
			imports = append(imports, map[string]any{"to": c.address, "id": id})
		}
	}
	out := map[string]any{"terraform": map[string]any{"required_providers": sources}, "provider": providers,
		"resource": resources}
	if len(imports) > 0 {
		out["import"] = imports
	}
	return out
}

// change changes the world and the states of both sides.
func (o *oracle) change() {
	states := o.theirs.state(func(address string, object map[string]any) {
		for _, c := range o.cases {
			if attributes, has := object["attributes"].(map[string]any); has && c.address == address && c.state != nil {
				object["schema_version"] = c.state(attributes)
			}
		}
	})
	for _, c := range o.cases {
		ours := c.object()
		id, _ := states[c.address].Attributes["id"].(string)
		for _, x := range []struct {
			s  *pickyStore
			id string
		}{{o.theirs.stores[c.local()], id}, {o.stores[c.local()], c.id(ours)}} {
			if c.forget {
				x.s.Forget(x.id)
			}
			if c.oracleRow.world != nil && !x.s.Change(x.id, c.oracleRow.world) {
				o.Errorf("%s: there is no document %q to change", c.reason, x.id)
			}
		}
		if c.state != nil {
			c.world.change(func(r *record) {
				var attributes map[string]any
				err := json.Unmarshal(r.State, &attributes)
				if err == nil {
					r.Version = c.state(attributes)
					r.State, err = json.Marshal(attributes)
				}
				if err != nil {
					o.Error(err)
				}
			})
		}
	}
}

// object returns our kept object, nil for none.
func (c *oracleCase) object() *record { return c.world.kept().Current }

func (c *oracleCase) id(r *record) string {
	var state struct{ ID string }
	if r != nil {
		if err := json.Unmarshal(r.State, &state); err != nil {
			c.t.Error(err)
		}
	}
	return state.ID
}

// attributes returns the attributes of a resource in a round.
func (c *oracleCase) attributes(round int) map[string]any {
	out := c.in(round)
	if out == nil {
		out = c.in(roundMade)
	}
	out[attrLabel] = "box"
	if c.first {
		out[schema.CreateBeforeDestroy] = true
	}
	if id := c.imported[false]; id != "" {
		out[attrImport] = id
	}
	return out
}

// planned returns our plan, as that of OpenTofu.
func (c *oracleCase) planned(round int) (tofuPlan, error) {
	h := c.world.handler(c.typ).(*handler)
	ctx, r := c.world.context(c.attributes(round), true)
	seen, err := h.Read(ctx, provider.ReadRequest{Resource: r})
	switch {
	case err != nil:
		return tofuPlan{}, err
	case c.in(round) == nil && seen.Exists:
		return tofuPlan{actions: "delete"}, nil
	case c.in(round) == nil:
		return tofuPlan{}, nil
	case !seen.Exists:
		s, err := h.bridge.open(ctx, &h.meta, r)
		if err == nil {
			_, err = s.planCreate(nil, r)
			s.close()
		}
		return tofuPlan{actions: "create"}, err
	}
	diffs, err := h.Diff(ctx, r, seen)
	if err != nil || len(diffs) == 0 {
		return tofuPlan{actions: "no-op"}, err
	}
	if _, replaces := named(diffs); !replaces {
		return tofuPlan{actions: "update"}, nil
	}
	s, err := h.bridge.open(ctx, &h.meta, r)
	if err != nil {
		return tofuPlan{}, err
	}
	defer s.close()
	config, err := s.config(r)
	if err != nil {
		return tofuPlan{}, err
	}
	p, err := s.checked(carriedBy(seen.Carried).now, config)
	if err != nil {
		return tofuPlan{}, err
	}
	var paths []string
	for _, path := range s.ty.Replacements(p.requires, p.prior, p.planned) {
		paths = append(paths, s.meta.place(path))
	}
	out := tofuPlan{actions: "delete create", replace: joined(paths)}
	if c.first {
		out.actions = "create delete"
	}
	return out, nil
}

// compare compares the plans of a round.
func (c *oracleCase) compare(round int, theirs tofuPlan) {
	c.t.Helper()
	ours, err := c.planned(round)
	if err != nil || ours != theirs {
		c.t.Errorf("%s: round %d: OpenTofu plans %+v, here %+v, %v", c.reason, round, theirs, ours, err)
	}
	if want := strings.TrimSpace(theirs.actions + " " + theirs.replace); round == roundChanged && want != c.want {
		c.t.Errorf("%s: OpenTofu plans %q, and the row expects %q", c.reason, want, c.want)
	}
}

// result executes our plan, and compares what is there afterwards.
func (c *oracleCase) result(o *oracle, round int, states map[string]tofuObject) {
	c.t.Helper()
	var err error
	if c.in(round) == nil {
		err = c.world.purge(c.typ, c.attributes(round))
		if c.forget && err == nil { // the engine removes the state of an object that is gone
			ctx, _ := c.world.context(nil, false)
			err = ctx.Keep(nil)
		}
	} else {
		_, err = c.world.apply(c.typ, c.attributes(round))
	}
	if fails := c.faults[round].request != ""; (err != nil) != fails {
		c.t.Errorf("%s: round %d: %v", c.reason, round, err)
	}
	k := c.world.kept()
	theirs, exists := states[c.address]
	type side struct {
		Tainted, Deposed bool
		Version          int64
		State, Document  any
	}
	_, deposed := states[c.address+" deposed"]
	want, got := side{Tainted: theirs.Status == "tainted", Deposed: deposed, Version: theirs.Version},
		side{Deposed: len(k.Deposed) > 0}
	if exists {
		id, _ := theirs.Attributes["id"].(string)
		want.State = masked(c.t, theirs.Attributes)
		want.Document = document(c.t, o.theirs.stores[c.local()], id)
	}
	if r := k.Current; r != nil {
		got.Tainted, got.Version, got.State = r.Tainted, r.Version, masked(c.t, r.State)
		got.Document = document(c.t, o.stores[c.local()], c.id(r))
	}
	if d := cmp.Diff(want, got); d != "" {
		c.t.Errorf("%s: round %d: with OpenTofu (-) and here (+):\n%s", c.reason, round, d)
	}
}

// document returns a document without its id, nil for none.
func document(t *testing.T, s *pickyStore, id string) (out any) {
	t.Helper()
	s.Change(id, func(d map[string]any) { out = masked(t, d) })
	return out
}
