package deploy

import (
	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// lacks returns the message of the first line that reports a missing condition, or "".
func lacks(lines []provider.Line) string {
	for i := range lines {
		if lines[i].Lacking() {
			return lines[i].Msg
		}
	}
	return ""
}

// unmet marks planned changes with a missing condition as failed, unless a requirement would change
// earlier and may satisfy the condition. In that case, it removes the reason. A requirement whose
// result is unknown counts as changing. d.out.Planned must be in execution order.
func (d *dryRunner) unmet(g *version.Graph) {
	stays := map[resource.ID]bool{}
	for i := range d.out.Planned {
		w := &d.out.Planned[i]
		n := g.Node(w.ID)
		if n < 0 {
			continue
		}
		alone := true // none of its requirements would change
		for _, q := range g.Requires(n) {
			alone = alone && stays[g.IDs[q]]
		}
		acts := w.Action != "none" && w.Action != "undefined"
		stays[w.ID] = alone && !w.Failed && w.Action == "none" && len(w.After) == 0
		switch {
		case w.Failed || !acts || w.Reason == "" || len(w.After) > 0:
		case alone:
			w.Failed = true
			w.Reason += ", and nothing that it requires is to change that"
		default:
			w.Reason = ""
		}
	}
}

// skip marks a resource as skipped if one of its requirements would not be compliant, unless the
// resource is only compared. d.out.Planned must be in execution order.
func (d *dryRunner) skip(g *version.Graph, rows map[resource.ID]*state.Row) {
	after := map[resource.ID]*state.Row{} // the rows as runs would leave them
	for i := range d.out.Planned {
		w := &d.out.Planned[i]
		n := g.Node(w.ID)
		if w.Action == "undefined" || n < 0 {
			continue
		}
		var requires []*state.Row
		for _, q := range g.Requires(n) {
			requires = append(requires, after[g.IDs[q]])
		}
		row := &state.Row{ID: w.ID, Outcome: state.Outcome{
			LastRun: state.RunSuccess, Compliance: state.Compliant}}
		causes, _ := step.Start(row, &resource.Resource{}, requires)
		switch {
		case w.Failed || w.Reason == planner.ReportOnly:
			row.LastRun = state.RunFailed
		case len(causes) > 0 && !onlyReports(rows[w.ID]):
			w.Failed, w.Reason = true, "would be skipped, since it requires "+string(causes[0])
			row.LastRun, row.Causes = state.RunSkipped, causes
		}
		after[w.ID] = row
	}
}
