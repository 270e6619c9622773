package engine

import "southbound/shared/deploy"

// mostLanes returns the greatest number of lanes that an agent has in a plan.
func (p *Plan) mostLanes(agent string) int {
	most := 1
	for i := range p.Ops {
		for _, a := range p.Ops[i].agents {
			if a.Name == agent {
				most = max(most, a.Lanes)
			}
		}
	}
	return most
}

// monitorPort is the monitor of a worker: its lanes are tasks with books of their own.
type monitorPort struct {
	p    *process
	held bool
}

// newMonitor is deploy.Config.NewMonitor.
func (p *process) newMonitor() deploy.Monitor { return &monitorPort{p: p} }

// Lock implements deploy.Monitor.
func (m *monitorPort) Lock() { m.until(func() bool { return true }) }

// Unlock implements deploy.Monitor.
func (m *monitorPort) Unlock() { m.held = false }

// Go implements deploy.Monitor.
func (m *monitorPort) Go(f func()) {
	s := m.p.world.sched
	by := s.cur
	m.p.world.happened("second lane")
	lane := s.spawn(m.p, by.name+", another lane", func(*task) { f() })
	lane.books, lane.met, lane.began = by.books.another(), by.met, by.began
}

// Wait implements deploy.Monitor.
func (m *monitorPort) Wait(done func() bool) {
	m.held = false
	m.until(done)
}

// until holds the monitor once a condition holds. The tasks of a dead process do not wait, as each
// of their calls fails.
func (m *monitorPort) until(done func() bool) {
	ready := func() bool { return m.p.dead || !m.held && done() }
	if !ready() {
		m.p.world.sched.await(forever/2, ready)
	}
	m.held = true
}
