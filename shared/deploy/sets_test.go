package deploy_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

var setsSeeds = flag.Int("sets-seeds", 10, "how many homes TestManySetsAsWhole exports to")

// readFiles counts the files that are read.
type readFiles struct {
	state.Files
	read atomic.Int64
}

// Get implements state.Files.
func (f *readFiles) Get(ctx context.Context, hashes []string) ([][]byte, error) {
	f.read.Add(int64(len(hashes)))
	return f.Files.Get(ctx, hashes)
}

// setsRig is a rig with types that are related, whose versions have several chunks.
type setsRig struct {
	*rig
	files   *readFiles
	secrets state.Secrets
	pack    string // of the program
	chunk   int    // how many resources a chunk has
}

func newSetsRig(t *testing.T) *setsRig {
	t.Helper()
	r := &setsRig{rig: newRig(t), pack: "test", chunk: 4}
	attrs := []schema.Attribute{
		{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
		{Name: "value", Type: "String", Default: "v"}, {Name: "in", Type: "Optional[String]"},
		{Name: "tells", Type: "Optional[String]"}, {Name: "note", Type: "Optional[String]"},
	}
	r.types = must(schema.NewRegistry(schema.Type{
		Name: "t::T", Attributes: attrs, Space: "things",
		Thing: func(a map[string]any) schema.Thing {
			s, _ := a["value"].(string)
			return schema.NewThing(s)
		},
		Relations: []schema.Relation{
			{Kind: schema.Require, Type: "t::T", Keys: map[string]string{"name": "$in"}},
			{Kind: schema.Notify, Type: "t::T", Keys: map[string]string{"name": "$tells"}},
		},
	}))(t)
	r.files, r.secrets = &readFiles{Files: r.home.Files()}, r.home.Secrets()
	r.fresh()
	return r
}

func must[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// fresh gives the rig an engine that remembers nothing.
func (r *setsRig) fresh() {
	r.e = deploy.New(deploy.Config{
		State: r.home, Files: r.files, Notifier: r.home.Notifier, Clock: r.clock,
		Caller: local.Caller{}, Secrets: r.secrets,
		Connector: &transport.Connector{Local: true}, Types: r.types,
		Handlers: map[string]provider.Handler{"t::T": factual{handler{r.w}}}, Pack: r.pack,
		Holder: r.home.Holder(), NewID: r.home.NewID, Jitter: func() float64 { return 0.5 },
		Sizes: deploy.Sizes{Chunk: r.chunk},
	})
}

// setModel makes up what a partial export has of a set, of which some is as it ever is; each call of
// its result gives a copy. Where odd, it has much that concerns other sets. The file secret has a
// secret.
func setModel(rng *rand.Rand, set string, odd bool, secret string) func() *model.Model {
	one := func(of int) bool { return rng.IntN(of) == 0 }
	other := func() string { return fmt.Sprintf("s%d.%d", rng.IntN(6), rng.IntN(3)) }
	var rs []resource.Resource
	files := map[string]state.Blob{}
	reference := func() any {
		switch rng.IntN(3) {
		case 0:
			return resource.Secret{Source: "file:" + secret}
		case 1:
			return resource.Fact{Name: "address", Of: id(other())}
		}
		return resource.Parameter{Name: fmt.Sprint("p", rng.IntN(3))}
	}
	gone := one(4) // as resources of an instance that is deleted are
	add := func(name, set string) {
		r := res(name)
		r.Set, r.Attributes["value"] = set, "thing of "+name
		switch {
		case odd && one(8):
			r.Attributes["value"] = "thing of " + other()
		case odd && one(15):
			r.Attributes["value"] = resource.Parameter{Name: "p"}
		case one(4):
			blob := version.FileOf([]byte{byte(rng.IntN(3))})
			files[blob.Hash] = blob
			r.Attributes["value"] = resource.File{Hash: blob.Hash, Size: blob.Size}
		case one(3):
			r.Attributes["value"] = fmt.Sprint("thing ", rng.IntN(3), " of ", name)
		}
		if odd && one(4) || one(10) {
			r.Attributes["in"] = other()
		} else if one(3) {
			r.Attributes["in"] = set + ".0"
		}
		if odd && one(8) {
			r.Attributes["tells"] = other()
		} else if one(6) {
			r.Attributes["tells"] = set + ".1"
		}
		if odd && one(4) {
			r.Requires = append(r.Requires, id(other()))
		}
		if one(5) {
			r.Requires = append(r.Requires, id("top"))
		}
		if one(3) {
			r.Attributes["note"] = reference()
		}
		r.PurgeOnDelete, r.Purged, r.SendEvent = odd && one(4), gone || odd && one(8), one(6)
		rs = append(rs, r)
	}
	for i := range 1 + rng.IntN(3) {
		name := fmt.Sprintf("%s.%d", set, i)
		if odd && one(12) {
			name = other()
		}
		add(name, set)
	}
	if !one(3) {
		r := res("top")
		r.Attributes["value"] = "top"
		if one(3) { // it stays as it is
			r.Attributes["note"] = reference()
		}
		rs = append(rs, r)
	}
	return func() *model.Model {
		out := slices.Clone(rs)
		for i := range out {
			out[i].Attributes = maps.Clone(out[i].Attributes)
			out[i].Requires = slices.Clone(out[i].Requires)
		}
		m := modelOf(out...)
		m.Files = maps.Clone(files)
		return m
	}
}

// chunks returns how many chunks the last version has.
func (r *setsRig) chunks() int64 {
	r.t.Helper()
	env := must(r.home.Env(r.t.Context(), "e"))(r.t)
	if vs := must(r.home.Versions(r.t.Context(), "e", env.Last))(r.t); len(vs) > 0 {
		return int64(len(vs[0].Chunks))
	}
	return 0
}

// stored returns all that an export leaves.
func (r *setsRig) stored() string {
	r.t.Helper()
	env, err := r.home.Env(r.t.Context(), "e")
	if err != nil {
		r.t.Fatal(err)
	}
	vs, err := r.home.Versions(r.t.Context(), "e", env.Last)
	if err != nil {
		r.t.Fatal(err)
	}
	rows, err := r.home.ScanRows(r.t.Context(), "e", "", 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	g, err := version.NewGraphs(r.home.Files()).Get(r.t.Context(), env.Graph)
	if err != nil {
		r.t.Fatal(err)
	}
	out := fmt.Sprintf("%d %d\n", env.Last, env.Released)
	for n, id := range g.IDs {
		out += fmt.Sprint(id, g.Agent(int32(n)), g.Removing[n]) // small
		for _, q := range g.Requires(int32(n)) {                // small
			out += " " + string(g.IDs[q])
		}
		out += "\n"
	}
	for i := range vs {
		v := &vs[i]
		out += fmt.Sprintln(v.Number, v.Resources, v.Digest, v.Chunks, v.Sets, v.Base, v.Files,
			v.Agents)
	}
	for i := range rows {
		row := &rows[i]
		out += fmt.Sprintln(row.ID, row.Hash, string(row.Body), row.Agent, row.Status(), row.Version,
			row.Ticket() != 0, row.Removing, row.PossiblyChanged)
	}
	return out
}

// setsExport makes up a partial export that adds, replaces or deletes sets. One of some has what
// concerns other sets.
func setsExport(rng *rand.Rand, oddOf int, secret string) func() deploy.Export {
	set := func() string { return fmt.Sprintf("s%d", rng.IntN(6)) }
	x := deploy.Export{Partial: true, KeepShared: rng.IntN(3) == 0}
	m := setModel(rng, set(), rng.IntN(oddOf) == 0, secret)
	switch rng.IntN(8) {
	case 0, 1:
		m = func() *model.Model { return modelOf() }
		fallthrough
	case 2:
		x.DeleteSets = []string{set()}
	}
	return func() deploy.Export {
		x := x
		x.Model = m()
		return x
	}
}

// moves changes now and then what references come to.
func moves(rng *rand.Rand, secret string, rigs ...*setsRig) {
	t := rigs[0].t
	t.Helper()
	n, value := rng.IntN(4), fmt.Sprint("value ", rng.IntN(3))
	if _, err := os.Stat(secret); n == 0 || err != nil {
		if err := os.WriteFile(secret, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	name := fmt.Sprint("p", rng.IntN(3))
	for _, r := range rigs {
		var err error
		switch n {
		case 1:
			err = r.e.SetParameters(t.Context(), "e", state.Parameter{Name: name, Value: value})
		case 2:
			err = r.e.DeleteParameters(t.Context(), "e", state.ParameterKey{Name: name})
		}
		if err != nil && !fault.Is(err, fault.NotFound) {
			t.Fatal(err)
		}
	}
}

// TestManySetsAsWhole makes partial exports by an engine that knows what is in the version before,
// by engines that have just begun, which know what is stored with it, and by programs each of which
// is another one, and has to read it. It wants the same to come of all, and most to be done without
// reading the whole.
func TestManySetsAsWhole(t *testing.T) {
	t.Parallel()
	var few, all atomic.Int64
	t.Cleanup(func() {
		t.Logf("%d of %d exports have read the whole version", all.Load()-few.Load(), all.Load())
		if few.Load() < all.Load()/3 {
			t.Error("these are too many")
		}
	})
	seeds := *setsSeeds
	if testing.Short() {
		seeds = min(seeds, 2)
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 1))
			knows, begins, reads := newSetsRig(t), newSetsRig(t), newSetsRig(t)
			secret := filepath.Join(t.TempDir(), "secret")
			for _, r := range []*setsRig{knows, begins, reads} {
				r.chunk, r.secrets = 1+int(seed)%4, knows.secrets
			}
			knows.fresh()
			for step := range 30 {
				model := setsExport(rng, 3+20*(int(seed)%2), secret)
				moves(rng, secret, knows, begins, reads)
				var chunks, read int64
				export := func(r *setsRig) string {
					checked := fmt.Sprint(r.e.Check(t.Context(), "e", model()))
					chunks, read = r.chunks(), -r.files.read.Load()
					out, err := r.e.Export(t.Context(), "e", model())
					read += r.files.read.Load()
					if got := fmt.Sprint(err); got != checked {
						t.Errorf("step %d: the export says %s, and the check %s", step, got,
							checked)
					}
					return fmt.Sprintf("%+v %v\n%s", out, err, r.stored())
				}
				reads.pack = fmt.Sprint("program ", step)
				reads.fresh()
				begins.fresh()
				want := export(reads)
				if diff := cmp.Diff(want, export(knows)); diff != "" {
					t.Fatalf("step %d: as a whole (-), and by what changes (+): %s", step, diff)
				}
				if all.Add(1); read < chunks {
					few.Add(1)
				}
				if diff := cmp.Diff(want, export(begins)); diff != "" {
					t.Fatalf("step %d: as a whole (-), and by what is stored (+): %s", step, diff)
				}
				if rng.IntN(3) == 0 {
					knows.drain()
					begins.drain()
					reads.drain()
				}
			}
		})
	}
}

// TestAddedByOtherTypes pins that what is known of a version is not used where types relate its
// resources otherwise, though the program is the same one.
func TestAddedByOtherTypes(t *testing.T) {
	t.Parallel()
	r := newSetsRig(t)
	export := func(set, in string) {
		t.Helper()
		one := res(set + ".0")
		one.Set, one.Attributes["value"], one.Attributes["in"] = set, "thing of "+set, in
		x := deploy.Export{Partial: true, Model: modelOf(one)}
		if _, err := r.e.Export(t.Context(), "e", x); err != nil {
			t.Fatal(err)
		}
	}
	relatedBy := func(attribute string) {
		t.Helper()
		r.types = must(schema.NewRegistry(schema.Type{Name: "t::T",
			Attributes: []schema.Attribute{
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
				{Name: "value", Type: "String"}, {Name: "in", Type: "String"},
			},
			Relations: []schema.Relation{{Kind: schema.Require, Type: "t::T",
				Keys: map[string]string{"name": "$" + attribute}}},
		}))(t)
		r.fresh()
	}
	relatedBy("value")
	export("s1", "s2.0")
	relatedBy("in")
	export("s2", "s0.0")
	env := must(r.home.Env(t.Context(), "e"))(t)
	g := must(version.NewGraphs(r.home.Files()).Get(t.Context(), env.Graph))(t)
	if !g.DirectlyRequires(id("s1.0"), id("s2.0")) {
		t.Error("s1.0 does not require s2.0, as its type has it")
	}
}

// TestAddedReadsLittle pins that what is added to a large version costs little: one chunk is read
// of many, and the graph is not stored anew. A process that has just begun reads the graph and what
// is known of the version besides, which outlive a collection, or the whole once, if that is lost.
func TestAddedReadsLittle(t *testing.T) {
	t.Parallel()
	r := newSetsRig(t)
	export := func(set string, n int) {
		t.Helper()
		var rs []resource.Resource
		for i := range n {
			one := res(fmt.Sprintf("%s.%d", set, i))
			one.Set, one.Attributes["value"] = set, fmt.Sprintf("%s.%d", set, i)
			rs = append(rs, one)
		}
		x := deploy.Export{Partial: true, Model: modelOf(rs...)}
		if _, err := r.e.Export(t.Context(), "e", x); err != nil {
			t.Fatal(err)
		}
	}
	export("many", 300)
	before := r.files.read.Load()
	export("one", 1)
	if n := r.files.read.Load() - before; n > 1 {
		t.Errorf("%d files are read to add a resource", n)
	}
	env, err := r.home.Env(t.Context(), "e")
	if err != nil || len(version.GraphFiles(env.Graph)) != 2 {
		t.Errorf("the graph is stored as %q: %v", env.Graph, err)
	}
	r.clock.advance(50 * 365 * 24 * time.Hour) // past when the files were stored, by any clock
	if _, err := r.e.Collect(t.Context(), "e", time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	begun := func(set string) int64 {
		r.fresh()
		before := r.files.read.Load()
		export(set, 1)
		return r.files.read.Load() - before
	}
	if n := begun("two"); n > 4 {
		t.Errorf("%d files are read to add a resource in a process that has just begun", n)
	}
	vs, err := r.home.Versions(t.Context(), "e", 3)
	if err != nil || len(vs) != 1 || vs[0].Contents == nil || vs[0].Contents.Base == "" {
		t.Fatalf("what is known of versions is not stored: %+v, %v", vs, err)
	}
	if err := r.files.Delete(t.Context(), []string{vs[0].Contents.Base}); err != nil {
		t.Fatal(err)
	}
	begun("three")
	if n := begun("four"); n > 4 {
		t.Errorf("%d files are read after what was lost is stored anew", n)
	}
	r.drain()
	for _, set := range []string{"two", "three", "four"} {
		r.want(set+".0", state.StatusDeployed)
	}
}

// TestKeepShared holds that a partial export which keeps what is shared does not change it,
// whatever its model has of it, and brings it where it is not there (any more).
func TestKeepShared(t *testing.T) {
	t.Parallel()
	r := newSetsRig(t)
	export := func(x deploy.Export) {
		t.Helper()
		if _, err := r.e.Export(t.Context(), "e", x); err != nil {
			t.Fatal(err)
		}
	}
	shared := func(value string) resource.Resource {
		out := res("top")
		out.Attributes["value"] = value
		return out
	}
	one := func() resource.Resource {
		out := res("one<top")
		out.Set, out.Purged = "one", true
		return out
	}
	value := func(want string) {
		t.Helper()
		rows, err := r.home.Rows(t.Context(), "e", []resource.ID{id("top")})
		if err != nil || len(rows) != 1 || rows[0].Orphaned {
			t.Fatalf("what is shared is not wanted: %+v, %v", rows, err)
		}
		is, err := resource.Decode(rows[0].Body)
		if err != nil || is.Attributes["value"] != want {
			t.Errorf("what is shared has the value %v, not %s: %v", is.Attributes["value"], want,
				err)
		}
	}
	export(deploy.Export{Model: modelOf(shared("old"))})
	export(deploy.Export{Partial: true, KeepShared: true, Model: modelOf(shared("new"), one())})
	value("old")
	export(deploy.Export{Model: modelOf()})
	export(deploy.Export{Partial: true, KeepShared: true, Model: modelOf(shared("new"), one())})
	value("new")
}

// TestChangesReadLittle pins that to replace and to remove a set of a large version costs what
// the set does: the chunks of its resources are read, and those of what it requires, and a graph is
// stored as an edit, if its edges are others at all.
func TestChangesReadLittle(t *testing.T) {
	t.Parallel()
	r := newSetsRig(t)
	export := func(x deploy.Export, set string, n int, change func(r *resource.Resource)) int64 {
		t.Helper()
		x.Partial, x.Model = true, modelOf()
		for i := range n {
			one := res(fmt.Sprintf("%s.%d<top", set, i))
			one.Set, one.Attributes["value"] = set, fmt.Sprintf("%s.%d", set, i)
			change(&one)
			x.Model.Resources = append(x.Model.Resources, one)
		}
		if len(x.DeleteSets) == 0 {
			top := res("top")
			top.Attributes["value"] = "top"
			x.Model.Resources = append(x.Model.Resources, top)
		}
		before := r.files.read.Load()
		if _, err := r.e.Export(t.Context(), "e", x); err != nil {
			t.Fatal(err)
		}
		return r.files.read.Load() - before
	}
	as := func(*resource.Resource) {}
	export(deploy.Export{}, "many", 300, as)
	export(deploy.Export{}, "one", 2, as)
	r.drain()
	graph := must(r.home.Env(t.Context(), "e"))(t).Graph
	steps := []struct {
		what   string
		x      deploy.Export
		n      int
		change func(r *resource.Resource)
	}{
		{"other attributes", deploy.Export{}, 2, func(r *resource.Resource) {
			r.Attributes["value"] = r.Attributes["value"].(string) + ", changed"
		}},
		{"one more", deploy.Export{}, 3, as},
		{"one less", deploy.Export{}, 2, as},
		{"purged", deploy.Export{KeepShared: true}, 2, func(r *resource.Resource) { r.Purged = true }},
		{"removed", deploy.Export{DeleteSets: []string{"one"}}, 0, as},
	}
	for i, step := range steps {
		if n := export(step.x, "one", step.n, step.change); n > 6 {
			t.Errorf("%s: %d files are read", step.what, n)
		}
		env := must(r.home.Env(t.Context(), "e"))(t)
		if i == 0 && env.Graph != graph {
			t.Errorf("%s: the graph is another one", step.what)
		}
		if n := len(version.GraphFiles(env.Graph)); n != 2 {
			t.Errorf("%s: the graph is stored in %d files", step.what, n)
		}
		r.drain()
	}
	vs := must(r.home.Versions(t.Context(), "e", 7))(t)
	if len(vs) != 1 || !slices.Equal(vs[0].Sets, []string{"many"}) || vs[0].Resources != 301 {
		t.Errorf("what is left: %+v", vs)
	}
}

// TestAddedToMany pins that what is added to a very large version costs little, too.
func TestAddedToMany(t *testing.T) {
	t.Parallel()
	r := newSetsRig(t)
	r.chunk = 1000
	r.fresh()
	export := func(set string, n int) {
		t.Helper()
		x := deploy.Export{Partial: true, Model: modelOf()}
		for i := range n {
			one := res(fmt.Sprintf("%s.%d", set, i))
			one.Set, one.Attributes["value"] = set, fmt.Sprintf("%s.%d", set, i)
			x.Model.Resources = append(x.Model.Resources, one)
		}
		if _, err := r.e.Export(t.Context(), "e", x); err != nil {
			t.Fatal(err)
		}
	}
	veryMany := 60_000
	if testing.Short() {
		veryMany = 3000
	}
	export("many", veryMany)
	before := r.files.read.Load()
	export("one", 1)
	if n := r.files.read.Load() - before; n > 1 {
		t.Errorf("%d files are read to add a resource", n)
	}
}
