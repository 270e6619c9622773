// Package lines declares the lines that commands write with --json, and reads them.
package lines

import (
	"encoding/json"

	"southbound/shared/api/agents"
	"southbound/shared/api/problem"
	"southbound/shared/api/resources"
	"southbound/shared/api/results"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// PlanEnd is the last line of a plan: the number of resources by action, and the number of
// resources that would fail. For resources whose action is none, it counts those that reload, those
// that are only compared and differ, and those that are moved from another id without a change. It
// also counts those that are known later, after other resources have changed.
type PlanEnd struct {
	Summary map[string]int `json:"summary"`
	// Read reports whether the plan was compared with reality.
	Read bool `json:"read"`
	// Agents are the agents that are new or whose address changes.
	Agents []results.PlannedAgent `json:"agents,omitempty"`
	// Refused is why the release of the compared version would be rejected.
	Refused *problem.Failure `json:"refused,omitempty"`
}

// ErrorLine is an error. If the command was ended early, it has the first of the changes made by
// then, and the number of the others.
type ErrorLine struct {
	Error   problem.Failure `json:"error"`
	Changes []Changed       `json:"changes,omitempty"`
	More    int             `json:"more,omitempty"`
}

// StatusLine is the state of an environment.
type StatusLine struct {
	Environment   string               `json:"environment"`
	Version       int                  `json:"version"`
	LatestVersion int                  `json:"latest_version"`
	Counts        map[state.Status]int `json:"counts"`
	Scheduled     int                  `json:"scheduled"`
	Running       int                  `json:"running"`
	Interrupted   []resource.ID        `json:"interrupted,omitempty"`
	Halted        bool                 `json:"halted"`
	PausedAgents  []string             `json:"paused_agents"`
	Waiting       map[string]string    `json:"waiting,omitempty"`
	Agents        []agents.Agent       `json:"agents"`
	Problems      []resources.Problem  `json:"problems"`
}

// ValidLine reports that documents are valid.
type ValidLine struct {
	Valid     bool `json:"valid"`
	Resources int  `json:"resources"`
}

// Read reads the output of a command, as *PlanLine, *PlanEnd, *ErrorLine, *Report, *StatusLine,
// *ValidLine or *Resource. Objects of other commands are nil. Text that is not a JSON object is
// Invalid.
func Read(text []byte) (any, error) {
	var has map[string]json.RawMessage
	if err := json.Unmarshal(text, &has); err != nil {
		return nil, fault.Wrap(fault.Invalid, "read", err)
	}
	all := func(names ...string) bool {
		for _, name := range names {
			if has[name] == nil {
				return false
			}
		}
		return true
	}
	var out any
	switch {
	case all("error"):
		out = new(ErrorLine)
	case all("summary"):
		out = new(PlanEnd)
	case all("id", "resource", "outcome"): // an action
		return nil, nil
	case all("id", "action"):
		out = new(results.PlanLine)
	case all("counts", "problems"):
		out = new(StatusLine)
	case all("valid"):
		out = new(ValidLine)
	case all("counts", "duration_ms"):
		out = new(Report)
	case all("id", "status"):
		out = new(resources.Resource)
	default:
		return nil, nil
	}
	return out, fault.Wrap(fault.Invalid, "read", json.Unmarshal(text, out))
}
