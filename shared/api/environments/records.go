package environments

import (
	"maps"
	"slices"

	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// ProgressOf converts the engine's counters to those of the API.
func ProgressOf(env string, p deploy.Progress) Progress {
	out := Progress{Environment: env, Released: p.Env.Released, Last: p.Env.Last,
		Releasing: p.Env.Releasing, Halted: p.Env.Halted, Counts: p.Counts,
		Scheduled: p.Scheduled, Left: p.Left,
		Running: wire.OrEmpty(p.Running[:min(len(p.Running), maxRunning)]), RunningCount: len(p.Running),
		Interrupted: p.Interrupted[:min(len(p.Interrupted), maxRunning)],
		Lanes:       wire.OrEmpty(p.Lanes),
		Held:        sortedKeys(p.Held), Paused: sortedKeys(p.Paused), Outbox: p.Outbox,
		Applied: p.Env.Applied}
	if out.Counts == nil {
		out.Counts = map[state.Status]int{}
	}
	return out
}

func sortedKeys(m map[string]bool) []string { return wire.OrEmpty(slices.Sorted(maps.Keys(m))) }

// Progress is the progress of an environment: counters, never listings.
//
// Large: it is one record, as programs read it.
type Progress struct {
	Environment  string               `json:"environment"`
	Released     int                  `json:"released" doc:"the version in force; 0: none"`
	Last         int                  `json:"last" doc:"the highest stored version"`
	Releasing    int                  `json:"releasing" doc:"the version whose release is incomplete; 0: none"`
	Halted       bool                 `json:"halted"`
	Counts       map[state.Status]int `json:"counts" doc:"number of resources by status"`
	Scheduled    int                  `json:"scheduled"`
	Left         map[string]int       `json:"left,omitempty" doc:"number of scheduled resources by agent"`
	Running      []resource.ID        `json:"running" doc:"the first running resources"`
	RunningCount int                  `json:"running_count"`
	Interrupted  []resource.ID        `json:"interrupted,omitempty" doc:"the first resources whose process ended during the run, and which no process has taken up yet"`
	Lanes        []string             `json:"lanes" doc:"lanes with work"`
	Held         []string             `json:"held" doc:"lanes that a process serves now"`
	Paused       []string             `json:"paused" doc:"paused agents"`
	// Waiting is why agents are waited for.
	Waiting map[string]string `json:"waiting,omitempty" doc:"reasons why agents are tried again, by name; only agents that this server serves"`
	Applied string            `json:"applied,omitempty" doc:"expect of the last export, if it had one"`
	Outbox  int               `json:"outbox" doc:"number of pending consequences of commits, up to a few"`
}

// maxRunning is how many of the running resources are named.
const maxRunning = 20

// Statuses returns all statuses, in their display order.
func Statuses() []state.Status {
	return []state.Status{state.StatusFailed, state.StatusUnavailable, state.StatusSkipped,
		state.StatusBlocked, state.StatusUndefined,
		state.StatusDeploying, state.StatusAvailable, state.StatusNonCompliant,
		state.StatusOrphaned, state.StatusDeployed}
}

// ByStatus returns the number of resources of every status, also of those that no resource has. A
// running resource counts as deploying, and not as available.
func (p *Progress) ByStatus() map[state.Status]int {
	out := make(map[state.Status]int, len(Statuses()))
	for _, s := range Statuses() {
		out[s] = p.Counts[s]
	}
	running := min(p.RunningCount, out[state.StatusAvailable])
	out[state.StatusDeploying] = running
	out[state.StatusAvailable] -= running
	return out
}

// Done reports whether nothing is scheduled or in progress.
func (p *Progress) Done() bool {
	return p.Scheduled == 0 && p.Outbox == 0 && len(p.Lanes) == 0 && p.Releasing == 0
}
