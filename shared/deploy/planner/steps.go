package planner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// PlannedChange describes the effect of a deploy on one resource.
type PlannedChange struct {
	ID      resource.ID
	Action  string // create, update, delete, none, orphan, undefined
	Changes map[string]diff.Diff
	Reason  string // why it cannot be shown, or would not run
	Failed  bool   // reading it failed
	Replace bool   // it would be updated by replacing the thing
	// CreateFirst means that the replacement creates the new thing before it deletes the old one.
	CreateFirst bool
	Deletes     bool // undefined; once it is defined, its thing is deleted or replaced
	// ReloadFor are resources whose changes it would be notified of, so that it reloads.
	ReloadFor []resource.ID
	// MovedFrom is the id that managed the thing until this release; "": no other id did.
	MovedFrom resource.ID
	// Rechecked means that the resource is unchanged, and is checked again because its agent is
	// reached in another way.
	Rechecked bool
	// After are the first changes of the plan that have to be made before its thing can be read.
	After []resource.ID
	// Unavailable means that reading failed because the target, or a program on it, is missing.
	Unavailable bool
	// KnownAfter are facts that the apply learns and on which attributes depend: facts without a
	// value, and facts with a value that may change.
	KnownAfter []AwaitedFact
	// Seen is a digest of the observed thing that would be destroyed; "": nothing would be
	// destroyed, or it was not read.
	Seen string
}

// steps holds the effects of a plan on every resource.
type steps struct {
	planned []PlannedChange
	rows    map[resource.ID]*state.Row // rows that a worker would check
	beside  map[resource.ID]*state.Row // other rows as wanted; they may be notified of changes
	marks   []string                   // the state for which the plan holds
	// left maps a resource to the orphans that required it: those of this plan, and earlier ones.
	left map[resource.ID][]resource.ID
}

// forecast derives the effects on resources from a plan.
type forecast struct {
	rowEffects
	plan    *planning
	targets *targets // the resources that the export selects; nil: all
	// awaited has the rows that are undefined or blocked; true: an apply of the plan runs the row.
	awaited map[resource.ID]bool
}

// rowEffects derives the effect of a deploy on one resource from its rows before and after a plan.
type rowEffects struct {
	pl    *Config
	whole bool      // values are kept at full length
	texts run.Texts // nil: files are not shown by their text
}

// steps returns the effects on every resource in order of id; resources that leave come last.
func (p *forecast) steps(ctx context.Context) (*steps, error) {
	s := &steps{rows: map[resource.ID]*state.Row{}, beside: map[resource.ID]*state.Row{},
		left: map[resource.ID][]resource.ID{}}
	var leaving []PlannedChange
	add := func(was, now *state.Row) error {
		s.leaves(now)
		was = p.managedAs(was)
		w, shown, err := p.step(was, now)
		if err != nil || !shown {
			return err
		}
		runs := now.Ticket() != 0 && p.plan.rows[now.ID] != nil || !now.AsWanted()
		if !p.targets.shows(now.ID, runs) {
			if now.AsWanted() {
				s.beside[now.ID] = now
			}
			return nil
		}
		if w.Action != "orphan" {
			s.rows[now.ID] = now
		}
		// a new intent counts even if it is only compared
		if w.Action != "none" || w.Failed || was.Hash != now.Hash || w.MovedFrom != "" {
			mark := []string{
				string(now.ID),
				w.Action,
				was.Hash,
				was.Deployed,
				string(was.Comparison()),
				now.Hash,
				string(w.MovedFrom),
			}
			s.marks = append(s.marks, strings.Join(mark, "\n"))
		}
		if now.Orphaned || now.Removing {
			leaving = append(leaving, w)
		} else {
			s.planned = append(s.planned, w)
		}
		return nil
	}
	waits := map[resource.ID]pair{} // they depend on the effects on others
	addOrWait := func(was, now *state.Row) error {
		if now.Lacking() && !now.Gone && !now.Orphaned {
			waits[now.ID] = pair{was, now}
			return nil
		}
		return add(was, now)
	}
	stored := map[resource.ID]bool{}
	err := p.pl.Client.EachRow(ctx, p.plan.env.Name, func(r *state.Row) error {
		row := *r
		stored[row.ID] = true
		if now := p.plan.rows[row.ID]; now != nil {
			return addOrWait(&row, now)
		}
		return addOrWait(&row, &row)
	})
	if err != nil {
		return nil, err
	}
	for id, now := range p.plan.rows {
		if stored[id] {
			continue
		}
		if err := addOrWait(&state.Row{ID: id}, now); err != nil {
			return nil, err
		}
	}
	if err := p.settle(ctx, s, waits, add); err != nil {
		return nil, err
	}
	for _, list := range [][]PlannedChange{s.planned, leaving} {
		slices.SortFunc(list, func(a, b PlannedChange) int { return cmp.Compare(a.ID, b.ID) })
	}
	s.planned = append(s.planned, leaving...)
	return s, nil
}

