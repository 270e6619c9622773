package work

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
	Fixed   int // resources whose drift was corrected
	Changes []api.Changed
}

// did reads the changes since a command's request, limited to the requested resources. If two
// commands request the same resources concurrently, the work is done once, and both commands report
// it.
func (w *Waiter) did(ctx context.Context, of Request) (did, error) {
	if of.Idle {
		return did{}, nil
	}
	actions, err := w.Home.Actions(ctx, w.Env, api.ActionQuery{After: of.Since, Version: of.Version,
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
			!of.Filter.Match(&state.Row{ID: x.Resource}) {
			continue
		}
		if !of.Nothing && x.Action == state.ActionRepair && x.Outcome == state.StatusDeployed &&
			!of.unwell[x.Resource] {
			fixed[x.Resource] = true
		}
		names := slices.Sorted(maps.Keys(x.Changes))
		if n, again := at[x.Resource]; again {
			c := &out.Changes[n]
			c.Replaced = c.Replaced || x.Replaced
			all := slices.Concat(c.Attributes, names)
			slices.Sort(all)
			c.Change, c.Attributes = x.Change, append([]string{}, slices.Compact(all)...)
			continue
		}
		at[x.Resource] = len(out.Changes)
		out.Changes = append(out.Changes, api.Changed{ID: x.Resource, Change: x.Change,
			Attributes: append([]string{}, names...), Replaced: x.Replaced})
	}
	out.Fixed = len(fixed)
	return out, nil
}

// maxChanges is how many changes are listed for people.
const maxChanges = 50
