package awssim

import (
	"fmt"
	"strings"
)

// wanted describes what an operation could have returned.
func (j *judge) wanted(o *op, vs []*version) string {
	var out []string
	for _, v := range vs {
		l := v.query()
		text := fmt.Sprintf("from %d: plan %d rev %d", v.from, l.env.PlanSeq, l.env.Rev)
		switch o.name {
		case "Rows", "LaneRows", "ScanRows", "Finished", "Due", "Counts", "Schedule":
			for _, r := range l.rows {
				text += "\n    " + rowText(*r)
			}
			text += fmt.Sprintf("\n    %+v", l.schedule)
		case "Leases":
			text += fmt.Sprintf(" %+v %+v", l.leases, v.side.running)
		case "Agents":
			text += fmt.Sprintf(" %+v", l.agents)
		case "Outbox":
			entries, _ := v.state.Outbox(bg, env, 1<<30)
			text += fmt.Sprintf(" %+v", entries)
		case "Env":
			text += fmt.Sprintf(" %+v", l.env)
		}
		out = append(out, text)
	}
	return "\n" + strings.Join(out, "\n")
}
