package deploy

import (
	"context"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// waiting decides in a dry run on resources that lack values, and on those that require them. If a
// deploy learns all the values, the resource is known after it; see docs/design/preview.md.
type waiting struct {
	*dryRunner
	g       *version.Graph
	rows    map[resource.ID]*state.Row // as the version has them, those to compare
	blocked map[resource.ID]bool       // resources that are undefined, or require such a one
	stored  map[resource.ID]*state.Row // rows of undefined resources, and of those of their facts
	facts   map[resource.ID][]planner.AwaitedFact
}

// newWaiting reads what the decisions need: nothing if no resource lacks a value.
func newWaiting(ctx context.Context, d *dryRunner, g *version.Graph,
	rows map[resource.ID]*state.Row, blocked map[resource.ID]bool) (*waiting, error) {
	w := &waiting{dryRunner: d, g: g, rows: rows, blocked: blocked,
		facts: map[resource.ID][]planner.AwaitedFact{}}
	var read []resource.ID
	for _, n := range g.Order() {
		row := rows[g.IDs[n]]
		if row == nil || !row.Undefined() {
			continue
		}
		res, err := resource.Decode(row.Body)
		if err != nil {
			return nil, fault.Wrap(fault.Damaged, "read version", err)
		}
		facts, only := planner.Awaits(res.Attributes)
		if !only || len(facts) == 0 {
			continue // it stays undefined
		}
		w.facts[row.ID] = facts
		read = append(read, row.ID)
		for _, f := range facts {
			read = append(read, f.Of)
		}
	}
	if len(read) == 0 {
		return w, nil
	}
	slices.Sort(read)
	var err error
	w.stored, err = d.e.client().Rows(ctx, d.env, slices.Compact(read))
	return w, err
}

// next decides on resources by the results so far. It returns true if results were added, or further
// resources can be read now.
func (w *waiting) next() (more bool, err error) {
	for _, n := range w.g.Order() {
		id := w.g.IDs[n]
		row := w.rows[id]
		if row == nil || !w.blocked[id] || slices.ContainsFunc(w.g.Requires(n), func(q int32) bool {
			return w.blocked[w.g.IDs[q]]
		}) {
			continue
		}
		if row.Undefined() {
			facts := w.facts[id]
			if len(facts) == 0 || slices.ContainsFunc(facts, func(f planner.AwaitedFact) bool {
				return !w.learns(f)
			}) {
				continue
			}
			was := w.stored[id]
			if was == nil {
				was = &state.Row{ID: id}
			}
			if w.results[id], err = w.e.planner().Awaiting(was, row, facts, w.whole); err != nil {
				return false, err
			}
		}
		w.blocked[id], more = false, true
	}
	return more, nil
}

// learns reports whether a deploy may learn a value: it creates or updates the thing of its
// resource, or is the first to ask for its facts.
func (w *waiting) learns(f planner.AwaitedFact) bool {
	of, known := w.results[f.Of]
	if !known || of.Failed {
		return false
	}
	switch of.Action {
	case "create", "update":
		return true
	case "none":
		was := w.stored[f.Of]
		return f.Output == "" && (was == nil || was.FactsRead == 0) &&
			w.runs.ReportsFacts(w.rows[f.Of]) && of.Reason != planner.ReportOnly
	}
	return false
}

// likeRead makes a creation that waits for values like one that was read: it shows no attributes
// that a handler does not compare.
func likeRead(
	checker *model.Checker, w planner.PlannedChange, row *state.Row,
) (planner.PlannedChange, error) {
	if w.Action != "create" || len(w.KnownAfter) == 0 || row == nil {
		return w, nil
	}
	res, err := resource.Decode(row.Body)
	if err != nil {
		return w, fault.Wrap(fault.Damaged, "read resource", err)
	}
	if typ, known := checker.Type(res); known {
		w.Changes = run.ShownAtCreation(typ, w.Changes)
	}
	return w, nil
}
