package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// log shows the states that an instance has come to, and what its attributes became at each.
func (ic *instanceCommands) log(ctx context.Context, o api.Orders, i *orders.Instance) error {
	var before orders.LogEntry
	ref := orders.Ref{Service: i.Service, ID: i.ID}
	return api.WholeLog(ctx, o, ic.env, ref, func(e *orders.LogEntry) {
		if ic.json {
			ic.line(e)
			return
		}
		ic.event(&orders.Event{Instance: e.Instance, Service: e.Service, Event: inventory.Event{
			At: e.At, Version: e.Version, Kind: string(e.Trigger), From: e.From, To: e.State,
			Error: e.Error, Message: e.Message,
		}})
		for _, s := range []struct {
			name    string
			was, is orders.Attributes
		}{
			{"candidate", before.Candidate, e.Candidate}, {"active", before.Active, e.Active},
			{"rollback", before.Rollback, e.Rollback},
		} {
			if text := setBecame(s.was, s.is); text != "" {
				ic.printf("%27s%s: %s\n", "", s.name, text) // below what the event says
			}
		}
		before = *e
	})
}

// setBecame says what became of a set of attributes; "" if it is as it was.
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
		out = append(out, oneLine(fmt.Sprintf("%s %s%s", name, old, now)))
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, has := is[name]; !has {
			out = append(out, oneLine(name)+" is gone")
		}
	}
	return strings.Join(out, ", ")
}
