package deploy_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// meeting is a handler whose creates wait for each other: each returns once want of them have begun.
type meeting struct {
	handler
	want int

	mu        sync.Mutex
	now, most int
	met       chan struct{}
}

func (m *meeting) Create(c *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	m.mu.Lock()
	m.now++
	if m.most = max(m.most, m.now); m.now == m.want {
		close(m.met)
	}
	m.mu.Unlock()
	select {
	case <-m.met:
	case <-c.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now--
	return m.set("create", req.Resource)
}

// TestLanes pins that one worker runs as many resources of an agent at a time as the agent has lanes.
func TestLanes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	h := &meeting{handler: handler{r.w}, want: 3, met: make(chan struct{})}
	config := r.e.Config
	config.Handlers = map[string]provider.Handler{"t::T": h, "t::Assigned": h}
	r.e = deploy.New(config)
	m := &model.Model{Agents: []resource.Agent{{Name: "a", Transport: "local", Lanes: 3}},
		Resources: []resource.Resource{res("one"), res("two"), res("three"), res("last<one")}}
	r.export(deploy.Export{Model: m})
	out, err := r.e.RunAgent(t.Context(), "e", "a", r.clock.Now().Add(time.Hour))
	if err != nil || out.Ran != 4 || h.most != 3 {
		t.Errorf("%d ran, at most %d at a time: %v", out.Ran, h.most, err)
	}
	for _, name := range []string{"one", "two", "three", "last"} {
		if row := r.row(name); !row.AsWanted() {
			t.Errorf("%s: %s %s", name, row.Status(), row.Why())
		}
	}
	if leases, err := r.home.Leases(t.Context(), "e"); err != nil || len(leases) != 2 {
		t.Errorf("%d leases, want those of the agent and of planners: %v", len(leases), err)
	}
}

// TestLanesBesidePlans pins that the lanes of a worker stand new versions, other numbers of lanes and
// pauses while they run.
func TestLanesBesidePlans(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	described := func(lanes int, value string) deploy.Export {
		m := &model.Model{Agents: []resource.Agent{{Name: "a", Transport: "local", Lanes: lanes}}}
		for i := range 60 {
			of := res(fmt.Sprint("x", i))
			if i >= 20 {
				of = res(fmt.Sprintf("x%d<x%d", i, i%20))
			}
			of.Attributes["value"] = value
			m.Resources = append(m.Resources, of)
		}
		return deploy.Export{Model: m}
	}
	r.export(described(4, "first"))
	ended := make(chan error)
	go func() {
		for range 200 {
			out, err := r.e.RunAgent(t.Context(), "e", "a", r.clock.Now().Add(time.Hour))
			if err != nil || out.Ran == 0 && !out.Paused && !out.Busy {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	for i := range 6 {
		r.export(described(1+i%4, fmt.Sprint("value", i)))
		for _, paused := range []bool{true, false} {
			if err := r.e.Pause(t.Context(), "e", paused, "a"); err != nil {
				t.Error(err)
			}
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.drain()
	for i := range 60 {
		if row := r.row(fmt.Sprint("x", i)); !row.AsWanted() || r.w.things[fmt.Sprint("x", i)] != "value5" {
			t.Errorf("x%d: %s %s, %q", i, row.Status(), row.Why(), r.w.things[fmt.Sprint("x", i)])
		}
	}
}
