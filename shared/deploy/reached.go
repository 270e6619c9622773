package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// sayReached says of planned changes why they are made where their agent comes to be reached in
// another way, and of what leaves that it is removed there: it may be another machine than the one
// on which it was made. The reasons that there are stay if they were read there; what was said of
// the other machine does not matter.
func sayReached(
	planned []planner.PlannedChange, before, after []resource.Agent, read bool,
) {
	was := make(map[string]resource.Agent, len(before))
	for _, a := range before {
		was[a.Name] = a
	}
	now := map[string]string{}
	for _, a := range after {
		if old, known := was[a.Name]; known {
			if how := reached(old, a); how != "" {
				now[a.Name] = how
			}
		}
	}
	if len(now) == 0 {
		return
	}
	for i := range planned {
		w := &planned[i]
		how := now[w.ID.Agent()]
		if how == "" || w.Failed || w.Reason == planner.ReportOnly {
			continue
		}
		why, more := fmt.Sprintf("agent %s is reached in another way (%s)", w.ID.Agent(), how), ""
		if read && w.Reason != "" {
			more = "; " + w.Reason
		}
		switch w.Action {
		case "delete":
			w.Reason = why + ", and it is removed there" + more
		case "create", "update":
			w.Reason = why + more
		}
	}
}

// reached says how another description of an agent differs in how it is reached; "" if it does not.
// Of its options only those are shown that cannot hold a password.
func reached(old, now resource.Agent) string {
	old.Lanes = now.Lanes
	if state.SameAgents([]resource.Agent{old}, []resource.Agent{now}) {
		return ""
	}
	var out []string
	if old.Transport != now.Transport {
		out = append(out, fmt.Sprintf("transport %s -> %s", old.Transport, now.Transport))
	}
	names := maps.Clone(old.Options)
	if names == nil {
		names = map[string]any{}
	}
	maps.Copy(names, now.Options)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		from, to := old.Options[name], now.Options[name]
		switch {
		case resource.Equal(from, to):
		case name == "host" || name == "port" || name == "user":
			out = append(out, fmt.Sprintf("%s %s -> %s", name, optionText(from), optionText(to)))
		default:
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// optionText is an option of an agent for people.
func optionText(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string, int64:
		return fmt.Sprint(v)
	default:
		return "another"
	}
}
