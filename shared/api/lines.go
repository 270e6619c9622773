package api

import (
	"encoding/json"

	"southbound/shared/api/problem"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The output of commands with --json is declared here and nowhere else: commands write these types,
// and ReadLine reads them.

// PlanLine is the planned change of one resource, as plan, dryrun and diff write it.
type PlanLine struct {
	ID      resource.ID          `json:"id"`
	Action  string               `json:"action"`
	Changes map[string]diff.Diff `json:"changes"`
	// an update that deletes the thing and creates it again
	Replace bool `json:"replace,omitempty"`
	// undefined: once it is known, the thing is deleted, or replaced
	Deletes bool   `json:"deletes,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// it would fail, or could not be read; action is the last step that was reached
	Failed bool `json:"failed,omitempty"`
	// the changed resources of which it is notified and for which it reloads
	ReloadFor []resource.ID `json:"reload_for,omitempty"`
	// the id that managed the thing before
	MovedFrom resource.ID `json:"moved_from,omitempty"`
	// it is unchanged, and is checked again since the address of its agent changes
	Rechecked bool `json:"rechecked,omitempty"`
	// the first changes that must precede reading its thing
	After []resource.ID `json:"after,omitempty"`
}

// PlanLineOf returns the line of a resource.
func PlanLineOf(w *deploy.PlannedChange) PlanLine {
	l := PlanLine{w.ID, w.Action, w.Changes, w.Replace, w.Deletes, w.Reason, w.Failed,
		w.ReloadFor, w.MovedFrom, w.Rechecked, w.After}
	if l.Changes == nil {
		l.Changes = map[string]diff.Diff{}
	}
	return l
}

// Word describes the planned change in one word.
func (l *PlanLine) Word() string {
	switch {
	case l.Failed:
		return "failed"
	case l.Replace && l.Action == "update":
		return "replace"
	case l.Action == "none" && len(l.ReloadFor) > 0:
		return "reload"
	case l.Action == "none" && len(l.After) > 0:
		return "later"
	case l.Action == "none" && len(l.Changes) > 0:
		return "differs"
	case l.Action == "none" && l.MovedFrom != "":
		return "move"
	}
	return l.Action
}

// SummaryOf summarizes a plan, see PlanEnd.
func SummaryOf(planned []deploy.PlannedChange) map[string]int {
	out := map[string]int{"create": 0, "update": 0, "delete": 0, "none": 0, "orphan": 0,
		"undefined": 0, "failed": 0, "reload": 0, "differs": 0}
	for i := range planned {
		l := PlanLineOf(&planned[i])
		if l.Failed {
			out["failed"]++
			continue
		}
		out[l.Action]++
		if word := l.Word(); word != l.Action && l.Action == "none" {
			out[word]++
		}
	}
	return out
}

// PlanEnd is the last line of a plan: the number of resources by action, and the number of
// resources that would fail. For resources whose action is none, it counts those that reload, those
// that are only compared and differ, and those that are moved from another id without a change. It
// also counts those that are known later, after other resources have changed.
type PlanEnd struct {
	Summary map[string]int `json:"summary"`
	// Read reports whether the plan was compared with reality.
	Read bool `json:"read"`
	// Agents are the agents that are new or whose address changes.
	Agents []PlannedAgent `json:"agents,omitempty"`
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
	Agents        []Agent              `json:"agents"`
	Problems      []Problem            `json:"problems"`
}

// ValidLine reports that documents are valid.
type ValidLine struct {
	Valid     bool `json:"valid"`
	Resources int  `json:"resources"`
}

// ReadLine reads the output of a command, as *PlanLine, *PlanEnd, *ErrorLine, *Report, *StatusLine,
// *ValidLine or *Resource. Objects of other commands are nil. Text that is not a JSON object is
// Invalid.
func ReadLine(text []byte) (any, error) {
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
		out = new(PlanLine)
	case all("counts", "problems"):
		out = new(StatusLine)
	case all("valid"):
		out = new(ValidLine)
	case all("counts", "duration_ms"):
		out = new(Report)
	case all("id", "status"):
		out = new(Resource)
	default:
		return nil, nil
	}
	return out, fault.Wrap(fault.Invalid, "read", json.Unmarshal(text, out))
}
