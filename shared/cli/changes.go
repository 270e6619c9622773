package cli

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/resource"
)

// did holds the results of a command's request.
type did struct {
	fixed   int // resources whose drift was corrected
	changes []api.Changed
}

// did reads the changes since a command's request, limited to the requested resources. If two
// commands request the same resources concurrently, the work is done once, and both commands report
// it.
func (w *waiter) did(ctx context.Context, of asked) (did, error) {
	if of.idle {
		return did{}, nil
	}
	actions, err := w.home.Actions(ctx, w.env, api.ActionQuery{After: of.since, Version: of.version,
		Notable: true})
	if err != nil {
		return did{}, err
	}
	slices.Reverse(actions) // oldest first
	var out did
	fixed, at := map[resource.ID]bool{}, map[resource.ID]int{}
	for i := range actions {
		x := &actions[i]
		if x.Action == state.ActionDryRun || x.Change == diff.NoChange || x.Change == "" ||
			!of.filter.Match(&state.Row{ID: x.Resource}) {
			continue
		}
		if !of.nothing && x.Action == state.ActionRepair && x.Outcome == state.StatusDeployed &&
			!of.unwell[x.Resource] {
			fixed[x.Resource] = true
		}
		names := slices.Sorted(maps.Keys(x.Changes))
		if n, again := at[x.Resource]; again {
			c := &out.changes[n]
			c.Replaced = c.Replaced || x.Replaced
			all := slices.Concat(c.Attributes, names)
			slices.Sort(all)
			c.Change, c.Attributes = x.Change, append([]string{}, slices.Compact(all)...)
			continue
		}
		at[x.Resource] = len(out.changes)
		out.changes = append(out.changes, api.Changed{ID: x.Resource, Change: x.Change,
			Attributes: append([]string{}, names...), Replaced: x.Replaced})
	}
	out.fixed = len(fixed)
	return out, nil
}

// maxChanges is how many changes are listed for people.
const maxChanges = 50
