package engine

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// happened counts that an event of a kind has occurred in a run: not that it was drawn, but that
// the engine received it or caused it.
func (r *run) happened(kind string) { r.kinds[kind]++ }

// happenedIf calls happened if the condition is true.
func (r *run) happenedIf(is bool, kind string) {
	if is {
		r.happened(kind)
	}
}

// happenedIn counts the features of a version that comes into force, and its differences from the
// previous version.
func happenedIn(r *run, was, now *content) {
	for _, a := range now.agents {
		r.happenedIf(a.Transport != "local", "agent over "+a.Transport)
		r.happenedIf(a.Lanes > 1, "several lanes")
		r.happenedIf(portOf(a) != 0, "agent with options")
	}
	for _, id := range now.ids {
		happenedOf(r, now.entries[id].res)
	}
	if was == nil {
		return
	}
	r.happenedIf(now.number < was.number, "earlier version in force")
	for _, a := range now.agents {
		if i := slices.IndexFunc(was.agents,
			func(o resource.Agent) bool { return o.Name == a.Name }); i >= 0 {
			b := was.agents[i]
			r.happenedIf(a.Transport != b.Transport, "other transport")
			r.happenedIf(a.Lanes != b.Lanes, "other lanes")
			r.happenedIf(portOf(a) != portOf(b), "other options")
		}
	}
	for _, id := range now.ids {
		if old := was.entries[id]; old != nil {
			happenedTo(r, old.res, now.entries[id].res)
		} else {
			r.happened("resource comes")
			r.happenedIf(id.Type() == typeLabel && was.entries[relabelled(id)] != nil,
				"thing is moved")
		}
	}
	for _, id := range was.ids {
		if old := was.entries[id].res; now.entries[id] == nil {
			r.happenedIf(old.PurgesOnDelete(), "leaves to be purged")
			r.happenedIf(!old.PurgesOnDelete(), "leaves to be let alone")
			r.happenedIf(old.PreventDestroy, "leaves with prevent_destroy")
		}
	}
}

// happenedOf counts the features of a resource.
func happenedOf(r *run, res *resource.Resource) {
	r.happened("type " + res.Type)
	for _, id := range res.Requires {
		r.happenedIf(id.Agent() == res.Agent, "requires on the agent")
		r.happenedIf(id.Agent() != res.Agent, "requires on another agent")
	}
	r.happenedIf(len(res.Subscriptions) > 0, "subscribes by its type")
	r.happenedIf(res.Set != "", "set")
	r.happenedIf(res.Attributes["key"] != nil, "write-only attribute")
	for flag, is := range flagsOf(res) {
		r.happenedIf(is, flag)
	}
	for _, ref := range resource.References(res.Attributes) {
		r.happened("reference to a " + refKind(ref))
	}
}

// flagsOf returns the flags of a resource.
func flagsOf(res *resource.Resource) map[string]bool {
	return map[string]bool{"purged": res.Purged, "purge_on_delete": res.PurgeOnDelete,
		"prevent_destroy": res.PreventDestroy, "report_only": res.ReportOnly,
		"send_event":           res.SendEvent,
		"receive_events false": !res.ReceiveEvents}
}

// happenedTo counts the differences of a resource from the previous version.
func happenedTo(r *run, was, now *resource.Resource) {
	more := func(a, b []resource.ID) bool {
		return slices.ContainsFunc(a, func(id resource.ID) bool { return !slices.Contains(b, id) })
	}
	r.happenedIf(more(now.Requires, was.Requires), "requires more")
	r.happenedIf(more(was.Requires, now.Requires), "requires less")
	before := flagsOf(was)
	for flag, is := range flagsOf(now) {
		r.happenedIf(is != before[flag], "other "+flag)
	}
	r.happenedIf(was.Attributes["v"] != now.Attributes["v"], "other value")
	r.happenedIf(replaces(now.ID) &&
		was.Attributes["fixed"] != now.Attributes["fixed"], "to be replaced: "+now.Type)
	literal := func(res *resource.Resource) bool {
		_, is := res.Attributes["text"].(string)
		return is
	}
	refers := func(res *resource.Resource) bool {
		return len(resource.References(res.Attributes)) > 0
	}
	r.happenedIf(literal(was) && refers(now), "literal becomes reference")
	r.happenedIf(refers(was) && literal(now), "reference becomes literal")
}

// refKind returns the kind of a reference.
func refKind(ref any) string {
	switch ref.(type) {
	case resource.Secret:
		return "secret"
	case resource.Parameter:
		return "parameter"
	case resource.Fact:
		return "fact"
	case resource.File:
		return "file"
	}
	return "something else"
}

// happenedBy counts the features of rows in a commit, and its conflicts.
func happenedBy(r *run, c *state.Commit, out *state.Committed, b before) {
	r.happenedIf(len(out.Conflicts) > 0, "conflict")
	r.happenedIf(len(c.Next) > 0 && !out.Started, "claim refused")
	r.happenedIf(c.Env != nil && c.Env.Wave.Epoch > b.env.Wave.Epoch, "check of everything")
	r.happenedIf(c.Env == nil && b.env.Releasing != 0 &&
		c.Guard.Key == planKey, "release in several commits")
	r.happenedIf(len(c.Forget) > 0, "version forgotten")
	for i := range c.Actions {
		a := &c.Actions[i]
		r.happened("outcome " + string(a.Outcome))
		r.happenedIf(a.Stale, "stale result")
		r.happenedIf(a.Replaced, "replaced")
	}
	for i := range c.AddOutbox {
		r.happened("to follow: " + string(c.AddOutbox[i].Kind))
	}
	written(c, out, func(row *state.Row) {
		was, had := b.rows[row.ID]
		if row.LastAction != was.LastAction {
			r.recorded[row.ID] = r.sched.now
		}
		r.happenedIf(row.Comparison() == state.Undefined, "undefined")
		r.happenedIf(had && len(row.Missing) > 0 && len(row.Missing) < len(was.Missing), "known in part")
		r.happenedIf(row.Block() == state.BlockedYes, "blocked")
		r.happenedIf(row.Block() == state.NeedsDecision, "needs a person")
		r.happenedIf(row.Gone, "row removed")
		r.happenedIf(had && was.Orphaned && !row.Orphaned, "comes back")
		r.happenedIf(strings.Contains(row.Why(), "prevent_destroy"), "replacement prevented")
		if row.Ticket() != 0 && was.Ticket() == 0 && c.Guard.Key == planKey {
			timer := row.Priority == state.PriorityDeployTimer ||
				row.Priority == state.PriorityRepairTimer
			r.happenedIf(timer, "asked for by a timer")
			r.happenedIf(!timer, fmt.Sprintf("asked for with priority %d", row.Priority))
		}
	})
}
