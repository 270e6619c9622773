package console

import (
	"fmt"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// phrase is a part of a sentence: a text, a resource, or a point in time.
type phrase struct {
	Text     string
	Resource resource.ID
	At       time.Time
}

func say(format string, args ...any) phrase { return phrase{Text: fmt.Sprintf(format, args...)} }

// maxCauses is how many root causes a sentence names.
const maxCauses = 3

// sentenceOf describes the status of a resource in one sentence, as a person would: what it is, since
// when and why, and what happens next.
func sentenceOf(d *api.Detail) []phrase {
	out := append(beginOf(d), whyOf(d)...)
	return append(out, nextOf(d)...)
}

// beginOf returns the status with the time of the last action.
func beginOf(d *api.Detail) []phrase {
	at := func(verb string) []phrase {
		if d.Last == nil {
			return []phrase{say("%s", verb)}
		}
		return []phrase{say("%s ", verb), {At: d.Last.Finished}}
	}
	switch d.Status {
	case state.StatusDeployed:
		if d.SeenAt != nil && drifted(d) {
			return []phrase{say("deployed, but not as desired when it was last read "), {At: *d.SeenAt}}
		}
		if d.SeenAt != nil {
			return []phrase{say("deployed, and as desired when it was last checked "), {At: *d.SeenAt}}
		}
		return []phrase{say("deployed")}
	case state.StatusFailed:
		if d.Attempts > 1 {
			return at(fmt.Sprintf("failed %d times in a row, last", d.Attempts))
		}
		return at("failed")
	case state.StatusUnavailable:
		return at("unavailable: its agent could not be reached, or no process has its handler, last tried")
	case state.StatusNonCompliant:
		return at("non_compliant: it is only reported, and differed")
	case state.StatusDeploying:
		return []phrase{say("deploying: its handler runs now")}
	case state.StatusAvailable:
		return []phrase{say("available: it differs from the deployed state and waits for its run")}
	case state.StatusOrphaned:
		return []phrase{say("orphaned: it left the model, and is no longer managed")}
	case state.StatusUndefined:
		return []phrase{say("undefined: a desired value is not known yet")}
	case state.StatusBlocked:
		if d.Blocked == state.NeedsDecision {
			return []phrase{say("blocked: a create may have happened, and a person must find out")}
		}
		return []phrase{say("blocked: it requires a resource with an unknown value")}
	}
	return []phrase{say("%s", d.Status)}
}

// drifted reports whether a known seen value differs from the desired one, as after a dry run.
func drifted(d *api.Detail) bool {
	differ, _ := attributesOf(d.Desired, d.Seen, d.Seen != nil, false)
	return len(differ) > 0
}

// whyOf returns the root causes of a skip, else the reason.
func whyOf(d *api.Detail) []phrase {
	var out []phrase
	for i, id := range d.Causes {
		if id == d.ID {
			continue
		}
		if i == maxCauses {
			out = append(out, say(" and %d more", len(d.Causes)-i))
			break
		}
		text := ", because of "
		if len(out) > 0 {
			text = ", "
		}
		out = append(out, phrase{Text: text}, phrase{Resource: id})
	}
	if len(out) == 0 && d.Reason != "" && d.Status != state.StatusDeployed {
		out = append(out, say(": %s", line(cutEnd(d.Reason, maxReason))))
	}
	return out
}

// nextOf returns what happens next.
func nextOf(d *api.Detail) []phrase {
	switch {
	case d.Interrupted:
		return []phrase{say("; its run was interrupted, and no process has taken it up yet")}
	case d.Waits != "":
		return []phrase{say("; it waits: %s", line(cutEnd(d.Waits, maxReason)))}
	case d.NextAt != nil:
		return []phrase{say("; due again "), {At: *d.NextAt}}
	}
	switch d.Status {
	case state.StatusFailed, state.StatusUnavailable:
		return []phrase{say("; not tried again automatically: change the model, or retry it")}
	case state.StatusSkipped:
		return []phrase{say("; runs when the cause recovers")}
	case state.StatusUndefined:
		if d.Parameter != "" {
			return []phrase{say("; set the parameter %s", line(d.Parameter))}
		}
		return []phrase{say("; runs when the value is known")}
	case state.StatusBlocked:
		if d.Blocked == state.NeedsDecision {
			return []phrase{say("; look at the real thing, then retry it")}
		}
		return []phrase{say("; runs when the value is known")}
	}
	return nil
}

// maxReason is the length of a shown reason, in characters.
const maxReason = 2000

// vector is the state of a resource in its four parts.
type vector struct{ Name, Value, Meaning string }

// vectorOf returns the parts of a resource's state with their meanings.
func vectorOf(r *api.Resource) []vector {
	deploying := "no"
	if r.Deploying {
		deploying = "yes"
	}
	return []vector{
		{"compliance", string(r.Compliance), complianceMeaning(r.Compliance)},
		{"last run", string(r.LastRun), lastRunMeaning(r.LastRun)},
		{"blocked", string(r.Blocked), blockedMeaning(r.Blocked)},
		{"deploying", deploying, map[bool]string{true: "a handler runs now", false: "no handler runs now"}[r.Deploying]},
	}
}

func complianceMeaning(c state.Compliance) string {
	return map[state.Compliance]string{
		state.HasUpdate:    "the desired state was not deployed yet",
		state.Compliant:    "as desired when last seen",
		state.NonCompliant: "not as desired when last seen",
		state.Undefined:    "a desired value is not known yet",
	}[c]
}

func lastRunMeaning(l state.LastRun) string {
	return map[state.LastRun]string{
		state.RunNew:     "no run has ended yet",
		state.RunSuccess: "the last run ended well",
		state.RunFailed:  "the last run failed",
		state.RunSkipped: "the last run was skipped",
	}[l]
}

func blockedMeaning(b state.Blocked) string {
	return map[state.Blocked]string{
		state.NotBlocked:    "it may run",
		state.BlockedYes:    "it requires an unknown value",
		state.BlockedTemp:   "a requirement failed; it runs when the requirement recovers",
		state.NeedsDecision: "a create may have happened; a person decides",
	}[b]
}
