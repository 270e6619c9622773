package engine

import (
	"fmt"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// checkRows checks that every resource has reached a final state with a reason: invariants D4 and
// D6.
func checkRows(r *run) {
	e, eff := r.state.read(env), r.books.effect
	if eff == nil {
		return
	}
	for _, a := range r.books.released.agents {
		if have := e.agents[a.Name]; !sameAgent(have.Agent, a) {
			r.violate("V1", "version %d has agent %+v, and %+v is stored", r.books.released.number,
				a, have)
		}
	}
	for i, id := range eff.ids {
		row, it := e.rows[id], r.books.released.entries[id]
		switch {
		case row == nil && it == nil: // removed
			continue
		case row == nil:
			r.violate("D4", "%s is in version %d and has no state", id, r.books.released.number)
		case it == nil:
			checkRemoving(r, row, i)
		case row.Orphaned || row.Removing:
			r.violate("D4", "%s is in version %d and counts as having left it", id,
				r.books.released.number)
		case len(resource.References(it.res.Attributes)) == 0 && row.Hash != it.hash:
			r.violate("D5", "%s is to be %s and its row says %s", id, it.hash, row.Hash)
		default:
			checkRow(r, row, i)
			checkFact(r, row, it)
			checkOutput(r, row, it)
		}
		if r.violation != nil {
			return
		}
	}
	for _, id := range e.ids {
		if _, known := eff.index[id]; !known && !e.rows[id].Orphaned && len(eff.ids) < maxNodes {
			r.violate("D4", "%s left the model and is neither orphaned nor removed (%s)", id,
				e.rows[id].Status())
		}
	}
}

func checkRemoving(r *run, row *state.Row, i int) {
	switch {
	case !row.Removing:
		r.violate("D4",
			"%s left the model, which says that it is to be purged, and is not being removed",
			row.ID)
	case row.LastRun == state.RunFailed, row.LastRun == state.RunSkipped,
		row.Block() == state.BlockedYes:
		checkRow(r, row, i)
	default:
		r.violate("D4", "%s left the model, is to be purged and waits for nothing", row.ID)
	}
}

// checkRow checks one row in its final state.
func checkRow(r *run, row *state.Row, i int) {
	undefined := lackingFor(r, i)
	if done := row.Status() == state.StatusDeployed; done != (row.Why() == "") {
		r.violate("D4", "%s is %s and says why: %q", row.ID, row.Status(), row.Why())
	}
	// A create may have been recorded before a crash. If the resource is blocked now, its result is
	// looked up only when the resource may run again.
	if asWanted(row) && row.Creating != "" && row.Block() != state.BlockedYes {
		r.violate("D8", "%s is deployed, and it is still noted that a create of it was begun",
			row.ID)
	}
	switch status := row.Status(); {
	case row.Comparison() == state.Undefined:
		checkUndefined(r, row)
	case unknownTo(r, row.ID) != "":
		r.violate("D4",
			"%s refers to %s, which was not known when it was exported nor since, and is %s",
			row.ID, unknownTo(r, row.ID), status)
	case undefined != "" && row.Block() != state.BlockedYes:
		r.violate("D6", "%s requires %s, of which something is not known, and is %s", row.ID,
			undefined, status)
	case row.Removing && row.Block() != state.NotBlocked && waitsForNamesake(r, row):
	case row.Block() == state.BlockedYes && undefined == "":
		r.violate("D6", "%s stays blocked, and all it requires is known", row.ID)
	case row.Block() == state.BlockedYes:
		checkBlocked(r, row, i)
	case row.Block() == state.NeedsDecision && row.ID.Type() != typeLonely:
		r.violate("D8", "%s asks a person, although what a create led to can be looked up", row.ID)
	case row.Block() == state.BlockedTemp && onlyReports(r, row.ID):
		r.violate("report", "%s is only to be compared, and is skipped for %v", row.ID, row.Because())
	case row.Block() == state.BlockedTemp:
		checkSkipped(r, row, i)
	case status == state.StatusDeployed, status == state.StatusNonCompliant:
	case row.LastRun == state.RunFailed && row.Current().Class == state.ClassRefused && row.Removing:
		r.violate("transport",
			"%s is never purged: its agent is reached in a way that is not for it", row.ID)
	case row.LastRun == state.RunFailed &&
		(row.Current().Class == provider.Terminal || row.Current().Class == provider.NeedsChange ||
			row.Block() == state.NeedsDecision):
	default:
		r.violate("D4", "%s is %s (last run %s, %s), is not scheduled, and no timer asks for it",
			row.ID, status, row.LastRun, row.Current().Class)
	}
}

// waitsForNamesake reports whether a removal waits for a resource that was removed and added again
// while the version was planned. Waiting for the new resource as well is cautious and not a fault.
func waitsForNamesake(r *run, row *state.Row) bool {
	e := r.state.read(env)
	return slices.ContainsFunc(row.Because(), func(id resource.ID) bool {
		c := e.rows[id]
		return c != nil && r.books.released.entries[id] != nil && !asWanted(c)
	})
}

// lackingFor returns a direct or indirect requirement of a node with an unknown value, or "".
func lackingFor(r *run, i int) resource.ID {
	e, eff := r.state.read(env), r.books.effect
	for j, id := range eff.ids {
		if row := e.rows[id]; eff.all[i]&(1<<j) != 0 && row != nil &&
			row.Comparison() == state.Undefined && !row.Orphaned {
			return id
		}
	}
	return ""
}

// checkUndefined checks that a value of an undefined resource is really unknown.
func checkUndefined(r *run, row *state.Row) {
	e := r.state.read(env)
	res, err := resource.Decode(row.Body)
	if err != nil {
		r.violate("V1", "what %s wants does not decode: %v", row.ID, err)
		return
	}
	for _, ref := range resource.References(res.Written().Attributes) {
		key := state.ParameterKey{}
		if res.Purged && resource.IsFollowed(ref) {
			continue // its handler finds the object without the text
		}
		switch f := ref.(type) {
		case resource.Secret:
			if o, is := f.Output(); is && e.kept[o.Of].Outputs == "" {
				if of := e.rows[o.Of]; of != nil && asWanted(of) && !of.Orphaned && !r.books.unkept[o.Of] {
					r.violate("followed", "%s waits for the output of %s, which is deployed", row.ID, o.Of)
				}
				return
			}
			continue
		case resource.Parameter:
			key.Name = f.Name
		case resource.Fact:
			key.Name, key.Of = f.Key(), f.Of
			if of := e.rows[f.Of]; of != nil && asWanted(of) && !of.Orphaned &&
				!strings.Contains(string(of.Body), `"purged":true`) {
				if _, known := e.parameters[key]; !known {
					r.violate("D4",
						"%s waits for fact %q of %s, which is deployed and was never asked", row.ID,
						f.Name, f.Of)
				}
			}
		default:
			continue
		}
		if _, known := valueOf(e, ref); !known {
			return
		}
	}
	r.violate("D4", "%s counts as undefined, and all its references are known", row.ID)
}

// unknownTo describes a reference of a resource in the released version whose value was unknown at
// its last export and has been since. It returns "" if there is none.
func unknownTo(r *run, id resource.ID) string {
	it, e := r.books.released.entries[id], r.state.read(env)
	if it == nil {
		return ""
	}
	for _, ref := range resource.References(it.res.Attributes) {
		key := state.ParameterKey{}
		switch f := ref.(type) {
		case resource.Parameter:
			key.Name = f.Name
		case resource.Fact:
			if it.res.Purged {
				continue // its handler finds the object without the text
			}
			key.Name, key.Of = f.Key(), f.Of
		default:
			continue
		}
		_, known := e.parameters[key]
		if last, was := r.books.known[key]; !known && (!was || last < r.books.exported[id]) {
			return fmt.Sprintf("%s of %q", key.Name, key.Of)
		}
	}
	return ""
}

// checkFact checks that a row has followed the fact to which its resource refers.
func checkFact(r *run, row *state.Row, it *item) {
	f, refers := factIn(it.res.Attributes["text"])
	if it.res.Purged {
		return // its handler finds the object without the text
	}
	e := r.state.read(env)
	_, stored := e.parameters[state.ParameterKey{Name: f.Key(), Of: f.Of}]
	_, known := valueOf(e, f)
	if refers && stored && !known && row.Comparison() != state.Undefined {
		r.violate("followed", "%s has a value of fact %q of %s, which leads nowhere: %s", row.ID, f.Name,
			f.Of, row.Body)
	}
	if known && refers && row.Comparison() != state.Undefined && !hasFact(r, row, it) {
		r.violate("followed", "%s does not have fact %q of %s: %s", row.ID, f.Name, f.Of, row.Body)
	}
	if have, want := learnedOf(r, f); refers && row.Comparison() != state.Undefined && want != "" &&
		have != want && !strings.Contains(have, diff.Redacted) { // its text was a secret once
		r.violate("followed", "fact %q of %s is %q, and its deployed thing has %q", f.Name, f.Of, have,
			want)
	}
}

// learnedOf returns the stored value of a fact, and the value that the last run must have found; "":
// that is not certain.
func learnedOf(r *run, f resource.Fact) (have, want string) {
	e := r.state.read(env)
	of := e.rows[f.Of]
	if of == nil || f.Name != factName && f.Name != endpointPath || !asWanted(of) || of.Orphaned || of.Removing {
		return "", ""
	}
	res, err := resource.Decode(of.Body)
	thing, exists := r.world.thing(f.Of).observe(r.sched.now)
	wanted, purged := wantedOf(r, of)
	if err != nil || !exists || purged || res.ReportOnly || !thing.fits(wanted) ||
		f.Name == endpointPath && closed(thing.v) {
		return "", ""
	}
	switch text := res.Attributes["text"].(type) {
	case nil:
		want = factOf(nameOf(f.Of), thing.v, "")
	case string:
		want = factOf(nameOf(f.Of), thing.v, text)
	}
	have, _ = valueOf(e, f)
	return have, want
}

// hasFact reports whether a row has the stored value of the fact to which its resource refers.
func hasFact(r *run, row *state.Row, it *item) bool {
	f, refers := factIn(it.res.Attributes["text"])
	stored, known := valueOf(r.state.read(env), f)
	res, err := resource.Decode(row.Body)
	return refers && known && err == nil && factPart(it.res.Attributes["text"], res.Attributes["text"]) == stored
}

// checkFacts checks that no fact outlives its resource.
func checkFacts(r *run) {
	e := r.state.read(env)
	for k := range e.parameters {
		row := e.rows[k.Of]
		if k.Of != "" &&
			(row == nil || asWanted(row) && strings.Contains(string(row.Body), `"purged":true`)) {
			r.violate("facts", "fact %q of %s is kept, and that is gone", k.Name, k.Of)
		}
	}
}

// checkSkipped checks invariant D6: a skipped resource names a root cause, and one of its
// requirements is really not deployed.
func checkSkipped(r *run, row *state.Row, i int) {
	e, eff := r.state.read(env), r.books.effect
	if unreadyFor(r, e, i, 0) == "" {
		r.violate("D6", "%s stays skipped (for %v), and all it requires is deployed", row.ID,
			row.Because())
	}
	if len(row.Because()) == 0 {
		r.violate("D6", "%s is skipped and names no cause", row.ID)
	}
	if roots := rootCauses(r, e, i); !sameIDs(roots, row.Because()) && !waitsForNamesake(r, row) {
		r.violate("D6", "%s is skipped because of %v and names %v", row.ID, roots, row.Because())
	}
	if !slices.ContainsFunc(row.Because(), func(id resource.ID) bool {
		c := e.rows[id]
		j, known := eff.index[id]
		return c != nil && !asWanted(c) && known && eff.all[i]&(1<<j) != 0
	}) {
		r.violate("D6",
			"%s is skipped because of %v, none of which is a requirement that is not deployed",
			row.ID, row.Because())
	}
}

// rootCauses returns the root causes for which a node is skipped: requirements that are not
// deployed, or the causes that these name.
func rootCauses(r *run, e *environment, i int) []resource.ID {
	var out []resource.ID
	for j, id := range r.books.effect.ids {
		row := e.rows[id]
		switch {
		case r.books.effect.needs[i]&(1<<j) == 0 || row == nil || asWanted(row):
		case len(row.Because()) > 0:
			out = append(out, row.Because()...)
		default:
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// sameIDs reports whether sorted and others have the same elements.
func sameIDs(sorted, others []resource.ID) bool {
	return slices.Equal(sorted, slices.Sorted(slices.Values(others)))
}

// checkBlocked checks that a blocked resource names a direct or indirect requirement with an
// unknown value.
func checkBlocked(r *run, row *state.Row, i int) {
	e, eff := r.state.read(env), r.books.effect
	if len(row.Because()) == 1 {
		j, known := eff.index[row.Because()[0]]
		c := e.rows[row.Because()[0]]
		if known && c != nil && c.Comparison() == state.Undefined &&
			(j == i || eff.all[i]&(1<<j) != 0) {
			return
		}
	}
	r.violate("D6",
		"%s is blocked because of %v, which is not one thing that it requires and of which "+
			"something is not known", row.ID, row.Because())
}

// checkDeployed compares the world with the released version.
func checkDeployed(r *run) {
	e, eff := r.state.read(env), r.books.effect
	if eff == nil {
		return
	}
	for _, id := range eff.ids {
		row, it := e.rows[id], r.books.released.entries[id]
		t := r.world.thing(id)
		t.complete(r.sched.now)
		switch {
		case row == nil && it == nil:
			if n := t.countable(); n > 0 && !t.drifted && r.books.released.entryOf(id) == "" {
				r.violate("D4", "%s was removed and is there", id)
			}
		case row == nil || it == nil || row.Block() == state.BlockedYes:
		case it.res.ReportOnly:
			checkReported(r, row, t)
		case asWanted(row):
			checkThing(r, row, t)
		case row.LastRun == state.RunFailed:
			checkFailed(r, row, t)
		}
		if r.violation != nil {
			return
		}
	}
}

// countable returns the number of objects of which a handler could know.
func (t *thing) countable() int {
	n := 0 // objects created by a task that had lost its lane are not counted
	if t.exists || t.pending != nil {
		n = 1
	}
	for _, m := range t.made {
		if m.seen && !m.late {
			n++
		}
	}
	return n
}

// checkReported checks the compliance of a resource that is only compared.
func checkReported(r *run, row *state.Row, t *thing) {
	res, err := resource.Decode(row.Body)
	if err != nil || t.drifted || row.LastRun != state.RunSuccess ||
		row.Comparison() == state.HasUpdate || t.busyUntil >= r.since(row.LastAt) {
		return // read during an operation, or not read at all
	}
	action, fails, known := wouldDo(r, row.ID, &item{res: res, body: string(row.Body)}, r.sched.now)
	if known && !fails && (action == "none") != (row.Comparison() == state.Compliant) {
		r.violate("report", "%s counts as %s, and a deploy would %s it", row.ID, row.Comparison(),
			action)
	}
}

func checkThing(r *run, row *state.Row, t *thing) {
	if t.drifted {
		return
	}
	want, purged := wantedOf(r, row)
	have, exists := t.observe(r.sched.now)
	if t.rekeyed {
		have.key = want.key
	}
	switch {
	case t.pending != nil:
		r.violate("D4", "%s counts as deployed while its operation is under way", row.ID)
	case purged && t.countable() > 0:
		r.violate("D4", "%s counts as purged and is there", row.ID)
	case purged:
	case !exists:
		r.violate("D4", "%s counts as deployed and is not there", row.ID)
	case !have.fits(want):
		r.violate("D4", "%s counts as deployed and is %+v, not %+v", row.ID, have, want)
	case isAssigned(row.ID) && t.countable() > 1:
		r.violate("D8", "%s is there %d times", row.ID, t.countable())
	}
	if o, owes := r.books.events[row.ID]; owes && !purged && !keepsBack(r, o.by) {
		r.violate("D4", "%s was not reloaded although %s, which it requires, changed at %s", row.ID,
			o.by, o.at)
	}
}

// keepsBack reports whether dependants receive a change of a resource only after its next success.
// This is the case if a user has to decide, or if its row records a possible change, and its last run
// was unsuccessful or it may not run, since something is undefined.
func keepsBack(r *run, id resource.ID) bool {
	row := r.state.read(env).rows[id]
	return row != nil &&
		(row.Block() == state.NeedsDecision || row.PossiblyChanged &&
			(row.LastRun == state.RunFailed || row.LastRun == state.RunSkipped ||
				row.Comparison() == state.NonCompliant || row.Lacking()))
}

// fits reports whether an object is as intended. Parts without a desired value are not compared.
func (p parts) fits(want parts) bool {
	return p.v == want.v && (want.text == "" || p.text == want.text) &&
		(want.fixed == 0 || p.fixed == want.fixed) && (want.key == 0 || p.key == want.key)
}

// checkFailed checks that a resource that still fails after all repairs and retries has a remaining
// cause.
func checkFailed(r *run, row *state.Row, t *thing) {
	want, _ := wantedOf(r, row)
	have, exists := t.observe(r.sched.now)
	switch {
	case t.broken != "":
	case row.Block() == state.NeedsDecision:
	case row.Current().Class == provider.NeedsChange && lacksOutput(r, row):
	case exists && want.fixed != 0 && have.fixed != want.fixed && !replaces(row.ID) &&
		row.Current().Class == provider.NeedsChange:
	case exists && isPreserved(r, row, have, want) && row.Current().Class == provider.NeedsChange:
	default:
		r.violate("D7", "%s failed (%s: %s), and nothing is wrong with it", row.ID, row.Current().Class,
			row.Why())
	}
}
