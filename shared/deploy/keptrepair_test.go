package deploy_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// TestImportKept pins that an imported state reaches the next run, that its outputs are followed, and
// that a removed one is gone.
func TestImportKept(t *testing.T) {
	t.Parallel()
	r, h := outputRig(t)
	role, app := id("role"), using(t, "b", "app", outputOf("role", "password"))
	apply := func(value, password string) {
		*h.password = password
		r.export(deploy.Export{Model: modelOf(using(t, "a", "role", value), app)})
		r.drain()
	}
	imported := func(k state.Kept) state.Kept {
		t.Helper()
		stored, verified, err := r.e.ImportKept(t.Context(), "e", role, k.Sealed, k.Outputs)
		if err != nil || !verified || !bytes.Equal(stored.Sealed, k.Sealed) {
			t.Fatalf("verified %t, %v", verified, err)
		}
		r.drain()
		return stored
	}
	apply("one", "first-marker")
	first := must(r.e.Kept(t.Context(), "e", role))(t)
	apply("two", "second-marker")
	if got := r.w.things["app"]; got != "second-marker" {
		t.Fatalf("the application has %q", got)
	}
	again := imported(first)
	if got := r.w.things["app"]; got != "first-marker" || again.Revision == first.Revision ||
		again.Outputs != again.Revision {
		t.Errorf("after the import the application has %q, and the state is %+v", got, again)
	}
	if now := imported(again); now.Outputs != again.Outputs || now.Revision == again.Revision {
		t.Errorf("present outputs got the revision %s: %+v", again.Outputs, now)
	}
	if err := r.e.ForgetKept(t.Context(), "e", role); err != nil {
		t.Fatal(err)
	}
	if left := r.keptOf(role); len(left) != 0 {
		t.Errorf("left %v", left)
	}
	if _, err := r.e.Kept(t.Context(), "e", role); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
	if err := r.e.ForgetKept(t.Context(), "e", role); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}

// TestImportKeptRefused pins which states are refused, and that none is replaced then.
func TestImportKeptRefused(t *testing.T) {
	t.Parallel()
	r, m := keptRig(t)
	one := labelled("a", "one", "x")
	r.export(deploy.Export{Model: modelOf(one)})
	r.drain()
	before := must(r.e.Kept(t.Context(), "e", one.ID))(t)
	other, err := r.e.Sealer.Seal(t.Context(), "e", "t::T[a,name=two]", []byte{0})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		reason string
		id     resource.ID
		sealed []byte
		want   fault.Kind
	}{
		{"a resource that is not known", "t::T[a,name=gone]", before.Sealed, fault.NotFound},
		{"a state of another resource", one.ID, other, fault.Invalid},
		{"a changed state", one.ID, append(slices.Clone(before.Sealed), 0), fault.Invalid},
		{"a large state", one.ID, make([]byte, state.MaxSealed+1), fault.Invalid},
	} {
		if _, _, err := r.e.ImportKept(t.Context(), "e", c.id, c.sealed, ""); !fault.Is(err, c.want) {
			t.Errorf("%s: %v", c.reason, err)
		}
	}
	if now := must(r.e.Kept(t.Context(), "e", one.ID))(t); now.Revision != before.Revision {
		t.Error("a refused state was stored")
	}
	if got := r.check(m); got != "s3cret number 1" {
		t.Errorf("the next run got %q", got)
	}
}

