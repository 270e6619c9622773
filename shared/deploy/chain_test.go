package deploy_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/local"
	"southbound/shared/resource"
)

// counted counts what an engine asks of a home, and keeps its notices in the order in which they
// come.
type counted struct {
	*local.Home
	reads, agents, ids, commits, notices int
	notified                             []string
	waiting                              map[string]bool
}

// Schedule implements state.State.
func (c *counted) Schedule(
	ctx context.Context, env string, agents ...string,
) (state.Schedule, error) {
	s, err := c.Home.Schedule(ctx, env, agents...)
	c.reads, c.agents = c.reads+1, c.agents+len(agents)
	if len(agents) == 0 {
		c.agents += len(s.Tickets) + len(s.Unfinished)
	}
	return s, err
}

// Finished implements state.State.
func (c *counted) Finished(
	ctx context.Context, env string, ids []resource.ID, epoch int64,
) ([]resource.ID, error) {
	c.reads, c.ids = c.reads+1, c.ids+len(ids)
	return c.Home.Finished(ctx, env, ids, epoch)
}

// Rows implements state.State.
func (c *counted) Rows(ctx context.Context, env string, ids []resource.ID) ([]state.Row, error) {
	c.reads, c.ids = c.reads+1, c.ids+len(ids)
	return c.Home.Rows(ctx, env, ids)
}

// Commit implements state.State.
func (c *counted) Commit(
	ctx context.Context, env string, in state.Commit,
) (state.Committed, error) {
	c.commits++
	return c.Home.Commit(ctx, env, in)
}

// Notify implements state.Notifier.
func (c *counted) Notify(_ context.Context, _ string, notices []state.Notice) error {
	c.notices += len(notices)
	for _, r := range notices {
		if !c.waiting[r.Agent] {
			c.waiting[r.Agent], c.notified = true, append(c.notified, r.Agent)
		}
	}
	return nil
}

// cost is what it took to serve all notices.
type cost struct{ reads, agents, ids, commits, notices, runs int }

// answer serves the lanes that were notified, one after the other, until nobody notifies any more.
// Nothing else notifies them: there is no sweep.
func (c *counted) answer(t *testing.T, r *rig) cost {
	t.Helper()
	runs := 0
	for ; len(c.notified) > 0; runs++ {
		lane := c.notified[0]
		c.notified = c.notified[1:]
		delete(c.waiting, lane)
		if _, err := r.e.RunAgent(t.Context(), "e", lane, r.clock.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	out := cost{c.reads, c.agents, c.ids, c.commits, c.notices, runs}
	c.reads, c.agents, c.ids, c.commits, c.notices = 0, 0, 0, 0, 0
	return out
}

// across serves an export, and then a repair, of resources on many agents, and returns what each
// cost.
func across(t *testing.T, m *model.Model) (export, repair cost) {
	t.Helper()
	r := newRig(t)
	c := &counted{Home: r.home, waiting: map[string]bool{}}
	config := r.e.Config
	config.State, config.Notifier = c, c
	r.e = deploy.New(config)
	r.export(deploy.Export{Model: m})
	export = c.answer(t, r)
	if _, err := r.e.Repair(t.Context(), "e", deploy.Request{}); err != nil {
		t.Fatal(err)
	}
	repair = c.answer(t, r)
	p, err := r.e.Progress(t.Context(), "e")
	if err != nil || !p.Done() || p.Counts[state.StatusDeployed] != len(m.Resources) {
		t.Fatalf("%+v, %v", p, err)
	}
	if got := len(r.took("read")); got != 2*len(m.Resources) {
		t.Errorf("%d were looked at, want each twice", got)
	}
	return export, repair
}

// spot describes the resource of a row on an agent.
func spot(row, agent int) resource.Resource {
	name, on := fmt.Sprintf("%d-%d", row, agent), fmt.Sprintf("a%d", agent)
	id := resource.ID("t::T[" + on + ",name=" + name + "]")
	attributes := map[string]any{"name": name}
	return resource.Resource{ID: id, Type: "t::T", Agent: on, Attributes: attributes}
}

// grid has resources in rows, one of each row on each agent; each requires those above it, on its
// own agent and on the next.
func grid(rows, agents int) *model.Model {
	m := &model.Model{}
	for i := range rows {
		for j := range agents {
			r := spot(i, j)
			if i > 0 {
				r.Requires = []resource.ID{spot(i-1, j).ID, spot(i-1, (j+1)%agents).ID}
			}
			m.Resources = append(m.Resources, r)
		}
	}
	return m
}

// alongside has chains that go through all agents.
func alongside(chains, agents int) *model.Model {
	m := &model.Model{}
	for k := range chains {
		for i := range agents {
			r := spot(k, i)
			if i > 0 {
				r.Requires = []resource.ID{spot(k, i-1).ID}
			}
			m.Resources = append(m.Resources, r)
		}
	}
	return m
}

// TestAcrossManyAgents pins that what is read, written and sent in notices for what goes through
// many agents grows with the edges that cross agents: twice as many cost twice as much. And nobody
// but those who finish something sends notices. Lanes run one after the other.
func TestAcrossManyAgents(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		return
	}
	for _, c := range []struct {
		name        string
		half, whole *model.Model
	}{
		{"chain", alongside(1, 20), alongside(1, 40)},
		{"chains", alongside(5, 10), alongside(5, 20)},
		{"lattice", grid(6, 5), grid(6, 10)},
		{"high lattice", grid(5, 6), grid(10, 6)},
	} {
		halfExport, halfRepair := across(t, c.half)
		wholeExport, wholeRepair := across(t, c.whole)
		t.Logf("%s: export %+v, repair %+v", c.name, wholeExport, wholeRepair)
		for _, x := range []struct {
			what        string
			half, whole int
		}{
			{"reads of an export", halfExport.reads, wholeExport.reads},
			{"agents read by an export", halfExport.agents, wholeExport.agents},
			{"resources looked up by an export", halfExport.ids, wholeExport.ids},
			{"commits of an export", halfExport.commits, wholeExport.commits},
			{"notices of an export", halfExport.notices, wholeExport.notices},
			{"runs of lanes for an export", halfExport.runs, wholeExport.runs},
			{"reads of a repair", halfRepair.reads, wholeRepair.reads},
			{"agents read by a repair", halfRepair.agents, wholeRepair.agents},
			{"resources looked up by a repair", halfRepair.ids, wholeRepair.ids},
			{"commits of a repair", halfRepair.commits, wholeRepair.commits},
			{"notices of a repair", halfRepair.notices, wholeRepair.notices},
			{"runs of lanes for a repair", halfRepair.runs, wholeRepair.runs},
		} {
			if 10*x.whole > 23*x.half+20 {
				t.Errorf("%s: %s: %d, and %d for twice as many", c.name, x.what, x.half, x.whole)
			}
		}
	}
}
