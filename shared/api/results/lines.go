package results

import (
	"southbound/shared/deploy"
	"southbound/shared/diff"
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
	// the replacement creates the new thing before it deletes the old one
	CreateFirst bool `json:"create_before_destroy,omitempty"`
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
	// facts that the apply learns, on which attributes depend
	KnownAfter []deploy.AwaitedFact `json:"known_after_apply,omitempty"`
}

// PlanLineOf returns the line of a resource.
func PlanLineOf(w *deploy.PlannedChange) PlanLine {
	l := PlanLine{w.ID, w.Action, w.Changes, w.Replace, w.CreateFirst, w.Deletes, w.Reason, w.Failed,
		w.ReloadFor, w.MovedFrom, w.Rechecked, w.After, w.KnownAfter}
	if l.Changes == nil {
		l.Changes = map[string]diff.Diff{}
	}
	return l
}

// Planned returns the change of a line: the reverse of PlanLineOf.
func (l *PlanLine) Planned() deploy.PlannedChange {
	return deploy.PlannedChange{ID: l.ID, Action: l.Action, Changes: l.Changes, Replace: l.Replace,
		CreateFirst: l.CreateFirst, Deletes: l.Deletes, Reason: l.Reason, Failed: l.Failed,
		ReloadFor: l.ReloadFor, MovedFrom: l.MovedFrom, Rechecked: l.Rechecked, After: l.After,
		KnownAfter: l.KnownAfter}
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
		if word := l.Word(); word != l.Action {
			out[word]++ // of those with the action
		}
	}
	return out
}
