package servicecmd

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/cli/output"
	"southbound/shared/service/orders"
)

// log shows the versions of an instance, and the changes of its attributes at each.
func (ic *instanceCommands) log(ctx context.Context, o api.Orders, i *orders.Instance) error {
	var before orders.LogEntry
	ref := orders.Ref{Service: i.Service, ID: i.ID}
	return api.WholeLog(ctx, o, ic.Env, ref, func(e *orders.LogEntry) {
		if ic.JSON {
			ic.Line(e)
			return
		}
		for n := len(e.Events) - 1; n >= 0; n-- {
			ic.event(&e.Events[n])
		}
		for _, s := range []struct {
			name    string
			was, is orders.Attributes
		}{
			{"candidate", before.Candidate, e.Candidate}, {"active", before.Active, e.Active},
			{"rollback", before.Rollback, e.Rollback},
		} {
			if text := setBecame(s.was, s.is); text != "" {
				ic.Printf("%27s%s: %s\n", "", s.name, text) // below the message of the event
			}
		}
		before = *e
	})
}

// setBecame describes the change of a set of attributes; "" if the set did not change.
func setBecame(was, is orders.Attributes) string {
	switch {
	case is == nil && was == nil:
		return ""
	case is == nil:
		return "none"
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		now, old := shortJSON(is[name]), ""
		if v, had := was[name]; had {
			if old = shortJSON(v); old == now {
				continue
			}
			old += " → "
		}
		out = append(out, output.OneLine(fmt.Sprintf("%s %s%s", name, old, now)))
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, has := is[name]; !has {
			out = append(out, output.OneLine(name)+" is gone")
		}
	}
	return strings.Join(out, ", ")
}
