package aws

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"southbound/shared/deploy/state"
)

// wanted describes the results that an operation could have returned.
func (j *judge) wanted(o *op, vs []*version) string {
	var out []string
	for _, v := range vs {
		l := v.query()
		text := fmt.Sprintf("from %d: plan %d rev %d", v.from, l.env.PlanSeq, l.env.Rev)
		switch o.name {
		case "Rows", "LaneRows", "ScanRows", "Finished", "Due", "Counts", "Schedule", "Look", "Lane":
			got, _ := o.out.([]state.Row)
			for _, r := range l.rows {
				text += "\n    " + rowText(*r) + differs(got, r)
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

// differs describes the differences between a row and the same row of a result.
func differs(answer []state.Row, want *state.Row) string {
	i := slices.IndexFunc(answer, func(r state.Row) bool { return r.ID == want.ID })
	if i < 0 {
		return ", not in the answer"
	}
	var out strings.Builder
	got, have := reflect.ValueOf(answer[i]), reflect.ValueOf(*want)
	for _, f := range reflect.VisibleFields(got.Type()) {
		if f.Anonymous {
			continue
		}
		a, b := got.FieldByIndex(f.Index).Interface(), have.FieldByIndex(f.Index).Interface()
		if !reflect.DeepEqual(a, b) {
			fmt.Fprintf(&out, ", %s %+v and not %+v", f.Name, b, a)
		}
	}
	return out.String()
}
