package deploy_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// adopt adopts states in the environment of a rig.
func (r *rig) adopt(all ...deploy.AdoptedState) error {
	r.t.Helper()
	return r.e.AdoptKept(r.t.Context(), "e", all)
}

// TestAdoptKept pins that the first run of a resource gets the adopted state, also in an environment
// that did not exist, that its outputs are known, and that an adoption may be repeated before that.
func TestAdoptKept(t *testing.T) {
	t.Parallel()
	r, m := keptRig(t)
	one, two := labelled("a", "one", "x"), labelled("b", "two", "y")
	r.w.things = map[string]string{"x": "v", "y": "v"}
	for _, number := range []string{"7", "8"} {
		if err := r.adopt(deploy.AdoptedState{ID: one.ID, State: []byte("s3cret number " + number),
			Outputs: map[string]any{"password": "p"}},
			deploy.AdoptedState{ID: two.ID, State: []byte("s3cret number 9")}); err != nil {
			t.Fatal(err)
		}
	}
	stored := r.keptOf(one.ID, two.ID)
	if k := stored[one.ID]; strings.Contains(string(k.Sealed), "s3cret") || k.Outputs != k.Revision ||
		stored[two.ID].Outputs != "" {
		t.Errorf("stored %+v", stored)
	}
	r.export(deploy.Export{Model: modelOf(one, two)})
	r.drain()
	if got := strings.Join(*m.reads, ", "); got != "s3cret number 8, s3cret number 9" &&
		got != "s3cret number 9, s3cret number 8" || *m.made != 0 {
		t.Errorf("the first runs got %s, and made %d", got, *m.made)
	}
}

// TestAdoptKeptRefused pins which adoptions are refused, and that none of their states is left.
func TestAdoptKeptRefused(t *testing.T) {
	t.Parallel()
	for reason, x := range map[string]struct {
		second deploy.AdoptedState
		before func(r *rig)
		want   fault.Kind
	}{
		"a resource that is known": {deploy.AdoptedState{ID: "t::T[b,label=known]", State: []byte("x")},
			func(r *rig) { r.export(deploy.Export{Model: modelOf(labelled("b", "known", "k"))}); r.drain() },
			fault.Conflict},
		"a large state": {deploy.AdoptedState{ID: "t::T[b,label=two]", State: make([]byte, state.MaxKept+1)},
			nil, fault.Invalid},
		"outputs that are not JSON": {deploy.AdoptedState{ID: "t::T[b,label=two]", State: []byte("x"),
			Outputs: map[string]any{"f": func() {}}}, nil, fault.Invalid},
		"no key": {deploy.AdoptedState{ID: "t::T[b,label=two]", State: []byte("x")},
			func(r *rig) { r.e.Sealer = nil }, fault.Unsupported},
		"a lane at work": {deploy.AdoptedState{ID: "t::T[b,label=two]", State: []byte("x")},
			func(r *rig) {
				now := r.clock.Now()
				must(r.home.Acquire(context.Background(), "e", "b", r.home.Holder(), now, now.Add(time.Hour)))(r.t)
			}, fault.Busy},
	} {
		r, _ := keptRig(t)
		if x.before != nil {
			x.before(r)
		}
		known := r.keptOf(x.second.ID)[x.second.ID]
		err := r.adopt(deploy.AdoptedState{ID: "t::T[a,label=one]", State: []byte("x")}, x.second)
		if !fault.Is(err, x.want) {
			t.Errorf("%s: %v", reason, err)
		}
		left := r.keptOf("t::T[a,label=one]", x.second.ID)
		if len(left) > 1 || left[x.second.ID].Revision != known.Revision ||
			left[resource.ID("t::T[a,label=one]")].Revision != "" {
			t.Errorf("%s: left %v", reason, left)
		}
	}
}