// TestKeptOfABusyLane pins that a state is not replaced while a worker has the lane, and that the run
// of a worker that has ended stays known.
func TestKeptOfABusyLane(t *testing.T) {
	t.Parallel()
	r, _ := keptRig(t)
	one := labelled("a", "one", "x")
	r.export(deploy.Export{Model: modelOf(one)})
	r.drain()
	now := r.clock.Now()
	lease, err := r.home.Acquire(t.Context(), "e", "a", r.home.Holder()+"#worker", now,
		now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	row := must(r.e.Row(t.Context(), "e", one.ID))(t)
	if _, err := r.home.Commit(t.Context(), "e", state.Commit{
		Guard: state.Guard{Key: lease.Key, Fence: lease.Fence}, Next: []resource.ID{one.ID},
		SeenPlan: must(r.home.Env(t.Context(), "e"))(t).PlanSeq}); err != nil {
		t.Fatal(err)
	}
	if err := r.e.ForgetKept(t.Context(), "e", one.ID); !fault.Is(err, fault.Busy) {
		t.Errorf("while a worker has the lane: %v", err)
	}
	if left := r.keptOf(one.ID); len(left) != 1 || row.PossiblyChanged {
		t.Fatalf("left %v, possibly changed: %t", left, row.PossiblyChanged)
	}
	r.clock.advance(2 * time.Hour)
	if err := r.e.ForgetKept(t.Context(), "e", one.ID); err != nil {
		t.Error(err)
	}
	row = must(r.e.Row(t.Context(), "e", one.ID))(t)
	if left := r.keptOf(one.ID); len(left) != 0 || !row.PossiblyChanged {
		t.Errorf("left %v, possibly changed: %t", left, row.PossiblyChanged)
	}
}

// opening calls meanwhile when a state is opened, which an import does before it has the lane.
type opening struct {
	state.Sealer
	meanwhile func()
}

// Open implements state.Sealer.
func (o opening) Open(
	ctx context.Context, env string, id resource.ID, sealed []byte,
) ([]byte, error) {
	o.meanwhile()
	return o.Sealer.Open(ctx, env, id, sealed)
}

// TestImportKeptOfAPurgedResource pins that no state is stored for a resource that a run purges while
// an import waits for the lane.
func TestImportKeptOfAPurgedResource(t *testing.T) {
	t.Parallel()
	r, _ := keptRig(t)
	one := labelled("a", "one", "x")
	one.PurgeOnDelete = true
	r.export(deploy.Export{Model: modelOf(one, labelled("a", "other", "y"))})
	r.drain()
	before := must(r.e.Kept(t.Context(), "e", one.ID))(t)
	config := r.e.Config
	config.Sealer = opening{r.e.Sealer, func() {
		r.export(deploy.Export{Model: modelOf(labelled("a", "other", "y"))})
		r.drain()
	}}
	_, _, err := deploy.New(config).ImportKept(t.Context(), "e", one.ID, before.Sealed, "")
	if left := r.keptOf(one.ID); !fault.Is(err, fault.NotFound) || len(left) != 0 {
		t.Errorf("%v; left %v", err, left)
	}
}

// preceded calls a function before the first lease of a key is taken.
type preceded struct {
	state.State
	key string
	by  func()
}

// Acquire implements state.State.
func (s *preceded) Acquire(
	ctx context.Context, env, key, holder string, now, until time.Time,
) (state.Lease, error) {
	if f := s.by; f != nil && key == s.key {
		s.by = nil
		f()
	}
	return s.State.Acquire(ctx, env, key, holder, now, until)
}

// TestImportKeptOfALeavingResource pins that an import keeps the worker away that purges the resource.
func TestImportKeptOfALeavingResource(t *testing.T) {
	t.Parallel()
	r, _ := keptRig(t)
	one := labelled("a", "one", "x")
	one.PurgeOnDelete = true
	r.export(deploy.Export{Model: modelOf(one, labelled("a", "other", "y"))})
	r.drain()
	before := must(r.e.Kept(t.Context(), "e", one.ID))(t)
	m := modelOf(labelled("a", "other", "y"))
	m.Agents = []resource.Agent{{Name: "a", Transport: "local", Lanes: 3}}
	r.export(deploy.Export{Model: m})
	config := r.e.Config
	config.State = &preceded{r.home, state.PlanKey, func() {
		now := r.clock.Now()
		if _, err := r.home.Acquire(t.Context(), "e", "a", "a worker", now,
			now.Add(time.Hour)); !fault.Is(err, fault.Busy) {
			t.Errorf("a worker gets the lane of the purge: %v", err)
		}
	}}
	if _, _, err := deploy.New(config).ImportKept(t.Context(), "e", one.ID, before.Sealed, ""); err != nil {
		t.Error(err)
	}
}
