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

// AgentChange is an agent of a preview that is new or whose connection changes.
type AgentChange struct {
	Name string
	// Place describes the location of the agent for people: "this machine", "ssh
	// deploy@web1.example.com".
	Place string
	New   bool
	// How describes the change of the connection of an agent that is not new. It shows the values
	// of only those options that cannot hold a password.
	How string
	// Rotated is true if only secrets differ, so that the agent stays at the same place.
	Rotated bool
	// Rechecked counts the resources that are checked again and stay unchanged.
	Rechecked int
}

// agentChanges returns the agents of after that are new or whose connection differs from before.
func agentChanges(before, after []resource.Agent) []AgentChange {
	was := make(map[string]resource.Agent, len(before))
	for _, a := range before {
		was[a.Name] = a
	}
	var out []AgentChange
	for _, a := range after {
		old, known := was[a.Name]
		// an agent without a transport only records a pause for a future agent
		if known = known && old.Transport != ""; !known {
			out = append(out, AgentChange{Name: a.Name, Place: placeOf(a), New: true})
		} else if how, rotated := reached(old, a); how != "" {
			out = append(out, AgentChange{Name: a.Name, Place: placeOf(a), How: how,
				Rotated: rotated})
		}
	}
	slices.SortFunc(out, func(a, b AgentChange) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// placeOf describes the location of an agent. It shows the values of only those options that cannot
// hold a password.
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

// recheck corrects the planned changes of resources for which only the secrets of their agent have
// changed: such a resource stays unchanged and is checked again. It counts these resources in
// agents, and returns the reason for each of them.
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

// sayRechecked adds the reason for the check to each resource that was read and stays unchanged.
func sayRechecked(planned []planner.PlannedChange, why map[resource.ID]string) {
	for i := range planned {
		w := &planned[i]
		if reason := why[w.ID]; reason != "" && w.Action == "none" && !w.Failed && w.Reason == "" {
			w.Rechecked, w.Reason = true, reason
		}
	}
}

// sayReached adds the change of the agent's connection to the reason of each planned change on that
// agent. A deletion is made over the new connection, which may lead to a different machine than the
// one on which the object was created. If read is set, the existing reasons come from the new
// machine and are kept. Otherwise they describe the old machine and are replaced.
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

// reached describes how the connection of an agent differs between two descriptions, or returns ""
// if it does not. It shows the values of only those options that cannot hold a password. The result
// rotated is true if only secrets differ.
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

// optionText formats an option of an agent for people.
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
	return resource.HasSecret(v)
}