// managedAs returns the row that had the state of a row before the plan. If the thing is moved,
// that is the row of another id.
func (p *forecast) managedAs(was *state.Row) *state.Row {
	if from := p.plan.moves.from[was.ID]; from != nil {
		return from
	}
	return was
}

// leaves records the requirements of an orphan. An orphan that cannot be read counts as one without
// requirements, since this is only shown to the user.
func (s *steps) leaves(row *state.Row) {
	if !row.Orphaned {
		return
	}
	if res, err := resource.Decode(row.Body); err == nil {
		for _, id := range res.Requires {
			s.left[id] = append(s.left[id], row.ID)
		}
	}
}

// digest identifies a plan and the state it is based on.
func (s *steps) digest(p *planning) string {
	slices.Sort(s.marks)
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%d %d %d\n%s", p.pl.Pack, p.was.Last, p.was.Released,
		p.was.Releasing, strings.Join(s.marks, "\x00")))
	return hex.EncodeToString(sum[:])
}

// step returns the effect on a resource, given its row before and after the plan. shown is false if
// there is no effect to show: the resource left earlier.
func (p *forecast) step(was, now *state.Row) (w PlannedChange, shown bool, err error) {
	w = PlannedChange{ID: now.ID, Action: "none"}
	if was.ID != now.ID {
		w.MovedFrom = was.ID
	}
	switch {
	case now.Gone:
		return w, false, nil
	case now.Orphaned:
		w.Action = "orphan"
		return w, !was.Orphaned, nil
	case now.Lacking():
		err = p.later(&w, was, now)
	case now.Removing: // also one that failed: an apply tries it again
		w.Action = "delete"
	case now.Blocked == state.NeedsDecision && now.Current().Creating != "":
		err = p.undecided(&w, was, now)
	case was.Hash == now.Hash && now.AsWanted():
	default:
		err = p.change(&w, was, now)
	}
	return w, true, err
}

// later fills in the effect on a row that is undefined or blocked. If the plan learns all values
// that the row waits for, the effect is that of its run, as far as the values are known. A resource
// that is to be purged is deleted when its missing value becomes known, and no confirmation is asked
// then.
func (p *forecast) later(w *PlannedChange, was, now *state.Row) error {
	if p.awaited[now.ID] {
		return p.afterOthers(w, was, now)
	}
	w.Action, w.Reason, w.Deletes = "undefined", now.Why(), now.Removing
	if now.Removing {
		return nil
	}
	then := PlannedChange{ID: now.ID}
	err := p.change(&then, was, now)
	w.Deletes = !then.Failed && (then.Action == "delete" || then.Replace)
	return err
}

// afterOthers fills in the effect on a row that is undefined or blocked now, and runs in an apply of
// the plan.
func (p *forecast) afterOthers(w *PlannedChange, was, now *state.Row) error {
	if now.Removing {
		w.Action = "delete"
		return nil
	}
	if err := p.change(w, was, now); err != nil || !now.Undefined() {
		return err
	}
	res, err := resource.Decode(now.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource", err)
	}
	if !w.Failed {
		w.Reason = "" // of an earlier run
	}
	facts, _ := Awaits(res.Attributes)
	w.Await(facts)
	return nil
}

// undecided fills in the effect on a row that waits for a person's decision, since a create may
// have made a thing. If the resource is to be purged, the deploy looks the thing up and deletes it
// if it exists.
func (p *rowEffects) undecided(w *PlannedChange, was, now *state.Row) error {
	w.Failed, w.Reason = true, now.Reason
	if now.Hash == was.Hash {
		return nil
	}
	w.Reason = "a create was begun and its outcome is not known; a deploy looks the object up as it is described now"
	if now.Ticket() == 0 {
		return nil
	}
	then := PlannedChange{ID: now.ID}
	err := p.change(&then, was, now)
	w.Deletes = then.Action == "delete"
	return err
}

// change fills in the effect of a deploy on a row that is not as wanted, as far as it can be
// derived without reading the target.
func (p *rowEffects) change(w *PlannedChange, was, now *state.Row) error {
	res, err := resource.Decode(now.Body)
	if err != nil {
		return fault.Wrap(fault.Damaged, "read resource", err)
	}
	base, err := deployedAs(was)
	if err != nil {
		return err
	}
	there := base != nil && !base.Purged
	switch {
	case res.ReportOnly:
		w.Reason = ReportOnly
	case res.Purged && base != nil && base.Purged && was.AsWanted():
	case res.Purged:
		w.Action = "delete"
	case there && was.Deployed == now.Hash && was.AsWanted():
		// It was removed from the model, left unchanged, and is back.
	case there:
		w.Action, w.Changes = "update", p.pl.intentDiff(base, res, p.whole, p.texts)
		p.pl.noteReplacement(w, res)
	default:
		w.Action, w.Changes = "create", p.pl.intentDiff(nil, res, p.whole, p.texts)
	}
	if was.Hash == now.Hash && w.Reason == "" {
		w.Reason = now.Current().Reason // why it still has to be done
	}
	w.Rechecked = there && w.Action == "update" && len(w.Changes) == 0 && was.AsWanted() &&
		w.MovedFrom == ""
	if w.Action == "update" && was.AsWanted() {
		p.pl.dropNames(w, res)
	}
	if w.Action == "update" && len(w.Changes) == 0 && w.Reason == "" {
		w.Reason = "it has not been deployed yet as it is described; a plan without --no-read " +
			"compares it with what is there"
	}
	return nil
}

