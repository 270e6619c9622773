package console

import (
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

func TestSentence(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 10, 41, 7, 0, time.UTC)
	next := at.Add(2 * time.Minute)
	last := &api.Action{Finished: at}
	of := func(status state.Status, change func(*api.Detail)) *api.Detail {
		d := &api.Detail{Resource: api.Resource{ID: "x::Y[a,k=v]", Status: status}, Last: last}
		if change != nil {
			change(d)
		}
		return d
	}
	tests := map[string]struct {
		d    *api.Detail
		want string
	}{
		"Deployed": {of(state.StatusDeployed, func(d *api.Detail) { d.SeenAt = &at }),
			"deployed, and as desired when it was last checked 10:41:07"},
		"Drifted": {of(state.StatusDeployed, func(d *api.Detail) {
			d.SeenAt, d.Desired, d.Seen = &at, map[string]any{"a": "b"}, map[string]any{"a": "c"}
		}), "deployed, but not as desired when it was last read 10:41:07"},
		"Failed": {of(state.StatusFailed, func(d *api.Detail) {
			d.Attempts, d.Reason, d.NextAt = 3, "no space left", &next
		}), "failed 3 times in a row, last 10:41:07: no space left; due again 10:43:07"},
		"FailedForGood": {of(state.StatusFailed, func(d *api.Detail) { d.Reason = "bad mode" }),
			"failed 10:41:07: bad mode; not tried again automatically: change the model, or retry it"},
		"Skipped": {of(state.StatusSkipped, func(d *api.Detail) {
			d.Causes = []resource.ID{"x::Y[a,k=w]"}
		}), "skipped, because of x::Y[a,k=w]; runs when the cause recovers"},
		"ManyCauses": {of(state.StatusSkipped, func(d *api.Detail) {
			d.Causes = []resource.ID{"1", "2", "3", "4", "5"}
		}), "skipped, because of 1, 2, 3 and 2 more; runs when the cause recovers"},
		"OwnCause": {of(state.StatusFailed, func(d *api.Detail) {
			d.Causes, d.Reason = []resource.ID{d.ID}, "boom"
		}), "failed 10:41:07: boom; not tried again automatically: change the model, or retry it"},
		"Undefined": {of(state.StatusUndefined, func(d *api.Detail) {
			d.Reason, d.Parameter = "unknown parameter region", "region"
		}), "undefined: a desired value is not known yet: unknown parameter region; set the parameter region"},
		"Waits": {of(state.StatusAvailable, func(d *api.Detail) { d.Waits = "agent a is paused" }),
			"available: it differs from the deployed state and waits for its run; it waits: agent a is paused"},
		"Decision": {of(state.StatusBlocked, func(d *api.Detail) { d.Blocked = state.NeedsDecision }),
			"blocked: a create may have happened, and a person must find out; look at the real thing, then retry it"},
		"Interrupted": {of(state.StatusDeployed, func(d *api.Detail) { d.Interrupted = true }),
			"deployed; its run was interrupted, and no process has taken it up yet"},
		"Orphaned": {of(state.StatusOrphaned, nil), "orphaned: it left the model, and is no longer managed"},
		"Hostile": {of(state.StatusFailed, func(d *api.Detail) { d.Reason = "a\x1b\u202eb" }),
			`failed 10:41:07: a\x1b\u202eb; not tried again automatically: change the model, or retry it`},
	}
	for name, tc := range tests {
		var b strings.Builder
		for _, p := range sentenceOf(tc.d) {
			b.WriteString(p.Text + string(p.Resource))
			if !p.At.IsZero() {
				b.WriteString(p.At.Format("15:04:05"))
			}
		}
		if b.String() != tc.want {
			t.Errorf("%s: %s", name, b.String())
		}
	}
	for _, s := range api.Statuses() {
		if len(sentenceOf(of(s, nil))) == 0 {
			t.Errorf("%s has no sentence", s)
		}
	}
}
