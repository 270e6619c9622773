package services

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// restSteps and restStep bound the time until all tasks are done after the last fault.
const (
	restSteps = 60
	restStep  = 5 * time.Second
	// lastCall is the time until the last call that began during the faults ends.
	lastCall = 155 * time.Second
	// lastLook is the time within which all resources are checked.
	lastLook = 70 * time.Second
	// A visited instance that follows resources of others learns of them when all instances are
	// visited. That can take two intervals, because the first visit of all may come just too soon
	// after the previous one.
	lastLookOfFollowers = 2*againEvery + 10*time.Second
)

// rest heals the world, and checks the final state.
func (r *run) rest() {
	r.bench.Heal()
	r.bench.Tracef("--- what is left; mended: %v", r.world.mend())
	r.bench.Run(r.bench.Now() + lastCall)
	asked, quiet := false, 0
	for n := 0; r.bench.Violation() == nil; n++ {
		r.bench.Run(r.bench.Now() + restStep)
		switch {
		case n == restSteps:
			r.bench.Violate("I1", "there is no end: %s", r.open())
		case slices.Contains(r.runners, nil) || r.asking > 0 || r.open() != "":
			quiet = 0
		case !asked:
			asked = true
			r.ask(&Op{Kind: opRepair})
		case quiet == 0: // outcomes of resources are checked periodically
			quiet++
			look := lastLook
			if r.plan.Visits && len(r.followed) > 0 {
				look = lastLookOfFollowers
			}
			r.bench.Run(r.bench.Now() + look)
		default:
			if r.rows()[page(stored)].Row != nil && !r.released {
				r.bench.Violate("I5", "an order has released what was only stored")
			}
			for _, id := range sorted(r.instances.look(env)) {
				r.checkRest(r.instances.look(env)[id])
			}
			return
		}
	}
}

// open describes the first task that is not done; "" if there is none.
func (r *run) open() string {
	all := r.instances.look(env)
	for _, id := range sorted(all) {
		if rec := &all[id].record; len(rec.Tasks) > 0 || rec.Validating != "" {
			return fmt.Sprintf("%s is in the state %s, with the tasks %v and the problems %s",
				id, rec.State, rec.Tasks, rec.Problems)
		}
	}
	for _, row := range r.rows() {
		status := row.Status()
		if !row.Orphaned && (row.Ticket() != 0 || status == state.StatusAvailable) {
			return fmt.Sprintf("%s is %s", row.ID, status)
		}
	}
	return ""
}

// checkRest checks the final state of an instance.
func (r *run) checkRest(i *instance) {
	rec := &i.record
	r.happened("rest " + rec.State)
	k, err := r.definitions.Of(context.Background(), env, rec.Service, rec.ServiceVersion,
		rec.Definition)
	if err != nil {
		r.bench.Violate("I6", "the definition of %s is not there: %v", rec.ID, err)
		return
	}
	next, err := lifecycle.Step(&k.Service.Lifecycle, rec.Instance, lifecycle.Auto{})
	if err != nil || next.Taken != nil || len(next.Effects) > 0 {
		r.bench.Violate(
			"I1",
			"%s is in the state %s, and goes on to nowhere: %v",
			rec.ID,
			rec.State,
			err,
		)
	}
	r.checkSaid(rec)
	r.checkModel(rec)
	r.checkPages(rec, &k.Service.Lifecycle)
}

// checkSaid checks that the last request was not lost: I1.
func (r *run) checkSaid(rec *inventory.Record) {
	s, ok := r.said[rec.ID]
	if !ok {
		return
	}
	if s.deletes {
		failed := slices.Contains([]string{"deleting_failed", "delete_rejected"}, rec.State)
		if !rec.Deleted && !failed && rec.Closed {
			r.bench.Violate("I1", "%s was to be deleted, and is in the state %s", rec.ID, rec.State)
		}
		return
	}
	if rec.Deleted {
		r.bench.Violate("I1", "%s is deleted, and nobody has asked for it", rec.ID)
		return
	}
	for _, set := range []map[string]any{rec.Candidate, rec.Active, rec.Rollback} {
		if holds(set, s.gives) {
			return
		}
	}
	r.bench.Violate("I1", "%s has not what was asked for: %v", rec.ID, s.gives)
}

// holds reports whether a set contains all given values.
func holds(set, given map[string]any) bool {
	if set == nil {
		return false
	}
	for name, v := range given {
		if fmt.Sprint(set[name]) != fmt.Sprint(v) {
			return false
		}
	}
	return true
}

// checkPages checks that an instance has exactly its own pages: I5, and "rest".
func (r *run) checkPages(rec *inventory.Record, m *lifecycle.Machine) {
	var has []resource.ID
	rows := r.rows()
	for id, row := range rows {
		if row.set == rec.ID && !row.Orphaned && id != page(claimed) {
			has = append(has, id)
		}
	}
	to, _ := m.State(rec.State)
	if rec.Deleted || !to.ExportResources {
		if len(has) > 0 {
			r.bench.Violate("I5", "%s is in the state %s, and has %v", rec.ID, rec.State, has)
		}
		return
	}
	if to.PurgeResources {
		return
	}
	if len(rec.Problems) > 0 && rec.Outcome != lifecycle.Deployed { // it records the reason
		if rec.Outcome == lifecycle.Failed && rec.Exported == rec.Desired && deployed(rec, rows) {
			r.bench.Violate("rest", "%s is in the state %s, and all of its resources are well: %s",
				rec.ID, rec.State, rec.Problems)
		}
		return
	}
	if rec.Outcome != lifecycle.Deployed {
		r.bench.Violate("rest", "%s is in the state %s, and nothing is wrong: %q", rec.ID,
			rec.State,
			rec.Outcome)
	}
	if len(has) != 1 {
		r.bench.Violate("rest", "%s is in the state %s, and has %v", rec.ID, rec.State, has)
		return
	}
	if got := r.world.pages[has[0]]; r.world.late[has[0]] {
		r.happened("change by a holder that is too late")
	} else if got != rows[has[0]].text || !r.shows(rec, got) {
		r.bench.Violate("rest", "%s of %s shows %q, and is to show %q", has[0], rec.ID, got,
			rows[has[0]].text)
	}
	if _, there := r.world.pages[page("top")]; rec.Service == "site" && !there &&
		!r.world.late[page("top")] {
		r.bench.Violate("I5", "%s needs what is shared, and it is not there", rec.ID)
	}
}

// deployed reports whether all own and followed resources of an instance are deployed.
func deployed(rec *inventory.Record, rows map[resource.ID]row) bool {
	for _, id := range rec.Resources {
		if rows[resource.ID(id)].Row == nil {
			return false
		}
	}
	for _, id := range slices.Concat(rec.Resources, rec.Follows) {
		row := rows[resource.ID(id)]
		if row.Row != nil && !row.Orphaned && row.Status() != state.StatusDeployed {
			return false
		}
	}
	return true
}

// shows reports whether a page shows the attributes of an instance.
func (r *run) shows(rec *inventory.Record, text string) bool {
	if rec.Service != "site" {
		return true
	}
	for i := range r.models.offers {
		is := fmt.Sprintf("%v%s %v %v", rec.Active["text"], r.models.offers[i].mark,
			rec.Active["fixed"], rec.Active["port"])
		if reflect.DeepEqual(is, text) {
			return true
		}
	}
	return false
}
