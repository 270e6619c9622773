package deploy_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// TestPartialPlanIsWhatApplyDoes compares, over random models, sets, drift, failures that are
// mended, and values that become known and are forgotten, what a plan of a partial export says with
// what it then does.
func TestPartialPlanIsWhatApplyDoes(t *testing.T) {
	t.Parallel()
	done := 0
	for seed := range uint64(worlds()) {
		a := author{newRig(t), rand.New(rand.NewPCG(seed, 3)), true}
		for range 6 {
			done += a.partially(fmt.Sprintf("seed %d", seed))
		}
	}
	if done < worlds() {
		t.Errorf("only %d partial exports were made", done)
	}
}

func (a author) partially(name string) int {
	t, ctx := a.t, a.t.Context()
	if a.one(3) {
		a.w.fail[a.name()] = errors.New("it is broken")
	}
	if a.one(2) {
		a.export(deploy.Export{Model: a.spread(a.model())(), Check: a.one(2)})
	}
	a.drain()
	clear(a.w.fail)
	if a.one(4) {
		a.export(deploy.Export{Model: a.spread(a.model())(), NoRelease: true})
	}
	for a.one(2) {
		a.learn()
	}
	a.drift()
	m, set := a.spread(a.model()), []string{"x", "y"}[a.IntN(2)]
	drop := a.one(4)
	x := func() deploy.Export {
		out := deploy.Export{Model: &model.Model{}, Partial: true, Check: true}
		for _, r := range m().Resources {
			if r.Set == set || r.Set == "" && nameOfID(r.ID) < "n3" {
				out.Model.Resources = append(out.Model.Resources, r)
			}
		}
		if drop {
			out.DeleteSets = []string{map[string]string{"x": "y", "y": "x"}[set]}
		}
		return out
	}
	since := a.last()
	a.w.reload = nil
	planned, err := a.e.Preview(ctx, "e", x(), deploy.CompareOptions{})
	read, again := a.e.Preview(ctx, "e", x(), deploy.CompareOptions{Read: true})
	y := x()
	y.Expect = planned.State
	_, failed := a.e.Export(ctx, "e", y)
	if (err == nil) != (failed == nil) || (again == nil) != (failed == nil) {
		t.Fatalf("%s: the plan says %v and %v, the export %v", name, err, again, failed)
	}
	if failed != nil {
		if !errors.As(failed, new(diag.Problems)) && !fault.Is(failed, fault.Invalid) {
			t.Fatalf("%s: %v", name, failed)
		}
		return 0
	}
	a.drain()
	a.asSaid(name, a.did(since), read)
	return 1
}

// learn sets a parameter that models refer to, or forgets it.
func (a author) learn() {
	p := state.Parameter{Name: fmt.Sprintf("p%d", a.IntN(2)), Value: fmt.Sprintf("v%d", a.IntN(3))}
	var err error
	if a.one(3) {
		err = a.e.DeleteParameters(a.t.Context(), "e", state.ParameterKey{Name: p.Name})
	} else {
		err = a.e.SetParameters(a.t.Context(), "e", p)
	}
	if err != nil && !fault.Is(err, fault.NotFound) {
		a.t.Fatal(err)
	}
	a.drain()
}

// worlds returns how many random worlds a test makes.
func worlds() int {
	if testing.Short() {
		return 4
	}
	return 20
}
