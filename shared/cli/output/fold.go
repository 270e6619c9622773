package output

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy"
	render "southbound/shared/internal/report"
	"southbound/shared/resource"
)

// Folded groups equal items of several agents; with --unfold each item is a group of its own.
func Folded[T any](c *Console, items []T, key func(item *T) (key, agent string)) []render.Folded {
	return render.Fold(items, func(item *T) (string, string) {
		if c.Unfold {
			return "", ""
		}
		return key(item)
	})
}

// AgentsOfFold returns the agents of a group.
func AgentsOfFold(g render.Folded, id func(i int) resource.ID) []string {
	out := make([]string, 0, len(g))
	for _, i := range g {
		out = append(out, id(i).Agent())
	}
	return out
}

// ShowSteps shows the actions of a plan, with equal actions of several agents once. Resources that
// would fail for one reason share one line.
func ShowSteps(c *Console, planned []deploy.PlannedChange) {
	alike := failedAlike(c, planned)
	id := func(i int) resource.ID { return planned[i].ID }
	for _, g := range Folded(c, planned, stepKey) {
		w := &planned[g[0]]
		l := api.PlanLineOf(w)
		word := l.Word()
		others := alike[reasonOf(w)]
		if !w.Failed || len(others) < 2 || len(others) == len(g) {
			showStep(c, w, word, render.Same(AgentsOfFold(g, id)))
		} else if w.ID == others[0] {
			c.Printf("%-9s %s and %d more for the same reason: %s\n    %s\n", word, w.ID,
				len(others)-1, w.Reason, FirstIDs(others[1:], maxAlike))
		}
	}
}

// stepKey identifies a planned action regardless of its agent.
func stepKey(w *deploy.PlannedChange) (key, agent string) {
	l := api.PlanLineOf(w)
	return render.StepKey(&l)
}

// maxAlike is how many further resources with the same reason for failure are named.
const maxAlike = 20

// reasonOf returns why a resource would fail, regardless of its agent.
func reasonOf(w *deploy.PlannedChange) string { return render.AnywhereIn(w.Reason, w.ID) }

// failedAlike groups the resources that would fail, or could not be read, by their reason. If an
// agent is unreachable, a long reason is then shown once and not for every resource.
func failedAlike(c *Console, planned []deploy.PlannedChange) map[string][]resource.ID {
	out := map[string][]resource.ID{}
	for i := range planned {
		if w := &planned[i]; w.Failed && !c.Unfold {
			out[reasonOf(w)] = append(out[reasonOf(w)], w.ID)
		}
	}
	return out
}

// ChangeKey identifies a change regardless of its agent.
func ChangeKey(x *api.Changed) (key, agent string) {
	return fmt.Sprintf("%s %s %t %q", render.Anywhere(x.ID), x.Change, x.Replaced, x.Attributes),
		x.ID.Agent()
}

// tookKey is the member of log lines with the duration of a command.
const tookKey = "duration_ms"

// ActionKey identifies the changes and messages of an action, regardless of its agent and time.
func ActionKey(x *api.Action) (key, agent string) {
	of := x.Resource
	var lines strings.Builder
	for _, l := range x.Messages {
		given := maps.Clone(l.Kwargs)
		delete(given, tookKey)
		kwargs, err := json.Marshal(given)
		if err != nil {
			return "", ""
		}
		fmt.Fprintf(&lines, "%s %s %s\n", l.Level, l.Msg, kwargs)
	}
	changes, err := json.Marshal(x.Changes)
	if err != nil {
		return "", ""
	}
	return fmt.Sprintf("%s %s %s %s %t %d %q %q %q %s\n%s", render.Anywhere(of), x.Action, x.Outcome,
		x.Change, x.Replaced, x.Version, render.AnywhereIn(x.Reason, of), x.Provider, x.Why, changes,
		render.AnywhereIn(lines.String(), of)), of.Agent()
}
