package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/service/lifecycle"
)

// random makes a machine: a chain of states from the first to a deleted one, and transfers between
// any of them.
func random(r *rand.Rand) *lifecycle.Machine {
	n := 2 + r.IntN(6)
	sets := []lifecycle.Set{lifecycle.NoSet, lifecycle.Candidate, lifecycle.Active}
	m := &lifecycle.Machine{Name: "random", Initial: "s0"}
	for i := range n {
		m.States = append(m.States, lifecycle.State{
			Name: fmt.Sprint("s", i), ExportResources: i < n-1 && r.IntN(2) == 0,
			PurgeResources: r.IntN(4) == 0, Deleted: i == n-1,
			ValidateSelf: sets[r.IntN(len(sets))],
		})
	}
	for i := range n - 1 {
		add(m, transfer(r, m, i, i+1))
	}
	for range r.IntN(3 * n) {
		add(m, transfer(r, m, r.IntN(n-1), r.IntN(n)))
	}
	return m
}

// transfer makes a transfer that is right by itself.
func transfer(r *rand.Rand, m *lifecycle.Machine, from, to int) lifecycle.Transfer {
	operations := []lifecycle.Operation{
		"", "", "", lifecycle.Promote, lifecycle.RollBack, lifecycle.ClearCandidate,
		lifecycle.ClearRollback,
	}
	a, b := &m.States[from], &m.States[to]
	like := func(b *lifecycle.State) bool {
		return r.IntN(2) == 0 && a.ExportResources == b.ExportResources &&
			a.PurgeResources == b.PurgeResources
	}
	t := lifecycle.Transfer{
		Source: a.Name, Target: b.Name, TargetOperation: operations[r.IntN(len(operations))],
		TargetSameDesiredState: like(b), Validate: r.IntN(3) == 0,
	}
	switch r.IntN(5) {
	case 0:
		t.Auto = true
		if r.IntN(2) == 0 {
			t.ConfigName = "c"
		}
	case 1:
		t.OnUpdate = true
	case 2:
		t.OnDelete = true
	case 3:
		t.APISetState = true
	case 4:
		t.ResourceBased, t.Validate = true, false
	}
	if t.Validate || r.IntN(3) == 0 {
		e := &m.States[r.IntN(len(m.States))]
		t.Error, t.ErrorSameDesiredState = e.Name, like(e)
		t.ErrorOperation = operations[r.IntN(len(operations))]
	}
	return t
}

// TestRandom plays events over random machines.
func TestRandom(t *testing.T) {
	t.Parallel()
	const tries = 20000
	used := 0
	for seed := range uint64(tries) {
		m := random(rand.New(rand.NewPCG(seed, 1))) // not a secret
		if len(m.Check()) > 0 {
			continue
		}
		used++
		play(t, m, seed)
		if t.Failed() {
			t.Fatalf("the seed is %d", seed)
		}
	}
	if used < tries/20 {
		t.Errorf("only %d of %d machines can be used", used, tries)
	}
}

// player plays events, as they come and as they should not.
type player struct {
	t    *testing.T
	m    *lifecycle.Machine
	r    *rand.Rand
	i    lifecycle.Instance
	open []lifecycle.Event // answers to effects that have not come yet
	old  []lifecycle.Event // answers that have come
	// deployed says that something may be deployed of the instance.
	deployed bool
}

// play plays events over a machine and holds what always holds.
func play(t *testing.T, m *lifecycle.Machine, seed uint64) {
	t.Helper()
	p := &player{t: t, m: m, r: rand.New(rand.NewPCG(seed, 2))} // not a secret
	p.do(lifecycle.Create{Attributes: map[string]any{"n": 0}})
	for n := range 40 {
		p.do(p.next(n))
		if p.i.Deleted {
			break
		}
	}
	p.settle()
}

// next chooses an event: an answer that is due or one that has come already, or what somebody asks.
func (p *player) next(n int) lifecycle.Event {
	if len(p.open) > 0 && p.r.IntN(3) > 0 {
		i := p.r.IntN(len(p.open))
		e := p.open[i]
		p.open = append(p.open[:i], p.open[i+1:]...)
		p.old = append(p.old, e)
		return e
	}
	version := p.i.Version - int64(p.r.IntN(8)/7)
	switch p.r.IntN(9) {
	case 8:
		return lifecycle.Redeploy{Version: version, Exported: p.r.IntN(2) == 0}
	case 0:
		return lifecycle.Update{Attributes: map[string]any{"n": n}, Version: version}
	case 1:
		return lifecycle.Delete{Version: version}
	case 2:
		return lifecycle.Configure{Name: "c", On: p.r.IntN(2) == 0, Version: version}
	case 3:
		return lifecycle.Resources{Desired: p.i.Desired, Outcome: p.outcome()}
	case 4:
		return lifecycle.Auto{}
	case 5:
		if len(p.old) > 0 {
			return p.old[p.r.IntN(len(p.old))]
		}
	}
	to := p.m.States[p.r.IntN(len(p.m.States))].Name
	return lifecycle.SetState{Target: to, Version: version}
}

func (p *player) outcome() lifecycle.Outcome {
	return []lifecycle.Outcome{lifecycle.Deployed, lifecycle.Failed}[p.r.IntN(2)]
}

