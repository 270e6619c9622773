package engine

import (
	"southbound/shared/deploy/state"
)

// stateMutants are faults about the states that handlers keep.
func stateMutants() []mutant {
	call := func(c *state.Commit) bool { return len(c.Rows)+len(c.Actions) == 0 }
	return []mutant{
		commits("KeepLost", "a state counts as kept and is not stored", "kept", 20,
			func(c *state.Commit, _ *State) { c.Keep = nil }, nil).in("labels"),
		commits("KeepDropped", "the results of a run remove the state of a thing that stays", "kept",
			20, func(c *state.Commit, _ *State) {
				for i := range c.Rows {
					if c.Guard.Key != planKey && !c.Rows[i].WasPurged() {
						c.DropKept = append(c.DropKept, c.Rows[i].ID)
					}
				}
			}, nil).in("labels"),
		commits("PurgedKept", "the state of a purged thing stays", "kept", 100,
			func(c *state.Commit, _ *State) {
				if !call(c) && len(c.Keep) == 0 && c.Guard.Key != planKey {
					c.DropKept = nil
				}
			}, nil).in("labels"),
		commits("StaleKeeps", "a holder that has lost its lane keeps state", "D3", 300,
			func(c *state.Commit, s *State) {
				if l := s.read(env).leases[c.Guard.Key]; l != nil && call(c) && len(c.Keep) > 0 {
					if c.Guard.Fence = l.Fence; l.Holder == "" {
						l.Holder = "nobody"
					}
				}
			}, nil).in("outputs"),
		commits("MovedNotKept", "the state of a moved thing keeps its former id only until the "+
			"results of its next run", "kept", 100, func(c *state.Commit, _ *State) {
			if !call(c) {
				c.Keep = nil
			}
		}, nil).in("labels"),
	}
}
