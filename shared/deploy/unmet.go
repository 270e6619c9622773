package deploy

import (
	"southbound/shared/deploy/planner"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/step"
	"southbound/shared/deploy/version"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// lacks returns what a planned change lacks, as its handler says.
func lacks(lines []provider.Line) string {
	for i := range lines {
		if lines[i].Lacking() {
			return lines[i].Msg
		}
	}
	return ""
}

// unmet notes that planned changes would fail that lack something, and leaves out what they lack
// where something that they require would be changed before, which may see to it. What was found is
// in the order in which it would run, and what is not known to stay as it is may change.
func (d *dryRunner) unmet(g *version.Graph) {
	stays := map[resource.ID]bool{}
	for i := range d.out.Planned {
		w := &d.out.Planned[i]
		n := g.Node(w.ID)
		if n < 0 {
			continue
		}
		alone := true // nothing that it requires would be changed
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

// skip notes of what requires something that would not be as wanted that it would be skipped,
// unless it is only compared. What was found is in the order in which it would run.
func (d *dryRunner) skip(g *version.Graph, rows map[resource.ID]*state.Row) {
	after := map[resource.ID]*state.Row{} // as runs would leave the rows
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
		row := &state.Row{ID: w.ID, LastRun: state.RunSuccess, Compliance: state.Compliant}
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
