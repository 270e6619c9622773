package output

import (
	"fmt"
	"maps"
	"strings"

	"southbound/shared/deploy"
	"southbound/shared/diff"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// LeftText counts the resources that left the documents and are not deleted.
func LeftText(n int) string {
	if n == 1 {
		return "1 left the documents and stays as it is"
	}
	return fmt.Sprintf("%d left the documents and stay as they are", n)
}

// SayUnread reports that a plan was not compared with reality.
func SayUnread(c *Console) {
	c.Say("machines were not read: the plan lacks drift and commands that would run")
}

// TooLate is the error for a timeout before an operation was done. It names the resources that were
// not compared with reality.
func TooLate(before string, left []string) error {
	what := ""
	if len(left) > 0 {
		what = ": resources on " + Named(left)
	}
	return fault.New(fault.Timeout, "",
		"the time to wait ran out before %s%s; nothing was changed", before, what).
		WithHint("--timeout may be longer; a FILTER looks at less")
}

// deletesLater describes the deletion that follows once an undefined value is known.
func deletesLater(w *deploy.PlannedChange) string {
	if !w.Deletes {
		return ""
	}
	return "; the object is deleted when the value is known"
}

// replacedHow returns the order of a replacement, where it is not the usual one.
func replacedHow(w *deploy.PlannedChange) string {
	if !w.CreateFirst {
		return ""
	}
	return " (create before destroy)"
}

// Because returns a reason in the form that follows the action it explains.
func Because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// knownChanges returns the changes of a planned change for people.
func knownChanges(w *deploy.PlannedChange) map[string]diff.Diff {
	if len(w.KnownAfter) == 0 {
		return w.Changes
	}
	return diffview.KnownAfterApply(w.Changes)
}

// changing names the changing resources.
func changing(ids []resource.ID) string {
	if len(ids) == 1 {
		return string(ids[0]) + " changes"
	}
	return fmt.Sprintf("%s and %d more change", ids[0], len(ids)-1)
}

// nothingToDo summarizes a plan of n resources without any work.
func nothingToDo(n int) string {
	if n == 1 {
		return "nothing to do; it is as described"
	}
	return fmt.Sprintf("nothing to do; all %d are as described", n)
}

// PlanText summarizes a plan in words.
func PlanText(summary map[string]int) string {
	var parts []string
	summary = maps.Clone(summary)
	summary["none"] -= summary["reload"] + summary["differs"] + summary["move"] + summary["later"]
	summary["update"] -= summary["replace"]
	for _, p := range []struct{ action, text string }{{"create", "to create"},
		{"update", "to update"}, {"replace", "to replace"}, {"reload", "to reload"}, {"move", "to move"}, {"delete", "to delete"},
		{"orphan", ""},
		{"undefined", "undefined"}, {"differs", "only compared, and different"}, {"failed", "would fail, or could not be read"},
		{"later", "known after others change"},
		{"none", "as they are"}} {
		if n := summary[p.action]; n > 0 {
			text := fmt.Sprintf("%d %s", n, p.text)
			if p.action == "orphan" {
				text = LeftText(n)
			}
			parts = append(parts, text)
		}
	}
	switch n := summary["none"]; {
	case len(parts) == 0:
		return "nothing there"
	case len(parts) == 1 && n > 0:
		return nothingToDo(n)
	}
	return strings.Join(parts, ", ")
}
