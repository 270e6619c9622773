package deploy_test

import (
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
	out, err := r.e.RunLane(t.Context(), "e", "a/0", r.clock.Now().Add(time.Hour))
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
