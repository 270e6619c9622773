package deploy

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// AgentChange is an agent of a preview that is new, or is reached in another way.
type AgentChange struct {
	Name string
	// Place is where the agent is, for people: "this machine", "ssh deploy@web1.example.com".
	Place string
	New   bool
	// How says how an agent that is not new is reached in another way. Of options only those are
	// shown that cannot hold a password.
	How string
	// Rotated: only secrets differ, so that the agent is at the same place.
	Rotated bool
	// Rechecked counts the resources that are checked again and stay as they are.
	Rechecked int
}

// agentChanges returns the agents of after that are new or are reached in another way.
func agentChanges(before, after []resource.Agent) []AgentChange {
	was := make(map[string]resource.Agent, len(before))
	for _, a := range before {
		was[a.Name] = a
	}
	var out []AgentChange
	for _, a := range after {
		old, known := was[a.Name]
		if known = known && old.Transport != ""; !known { // a pause is kept for agents to come
			out = append(out, AgentChange{Name: a.Name, Place: placeOf(a), New: true})
		} else if how, rotated := reached(old, a); how != "" {
			out = append(out, AgentChange{Name: a.Name, Place: placeOf(a), How: how,
				Rotated: rotated})
		}
	}
	slices.SortFunc(out, func(a, b AgentChange) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// placeOf says where an agent is. Of its options it shows only those that cannot hold a password.
func placeOf(a resource.Agent) string {
	text := func(name string) string {
		switch v := a.Options[name].(type) {
		case string:
			return v
		case int64:
			return fmt.Sprint(v)
		}
		return ""
	}
	host := text("host")
	if u, err := url.Parse(text("url")); err == nil && u.Host != "" {
		host = u.Scheme + "://" + u.Host
	} else if host != "" {
		if port := text("port"); port != "" {
			host += ":" + port
		}
		if user := text("user"); user != "" {
			host = user + "@" + host
		}
	} else {
		host = text("region")
	}
	if a.Transport == "local" {
		return "this machine"
	}
	return strings.TrimSpace(a.Transport + " " + host)
}

// recheck corrects what is planned of resources for which only the secrets of their agent have
// changed: these resources stay as they are and are checked again. It returns why, by resource, and
// counts them.
func recheck(planned []planner.PlannedChange, agents []AgentChange) map[resource.ID]string {
	rotated := map[string]*AgentChange{}
	for i := range agents {
		if agents[i].Rotated {
			rotated[agents[i].Name] = &agents[i]
		}
	}
	out := map[resource.ID]string{}
	for i := range planned {
		w := &planned[i]
		a := rotated[w.ID.Agent()]
		if w.Rechecked = w.Rechecked && a != nil; w.Rechecked {
			w.Action, w.Reason = "none", fmt.Sprintf("checked again, since %s of agent %s changes",
				a.How, a.Name)
			out[w.ID] = w.Reason
			a.Rechecked++
		}
	}
	return out
}

// sayRechecked says of what was read and stays as it is why it was checked again.
func sayRechecked(planned []planner.PlannedChange, why map[resource.ID]string) {
	for i := range planned {
		w := &planned[i]
		if reason := why[w.ID]; reason != "" && w.Action == "none" && !w.Failed && w.Reason == "" {
			w.Rechecked, w.Reason = true, reason
		}
	}
}

// sayReached says of planned changes why they are made where their agent comes to be reached in
// another way, and of what leaves that it is removed there: it may be another machine than the one
// on which it was made. The reasons that there are stay if they were read there; what was said of
// the other machine does not matter.
func sayReached(planned []planner.PlannedChange, agents []AgentChange, read bool) {
	now := map[string]string{}
	for _, a := range agents {
		if a.How != "" {
			now[a.Name] = a.How
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
// Of its options only those are shown that cannot hold a password. rotated: only secrets differ.
func reached(old, now resource.Agent) (how string, rotated bool) {
	old.Lanes = now.Lanes
	if state.SameAgents([]resource.Agent{old}, []resource.Agent{now}) {
		return "", false
	}
	var out []string
	rotated = old.Transport == now.Transport
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
			continue
		case name == "host" || name == "port" || name == "user":
			out = append(out, fmt.Sprintf("%s %s -> %s", name, optionText(from), optionText(to)))
		default:
			out = append(out, name)
		}
		rotated = rotated && holdsSecret(from) && holdsSecret(to)
	}
	return strings.Join(out, ", "), rotated
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

// holdsSecret reports whether the value of an option refers to a secret.
func holdsSecret(v any) bool {
	return slices.ContainsFunc(resource.References(v), func(ref any) bool {
		_, is := ref.(resource.Secret)
		return is
	})
}
