package deploy_test

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// several are resources on the agents a, b and c, of which some require those of others.
func several() *model.Model {
	m := &model.Model{}
	for _, agent := range []string{"a", "b", "c"} {
		for i := range 4 {
			name := fmt.Sprintf("%s%d", agent, i)
			r := resource.Resource{
				ID:         resource.NewID("t::T", agent, resource.Key{Name: "name", Value: name}),
				Type:       "t::T",
				Agent:      agent,
				Attributes: map[string]any{"name": name},
			}
			if n := len(m.Resources); i > 0 {
				r.Requires = []resource.ID{m.Resources[n-1].ID}
			}
			m.Resources = append(m.Resources, r)
		}
	}
	return m
}

// TestReadingInSlices pins that a comparison which is made in many short slices reads everything
// once, and says what one says that is made in one go.
func TestReadingInSlices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.export(deploy.Export{Model: several()})
	r.drain()
	r.w.things["a1"], r.w.things["c3"] = "drifted", "drifted"
	delete(r.w.things, "b0")
	for what, compare := range map[string]func(from deploy.Reading) (deploy.DryRun, error){
		"a dry run": func(from deploy.Reading) (deploy.DryRun, error) {
			return r.e.DryRunOf(t.Context(), "e", 0, state.Filter{},
				deploy.CompareOptions{From: from})
		},
		"a plan": func(from deploy.Reading) (deploy.DryRun, error) {
			return r.e.Preview(t.Context(), "e", deploy.Export{Model: several()},
				deploy.CompareOptions{Read: true, From: from})
		},
	} {
		whole, err := compare(deploy.Reading{})
		if err != nil || len(whole.Unread) > 0 || whole.Covered != 12 || len(whole.Planned) != 12 {
			t.Fatalf("%s in one go: %+v, %v", what, whole, err)
		}
		r.took()
		r.w.hook = func(call, _ string) {
			if call == "read" {
				r.clock.advance(time.Second)
			}
		}
		from, slices := deploy.Reading{}, 0
		var d deploy.DryRun
		for ; slices == 0 || len(d.Unread) > 0; slices++ {
			from.Until = r.clock.Now().Add(2500 * time.Millisecond)
			if d, err = compare(from); err != nil || len(d.Found) == 0 || len(d.Found) > 3 {
				t.Fatalf("%s, slice %d: %+v, %v", what, slices, d, err)
			}
			from.Known, from.State = append(from.Known, d.Found...), d.State
		}
		r.w.hook = nil
		if reads := r.took("read"); len(reads) != 12 || slices != 4 {
			t.Errorf("%s: %d slices read %q", what, slices, reads)
		}
		d.Found, whole.Found = nil, nil
		if !reflect.DeepEqual(d, whole) {
			t.Errorf("%s in slices: %+v\nin one go: %+v", what, d, whole)
		}
	}
}

// TestReadingElsewhere pins that others are asked once for all that they read, before anything is
// read here, that what they found is in the answer, of what was asked for only, and that what they
// owe is told.
func TestReadingElsewhere(t *testing.T) {
	t.Parallel()
	for what, compare := range map[string]func(r *rig, from deploy.Reading) (deploy.DryRun, error){
		"a dry run": func(r *rig, from deploy.Reading) (deploy.DryRun, error) {
			return r.e.DryRunOf(t.Context(), "e", 1, state.Filter{},
				deploy.CompareOptions{From: from})
		},
		"a plan": func(r *rig, from deploy.Reading) (deploy.DryRun, error) {
			return r.e.Preview(t.Context(), "e", deploy.Export{Model: several()},
				deploy.CompareOptions{Read: true, From: from})
		},
	} {
		r := newRig(t)
		r.export(deploy.Export{Model: several()})
		r.w.things["b2"] = "drifted"
		whole, err := compare(r, deploy.Reading{})
		if err != nil {
			t.Fatal(err)
		}
		r.took()
		var asked []deploy.Errand
		answer := deploy.Elsewhere{Taken: true}
		from := deploy.Reading{Others: func(_ context.Context,
			all []deploy.Errand) ([]deploy.Elsewhere, error) {
			if reads := r.took("read"); len(reads) > 0 {
				t.Errorf("%s: read before: %q", what, reads)
			}
			out := make([]deploy.Elsewhere, len(all))
			for i := range all {
				if all[i].Agent.Name == "b" {
					asked, out[i] = append(asked, all[i]), answer
				}
			}
			return out, nil
		}}
		here, err := compare(r, from)
		if err != nil || !slices.Equal(here.Unread, []string{"b"}) || len(here.Found) != 8 ||
			len(here.Planned) != 0 {
			t.Errorf("%s: %+v, %v", what, here, err)
		}
		there, err := r.e.ReadRemote(t.Context(), "e", asked[0], deploy.Reading{})
		if err != nil || len(there.Found) != 4 || len(there.Unread) != 0 ||
			asked[0].Record != (what == "a dry run") {
			t.Errorf("%s: %+v, %v of %+v", what, there, err, asked)
		}
		r.took()
		from.Known, from.State = here.Found, here.State
		// What is not asked for is not believed.
		answer.Whole, answer.Found = true, append(
			[]deploy.PlannedChange{{ID: here.Found[0].ID, Failed: true}},
			there.Found...)
		d, err := compare(r, from)
		d.Found, whole.Found = nil, nil
		if err != nil || !reflect.DeepEqual(d, whole) || !reflect.DeepEqual(asked[0], asked[1]) {
			t.Errorf("%s: %+v, %v\nin one go: %+v", what, d, err, whole)
		}
		answer.Found = there.Found[1:]
		if d, err = compare(r, from); err != nil || d.Covered != 11 || len(d.Planned) != 12 {
			t.Errorf("%s, of which one is missing: %+v, %v", what, d, err)
		}
	}
}

// TestReadingOfAnotherPlan pins that what was found is of no use to a plan that has become another.
func TestReadingOfAnotherPlan(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.export(deploy.Export{Model: several()})
	preview := func(from deploy.Reading) deploy.DryRun {
		d, err := r.e.Preview(t.Context(), "e", deploy.Export{Model: several()},
			deploy.CompareOptions{Read: true, From: from})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := preview(deploy.Reading{})
	r.drain()
	second := preview(deploy.Reading{Known: first.Found, State: first.State})
	if len(second.Found) != 12 || second.State == first.State {
		t.Errorf("%d were read again", len(second.Found))
	}
	for _, w := range second.Planned {
		if w.Action != "none" {
			t.Errorf("%s of %s, which is there", w.Action, w.ID)
		}
	}
}

// TestReadingIsCutOff pins that a comparison whose time is over ends although a handler hangs,
// names what was not compared, and records nothing of what it cut off.
func TestReadingIsCutOff(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.export(deploy.Export{Model: several()})
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	hung := map[string]bool{}
	r.w.hook = func(call, name string) {
		if call == "read" && name == "b1" {
			hung[name] = true
			cancel()
		}
	}
	d, err := r.e.DryRun(ctx, "e", 1)
	if err == nil || !slices.Equal(d.Unread, []string{"b", "c"}) || len(hung) != 1 {
		t.Errorf("%+v, %v, %v", d, err, slices.Collect(maps.Keys(hung)))
	}
	actions, err := r.home.Actions(t.Context(), "e", state.ActionQuery{Action: state.ActionDryRun})
	if err != nil || len(actions) != 4 {
		t.Errorf("%d actions, %v", len(actions), err)
	}
}