// do does a step, and keeps the answers to its effects.
func (p *player) do(e lifecycle.Event) {
	p.t.Helper()
	before, err := json.Marshal(p.i)
	if err != nil {
		p.t.Fatal(err)
	}
	r, err := lifecycle.Step(p.m, p.i, e)
	after, _ := json.Marshal(p.i)
	if string(before) != string(after) {
		p.t.Errorf("%T changed the instance that it was given", e)
	}
	if err != nil {
		if d := cmp.Diff(lifecycle.Result{}, r); d != "" {
			p.t.Errorf("%T is refused (%v), and there is %s", e, err, d)
		}
		return
	}
	p.hold(e, r)
	for _, effect := range r.Effects {
		switch effect := effect.(type) {
		case lifecycle.Validate:
			p.open = append(p.open, lifecycle.Validated{
				Version: effect.Version, Failed: p.r.IntN(2) == 0,
			})
		case lifecycle.Export:
			p.open = append(p.open, lifecycle.Resources{
				Desired: effect.Desired, Outcome: p.outcome(),
			})
		case lifecycle.Continue:
			p.open = append(p.open, lifecycle.Auto{})
		}
	}
	p.i = r.Instance
}

// hold holds what is true of every step.
func (p *player) hold(e lifecycle.Event, r lifecycle.Result) {
	p.t.Helper()
	was, is := p.i, r.Instance
	if is.Version < was.Version || is.Version > was.Version+1 || is.Desired < was.Desired {
		p.t.Errorf("%T leads from the versions %d, %d to %d, %d", e, was.Version, was.Desired,
			is.Version, is.Desired)
	}
	if v, ok := e.(lifecycle.Validated); ok && (v.Version != was.Version || was.Validating == "") {
		if d := cmp.Diff(was, is); d != "" || len(r.Effects) > 0 {
			p.t.Errorf("a compile that came late did something: %s", d)
		}
	}
	if v, ok := e.(lifecycle.Resources); ok && v.Desired != was.Desired {
		if d := cmp.Diff(was, is); d != "" || len(r.Effects) > 0 {
			p.t.Errorf("a deploy that came late did something: %s", d)
		}
	}
	if redeploy, ok := e.(lifecycle.Redeploy); ok {
		p.redeployed(redeploy, r)
	}
	if r.Taken == nil {
		if was.State != is.State && was.State != "" {
			p.t.Errorf("%T leads from %s to %s without a transfer", e, was.State, is.State)
		}
		return
	}
	p.taken(was, r)
}

// redeployed holds that a redeploy gives the resources of the state again, and does nothing else.
func (p *player) redeployed(e lifecycle.Redeploy, r lifecycle.Result) {
	p.t.Helper()
	was, is := p.i, r.Instance
	state, _ := p.m.State(was.State)
	exports := false
	for _, effect := range r.Effects {
		if x, ok := effect.(lifecycle.Export); ok {
			exports = x.Present == state.ExportResources && !x.Purge && x.Desired == is.Desired
		}
	}
	if exports != (state.ExportResources || e.Exported) || is.Desired != was.Desired+1 ||
		is.Version != was.Version+1 || is.State != was.State || is.Outcome != lifecycle.Pending {
		p.t.Errorf("a redeploy leads from %+v to %+v, with %v", was, is, r.Effects)
	}
}

// taken holds that a transfer is one of the machine, and does what it says.
func (p *player) taken(was lifecycle.Instance, r lifecycle.Result) {
	p.t.Helper()
	is := r.Instance
	found, gone := false, false
	for i := range p.m.Transfers {
		t := &p.m.Transfers[i]
		to, operation, same := t.Target, t.TargetOperation, t.TargetSameDesiredState
		if r.Taken.Error {
			to, operation, same = t.Error, t.ErrorOperation, t.ErrorSameDesiredState
		}
		if t.Source != was.State || to != is.State || operation != r.Taken.Operation ||
			same != (was.Desired == is.Desired) {
			continue
		}
		if operation == lifecycle.Promote && (is.Candidate != nil || is.Active == nil) {
			p.t.Errorf("promote leads from %+v to %+v", was, is)
		}
		if !found {
			p.exports(was, r)
		}
		found = true
		gone = gone || !t.Auto && !(t.ResourceBased && r.Taken.Error)
	}
	if !found {
		p.t.Errorf("there is no transfer %+v", *r.Taken)
	}
	p.remains(was, r, gone)
}

// remains holds that nothing of an instance that is deleted is deployed. gone says that the transfer
// is one that begins after deployed resources were purged, or that a person begins.
func (p *player) remains(was lifecycle.Instance, r lifecycle.Result, gone bool) {
	p.t.Helper()
	from, _ := p.m.State(was.State)
	p.deployed = p.deployed || from.ExportResources && !from.PurgeResources
	if from.ExportResources && from.PurgeResources && gone {
		p.deployed = false
	}
	if r.Instance.Deleted && p.deployed {
		p.t.Errorf("%s leads to %s, and resources may be deployed", was.State, r.Instance.State)
	}
}

// exports holds that what is deployed is what the state says.
func (p *player) exports(was lifecycle.Instance, r lifecycle.Result) {
	p.t.Helper()
	from, _ := p.m.State(was.State)
	to, _ := p.m.State(r.Instance.State)
	want := (from.ExportResources || to.ExportResources) && was.Desired != r.Instance.Desired
	got := false
	for _, e := range r.Effects {
		if x, ok := e.(lifecycle.Export); ok {
			got = x.Present == to.ExportResources && x.Desired == r.Instance.Desired
		}
	}
	if want != got {
		p.t.Errorf("from %s to %s: exported is %v", from.Name, to.Name, got)
	}
}

// settle holds that what begins by itself comes to an end, whatever compiles say.
func (p *player) settle() {
	p.t.Helper()
	steps, limit := 0, 4*len(p.m.States)+8
	for p.open = []lifecycle.Event{lifecycle.Auto{}}; len(p.open) > 0; steps++ {
		e := p.open[0]
		p.open = p.open[1:]
		if _, deployed := e.(lifecycle.Resources); deployed {
			continue
		}
		if p.do(e); steps > limit {
			p.t.Errorf("%s goes on for ever: %+v", p.i.State, p.m.Transfers)
			return
		}
	}
}