// noteReplacement completes the description of an update between two intents.
func (pl *Config) noteReplacement(w *PlannedChange, now *resource.Resource) {
	typ, ok := pl.Checker.Type(now)
	if !ok {
		return
	}
	var names []string
	for _, name := range diff.Replacing(typ, w.Changes) {
		if w.Changes[name].Desired != nil { // attributes that are no longer set are left unchanged
			names = append(names, name)
		}
	}
	w.Replace = len(names) > 0
	w.CreateFirst = w.Replace && typ.CreatesFirst(now.Attributes)
	if w.Replace && now.PreventDestroy && !now.ReportOnly {
		w.Failed, w.Reason = true, run.PreservedText(names)
	}
}

const ReportOnly = "is only compared, since it is report_only"

// deployedAs returns the intent with which a resource was deployed, as far as it is known: its last
// intent, if any intent was deployed. It returns nil if none was deployed or the resource was
// removed.
func deployedAs(row *state.Row) (*resource.Resource, error) {
	if row.Deployed == "" || row.Removing {
		return nil, nil
	}
	res, err := resource.Decode(row.Body)
	if err == nil && row.Undefined() { // references without a value were not deployed
		maps.DeleteFunc(res.Attributes, func(_ string, v any) bool {
			return len(model.Missing(v)) > 0
		})
	}
	return res, fault.Wrap(fault.Damaged, "read resource", err)
}

// CompareEntries returns, for each resource of two versions, the effect of the second version on
// it; "none" if both have it with the same intent. agents are the agents of both versions, as the
// second describes them.
func (pl *Planner) CompareEntries(before map[resource.ID]version.Entry, after []version.Entry,
	agents []resource.Agent, whole bool, texts run.Texts) ([]PlannedChange, error) {
	var out []PlannedChange
	moved, err := pl.movedEntries(before, after, agents)
	if err != nil {
		return nil, err
	}
	for to, from := range moved {
		before[to] = before[from]
		delete(before, from)
	}
	for i := range after {
		now := &after[i]
		res, err := resource.Decode(now.Body)
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		w := PlannedChange{ID: now.ID, Action: "none", MovedFrom: moved[now.ID]}
		old, had := before[now.ID]
		switch missing := model.Missing(res.Attributes); {
		case len(missing) > 0:
			w.Action, w.Reason = "undefined", state.Unknown(missing)
			w.Deletes = res.Purged && !res.ReportOnly && (!had || old.Hash != now.Hash)
		case had && old.Hash == now.Hash:
		case !had && res.Purged, had && res.Purged:
			w.Action = "delete"
		default:
			w.Action = "create"
			var was *resource.Resource
			if had {
				w.Action = "update"
				if was, err = resource.Decode(old.Body); err != nil {
					return nil, fault.Wrap(fault.Damaged, "read version", err)
				}
				if was.Purged {
					w.Action = "create"
				}
			}
			w.Changes = pl.intentDiff(was, res, whole, texts)
			if w.Action == "update" {
				w.Rechecked = len(w.Changes) == 0
				pl.noteReplacement(&w, res)
				pl.dropNames(&w, res)
			}
		}
		out = append(out, w)
		delete(before, now.ID)
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		w := PlannedChange{ID: id, Action: "orphan"}
		if res, err := resource.Decode(before[id].Body); err == nil && res.PurgesOnDelete() {
			w.Action = "delete"
		}
		out = append(out, w)
	}
	return out, nil
}

// intentDiff compares two intents of one resource; was may be nil. References stay references, so
// the result holds no secret. texts may be nil.
func (pl *Config) intentDiff(
	was, now *resource.Resource,
	whole bool,
	texts run.Texts,
) map[string]diff.Diff {
	h := run.NewRedactor()
	if t, ok := pl.Checker.Type(now); ok {
		for i := range t.Attributes {
			if t.Attributes[i].Sensitive {
				h.Hide(t.Attributes[i].Name)
			}
		}
	}
	old := map[string]any{}
	if was != nil {
		old = was.Attributes
	}
	diffs := map[string]diff.Diff{}
	for name, v := range now.Attributes {
		if !resource.Equal(old[name], v) {
			diffs[name] = diff.Diff{Current: plainRef(old[name]), Desired: plainRef(v)}
		}
	}
	for name, v := range old {
		if _, ok := now.Attributes[name]; !ok {
			diffs[name] = diff.Diff{Current: plainRef(v)}
		}
	}
	return h.Diffs(diffs, texts, whole)
}

// plainRef returns v with references in the form that they have in documents. References to files
// stay as they are.
func plainRef(v any) any { return resource.Map(v, resource.Form) }
