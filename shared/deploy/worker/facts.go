package worker

import (
	"context"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// learn removes from the results of a group the facts that are stored with the same value: they are
// no change that other resources have to follow. If the stored facts cannot be read, all facts count
// as changed.
func (b *batch) learn(ctx context.Context, group []*claim) {
	var keys []state.ParameterKey
	for _, c := range group {
		if c.result == nil || c.factsStored {
			continue
		}
		for name := range c.result.Facts {
			keys = append(keys, state.ParameterKey{Name: name, Of: c.row.ID})
		}
	}
	if len(keys) == 0 {
		return
	}
	stored, err := b.State.Parameters(context.WithoutCancel(ctx), b.env,
		state.ParameterQuery{Facts: true, Keys: keys})
	if err != nil {
		return
	}
	known := make(map[state.ParameterKey]resource.Data, len(stored))
	for i := range stored {
		known[state.ParameterKey{Name: stored[i].Name, Of: stored[i].Of}] = stored[i].Data()
	}
	for _, c := range group {
		if c.result == nil || c.factsStored {
			continue
		}
		for name, value := range c.result.Facts {
			if was, is := known[state.ParameterKey{Name: name, Of: c.row.ID}]; is && was.Same(value) {
				delete(c.result.Facts, name)
			}
		}
	}
}

// remembered returns the outbox entry for facts that are stored before a run acts. After a crash, the
// next run may find the same facts, and the entry is still stored.
func (b *batch) remembered(of *claim, r *run.Run) []state.Outbox {
	if len(r.Facts) == 0 {
		return nil
	}
	of.factsStored = true
	return []state.Outbox{{ID: r.ID + "-" + string(state.OutboxFact), Kind: state.OutboxFact,
		Of: of.row.ID, At: b.Clock.Now(), Priority: of.row.Priority}}
}
