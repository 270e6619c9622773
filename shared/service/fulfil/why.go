package fulfil

import (
	"cmp"
	"encoding/json"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/resource"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
)

// became holds the resources of an instance after a compile, and their positions in the model.
type became struct {
	ids    []resource.ID
	places []diag.Pos // in the form of inventory.Record.Places
}

// setsOf returns the resources of a model by set.
func setsOf(m *model.Model) map[string]became {
	out, last := map[string]became{}, map[string]diag.Pos{}
	for i := range m.Resources {
		r := &m.Resources[i]
		at, one := m.At(i, ""), out[r.Set]
		if one.ids = append(one.ids, r.ID); at == last[r.Set] {
			at = diag.Pos{}
		} else {
			last[r.Set] = at
		}
		one.places = append(one.places, at)
		out[r.Set] = one
	}
	return out
}

// maxNoted is the size in bytes of the resource ids in a record, and of their places. If the ids
// exceed it, they are found by a scan. If the places exceed it, they are unknown.
const maxNoted = 32 << 10

// note stores the resources of an instance in its record.
func (b became) note(r *inventory.Record) {
	r.Resources, r.Places = noted(b.ids), nil
	text, err := json.Marshal(b.places)
	known := slices.ContainsFunc(b.places, func(at diag.Pos) bool { return at.File != "" })
	if r.Resources != nil && known && err == nil && len(text) <= maxNoted {
		r.Places = b.places
	}
}

// noted returns resource ids in the form of a record; nil if they exceed maxNoted.
func noted(ids []resource.ID) []string {
	out, n := make([]string, len(ids)), 0
	for i, id := range ids {
		out[i], n = string(id), n+len(id)+3
	}
	if n > maxNoted {
		return nil
	}
	return out
}

// sayWhy records in an instance, and in the event of the change, which resources failed. If the
// outcome is not failed, it clears the problems of the record.
func (o *outcomes) sayWhy(
	c *inventory.Change, outcome lifecycle.Outcome, rows map[resource.ID]*state.Row,
) {
	if c.Record.Problems = nil; outcome != lifecycle.Failed {
		return
	}
	problems := o.unwell(&c.Record, rows)
	c.Record.Problems = said(problems)
	explain(c, problems)
}

// unwell returns the problems of the resources of an instance and of those that it follows, with
// their places in the model. Resources that failed themselves come first.
func (o *outcomes) unwell(rec *inventory.Record, rows map[resource.ID]*state.Row) []diag.Problem {
	type one struct {
		diag.Problem
		rank int
	}
	var all []one
	places := rec.Placed()
	own := o.memory.sets[rec.ID]
	for i, id := range slices.Concat(own, idsOf(rec.Follows)) {
		row := rows[id]
		if i >= len(own) && (row == nil || row.Orphaned) {
			continue // it is no longer wanted
		}
		p, rank := failureOf(row)
		if p.Message == "" {
			continue
		}
		p.Pos, p.Resource = places[string(id)], string(id)
		all = append(all, one{p, rank})
	}
	slices.SortStableFunc(all, func(a, b one) int { return cmp.Compare(a.rank, b.rank) })
	var out []diag.Problem
	for i := range all {
		out = append(out, all[i].Problem)
	}
	return out
}

// failureOf returns why a resource is not as wanted, with a rank: 0 for a cause, and more for its
// consequences. The message is empty if the resource is as wanted.
func failureOf(row *state.Row) (diag.Problem, int) {
	if row == nil {
		return diag.Problem{
			Message: "it has left the model",
			Hint:    "update the instance, so that it is exported again",
		}, 1
	}
	status, rank := row.Status(), 0
	switch status {
	case state.StatusDeployed, state.StatusNonCompliant, state.StatusAvailable,
		state.StatusDeploying:
		return diag.Problem{}, 0
	case state.StatusSkipped:
		rank = 2
	case state.StatusBlocked, state.StatusUndefined:
		rank = 1
	}
	why := cmp.Or(row.Why(), "no reason was recorded")
	return diag.Problem{Message: string(status) + ": " + why}, rank
}
