package orders

import (
	"testing"

	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// TestStandingOf gives each instance the standing that decides whether a rollout, or the way back, has
// still something to do with it: nothing that is under way or has failed counts as done.
func TestStandingOf(t *testing.T) {
	t.Parallel()
	d := &definition.Service{Name: "site", Lifecycle: lifecycle.Machine{
		States: []lifecycle.State{
			{Name: "up", Label: "success", ExportResources: true},
			{Name: "failed", Label: "danger", ExportResources: true},
			{Name: "leaving", ExportResources: true, PurgeResources: true},
			{Name: "rejected", Label: "warning"},
		},
		Transfers: []lifecycle.Transfer{
			{Source: "up", Target: "up", Error: "failed", ResourceBased: true},
			{Source: "failed", Target: "up", Error: "failed", ResourceBased: true},
			{Source: "up", Target: "leaving", OnDelete: true},
		},
	}}
	goal := inventory.Goal{ServiceVersion: 1, Definition: "d2", Model: "m2"}
	has := func(definition, model, state string, o lifecycle.Outcome) inventory.Record {
		return inventory.Record{
			Service: "site", ServiceVersion: 1, Definition: definition, Model: model,
			Instance: lifecycle.Instance{State: state, Outcome: o}, Resources: []string{"r"},
		}
	}
	moved := func(r inventory.Record, to string, back bool) inventory.Record {
		r.Rollout = &inventory.Rollout{From: inventory.Goal{Model: "m1"}, To: to, Back: back}
		if back {
			r.Pinned = "m1"
		}
		return r
	}
	under := func(r inventory.Record, k inventory.TaskKind) inventory.Record {
		r.Tasks = []inventory.Task{{Kind: k}}
		return r
	}
	asked := func(r inventory.Record, back bool) inventory.Record {
		r.Rolling = &inventory.Move{Goal: goal, Back: back}
		return under(r, inventory.TaskRollout)
	}
	old, oldFailed := has("d1", "m1", "up", lifecycle.Deployed), has("d1", "m1", "failed", lifecycle.Failed)
	now, nowFailed := has("d2", "m2", "up", lifecycle.Deployed), has("d2", "m2", "failed", lifecycle.Failed)
	for name, c := range map[string]struct {
		record inventory.Record
		want   Standing
	}{
		"never moved":               {old, StandingBehind},
		"never moved, failed":       {oldFailed, StandingBehind},
		"never moved, ordered":      {under(old, inventory.TaskExport), StandingBehind},
		"new":                       {now, StandingCurrent},
		"new, failed":               {nowFailed, StandingCurrent},
		"new, ordered":              {under(now, inventory.TaskExport), StandingCurrent},
		"asked":                     {asked(old, false), StandingMoving},
		"moved, exported":           {under(moved(now, "m2", false), inventory.TaskExport), StandingMoving},
		"moved, watched":            {under(moved(now, "m2", false), inventory.TaskWatch), StandingMoving},
		"moved, resources unknown":  {moved(has("d2", "m2", "up", lifecycle.Pending), "m2", false), StandingMoving},
		"moved, model not exported": {under(moved(old, "m2", false), inventory.TaskExport), StandingMoving},
		"moved":                     {moved(now, "m2", false), StandingCurrent},
		"moved, failed":             {moved(nowFailed, "m2", false), StandingFailed},
		"moved to another model":    {moved(old, "m1", false), StandingBehind},
		"asked to come back":        {asked(moved(now, "m2", false), true), StandingMoving},
		"back, exported":            {under(moved(old, "m2", true), inventory.TaskExport), StandingMoving},
		"back, watched":             {under(moved(old, "m2", true), inventory.TaskWatch), StandingMoving},
		"back":                      {moved(old, "m2", true), StandingBehind},
		"back, failed":              {moved(oldFailed, "m2", true), StandingFailed},
		"leaving":                   {has("d1", "m1", "leaving", lifecycle.Pending), StandingLeaving},
		"never deployed":            {has("d1", "", "rejected", ""), StandingLeaving},
	} {
		if got := standingOf(&c.record, d, goal); got != c.want {
			t.Errorf("%s: it is %s, expected %s", name, got, c.want)
		}
	}
}
