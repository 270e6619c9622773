package deploy_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/local"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

// recorded is a notifier that records the notices.
type recorded struct {
	mu      sync.Mutex
	notices []state.Notice
}

// Notify implements state.Notifier.
func (b *recorded) Notify(_ context.Context, _ string, notices []state.Notice) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notices = append(b.notices, notices...)
	return nil
}

// TestDependantScheduledMeanwhileIsNotified schedules a resource of another agent while what it
// requires runs. The worker of that has not known of the other when it began, and nothing else is
// scheduled in its lane, but it notifies when it is done: nobody else would before the next sweep.
func TestDependantScheduledMeanwhileIsNotified(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	heard := &recorded{}
	r.e = deploy.New(deploy.Config{State: r.home, Files: r.home.Files(), Notifier: heard,
		Clock:     r.clock,
		Connector: &transport.Connector{Local: true}, Types: r.types,
		Handlers: map[string]provider.Handler{"t::T": handler{r.w}}, Pack: "test",
		Caller: local.Caller{},
		Holder: r.home.Holder(), NewID: r.home.NewID, Jitter: func() float64 { return 0.5 }})
	models := func(a, b string) *model.Model {
		first, second := res("a"), res("b<a")
		second.ID, second.Agent = "t::T[b,name=b]", "b"
		first.Attributes["value"], second.Attributes["value"] = a, b
		m := modelOf(first, second)
		m.Agents = []resource.Agent{{Name: "a", Transport: "local"},
			{Name: "b", Transport: "local"}}
		return m
	}
	r.export(deploy.Export{Model: models("1", "1")})
	r.drain()
	once := sync.Once{}
	r.w.hook = func(call, name string) {
		if call == "update" && name == "a" {
			once.Do(func() {
				r.export(deploy.Export{Model: models("2", "2")})
				heard.notices = nil // the planner has notified the lane of b, which has to wait
			})
		}
	}
	r.export(deploy.Export{Model: models("2", "1")})
	if _, err := r.e.RunAgent(context.Background(), "e", "a",
		r.clock.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	notified := func(x state.Notice) bool {
		return x.Agent == "b" && slices.Equal(x.Done, []resource.ID{id("a")})
	}
	if !slices.ContainsFunc(heard.notices, notified) {
		t.Errorf("notices %+v, want b/0 for %s", heard.notices, id("a"))
	}
}

// countedRig returns a rig whose lanes run when they are notified: see counted.answer.
func countedRig(t *testing.T) (*rig, *counted) {
	t.Helper()
	r := newRig(t)
	c := &counted{Home: r.home, waiting: map[string]bool{}}
	config := r.e.Config
	config.State, config.Notifier = c, c
	r.e = deploy.New(config)
	return r, c
}

// wantChecked wants nothing to be left to do.
func wantChecked(t *testing.T, r *rig) {
	t.Helper()
	p, err := r.e.Progress(t.Context(), "e")
	if err != nil || !p.Done() {
		t.Errorf("%+v, %v; want all to be checked", p, err)
	}
}

// TestLeftOutByAWaveIsPassedOn has a timer ask for everything. It leaves out what waits for a
// person, in the lane a0/0. That is served while what it requires is being run, and so is the lane
// behind it. Who finishes that run still takes for scheduled what is left out, and notifies its
// lane alone. So that lane has the next one to notify, or the last one waits for a sweep.
func TestLeftOutByAWaveIsPassedOn(t *testing.T) {
	t.Parallel()
	r, c := countedRig(t)
	first, left, last := spot(0, 1), spot(1, 0), spot(2, 2)
	left.Requires, last.Requires = []resource.ID{first.ID}, []resource.ID{left.ID}
	r.w.fail[nameIn(left)] = provider.Errorf(provider.Terminal, "ask a person")
	settings := state.Settings{RepairTimer: "3600", DeployTimer: "0"}
	r.export(deploy.Export{Model: modelOf(first, left, last), Settings: &settings})
	c.answer(t, r)
	r.clock.advance(2 * time.Hour)
	if _, err := r.e.Sweep(t.Context(), "e"); err != nil {
		t.Fatal(err)
	}
	r.w.hook = func(call, name string) {
		if call == "read" && name == nameIn(first) {
			c.notified, c.waiting = []string{"a0", "a2"}, map[string]bool{}
			c.answer(t, r)
		}
	}
	c.notified, c.waiting = []string{"a1"}, map[string]bool{}
	c.answer(t, r)
	wantChecked(t, r)
}

// TestOrphansHoldUpNoWave has everything checked where all that there is has left the model. Nobody
// notifies a lane of it, so none waits.
func TestOrphansHoldUpNoWave(t *testing.T) {
	t.Parallel()
	r, c := countedRig(t)
	r.export(deploy.Export{Model: modelOf(spot(0, 0), spot(1, 0))})
	c.answer(t, r)
	r.export(deploy.Export{Model: modelOf()})
	c.answer(t, r)
	if _, err := r.e.Repair(t.Context(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	c.answer(t, r)
	wantChecked(t, r)
}

// TestNoticeOfANewerScheduleIsNotLost has everything checked while a worker waits in the lane a0/0
// for a2/0. What that lane has beside what waits requires the first, which has finished long ago as
// far as the worker knows. That the wave has checked it is told to this lane once. Whoever takes
// that notice has to see that there is a wave.
func TestNoticeOfANewerScheduleIsNotLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	heard, awaited := &recorded{}, false
	config := r.e.Config
	config.Notifier = heard
	first, second, slow, waits := spot(0, 1), spot(1, 0), spot(2, 2), spot(3, 0)
	second.Requires = []resource.ID{first.ID}
	waits.Requires = []resource.ID{first.ID, slow.ID}
	serve := func(lane string) {
		t.Helper()
		if _, err := r.e.RunAgent(t.Context(), "e", lane, r.clock.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	repair := func(id resource.ID) {
		t.Helper()
		of := deploy.Request{Filter: state.Filter{ID: string(id)}}
		if _, err := r.e.Repair(t.Context(), "e", of); err != nil {
			t.Fatal(err)
		}
	}
	config.Await = func(_ context.Context, _, lane string, _ time.Duration) ([]resource.ID, bool) {
		if lane != "a0" || awaited {
			return nil, false
		}
		awaited = true
		repair("")
		heard.notices = nil
		serve("a1")
		for _, x := range heard.notices {
			if x.Agent == lane {
				return x.Done, true
			}
		}
		t.Error("nobody told the lane that the first was checked")
		return nil, false
	}
	r.export(deploy.Export{Model: modelOf(first, second, slow, waits)})
	r.drain()
	r.e = deploy.New(config)
	repair(slow.ID)
	repair(waits.ID)
	r.took("read")
	serve("a0")
	if got := r.took("read"); !slices.Contains(got, "read "+nameIn(second)) {
		t.Errorf("%q, want %s to be read as well: nothing that it requires is left", got,
			nameIn(second))
	}
}

// nameIn returns the name of what a resource describes.
func nameIn(r resource.Resource) string { s, _ := r.Attributes["name"].(string); return s }

// TestRemovedHoldsUpNoWave has everything checked, with something that could not be removed behind
// what is checked in another lane. Nobody notifies the lane of what is being removed, so it does
// not wait.
func TestRemovedHoldsUpNoWave(t *testing.T) {
	t.Parallel()
	r, c := countedRig(t)
	stays, leaves, behind := spot(0, 0), spot(1, 0), spot(2, 1)
	leaves.PurgeOnDelete = true
	freed := behind
	behind.Requires = []resource.ID{leaves.ID}
	r.export(deploy.Export{Model: modelOf(stays, leaves, behind)})
	c.answer(t, r)
	r.w.fail[nameIn(leaves)] = provider.Errorf(provider.Terminal, "ask a person")
	r.export(deploy.Export{Model: modelOf(stays, freed)})
	c.answer(t, r)
	if _, err := r.e.Repair(t.Context(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	c.answer(t, r)
	s, err := r.e.State.Schedule(t.Context(), "e")
	if err != nil || len(s.Unfinished) > 0 || len(s.Tickets) > 0 {
		t.Errorf("%+v, %v; want the check of everything to be over", s, err)
	}
}
