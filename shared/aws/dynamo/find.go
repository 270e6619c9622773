package dynamo

import (
	"cmp"
	"context"
	"slices"

	"southbound/shared/aws/dynamo/rowcodec"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// FindRows implements state.RowFinder. The records of lanes are its index: it reads the lanes of the
// filter's agents that have rows of its type and statuses, and decodes only rows whose ids and sets
// match, and that have a reason if the filter is about reasons. If the query is only about ids and
// sets, it decodes only the rows of the page.
func (s *rows) FindRows(ctx context.Context, env string, q state.RowQuery) (state.RowPage, error) {
	recs, err := s.readRecords(ctx, env)
	if err != nil {
		return state.RowPage{}, err
	}
	var found []candidate
	for _, rec := range recs {
		if !mayHave(rec, &q.Filter) {
			continue
		}
		if err := s.withImage(ctx, env, rec, func(m *image) error {
			found = appendCandidates(found, m, &q)
			return nil
		}); err != nil {
			return state.RowPage{}, err
		}
	}
	return rowPage(found, &q), nil
}

// mayHave reports whether the lane of a record may have rows that match.
func mayHave(rec *record, f *state.Filter) bool {
	if rec.total() == 0 {
		return false
	}
	lane, _ := laneOf(rec.key)
	if len(f.Agents) > 0 && !rec.foreign && !slices.Contains(f.Agents, state.AgentOf(lane)) {
		return false
	}
	for kind, n := range rec.counts {
		if n > 0 && (f.Type == "" || f.Type == kind.of) &&
			(len(f.Statuses) == 0 || slices.Contains(f.Statuses, kind.status)) {
			return true
		}
	}
	return false
}

// candidate is a row that matches, not decoded.
type candidate struct {
	state.Place
	lane string
	row  *imageRow // is never changed in place
}

// decoded returns the row.
func (c *candidate) decoded() state.Row { return c.row.row(c.ID, c.lane) }

// appendCandidates appends the rows of an image that match.
func appendCandidates(to []candidate, m *image, q *state.RowQuery) []candidate {
	f := &q.Filter
	without := make(map[resource.ID]bool, len(q.Without))
	for _, id := range q.Without {
		without[id] = true
	}
	decodes := f.OfState() || q.Order == state.WorstFirst
	explained := slices.ContainsFunc(f.Reasons, func(part string) bool { return part != "" })
	for _, id := range m.order() {
		if without[id] || !f.PicksID(id) {
			continue
		}
		c := candidate{state.Place{ID: id}, m.lane, m.rows[id]}
		if len(f.Sets) > 0 && !slices.Contains(f.Sets, resource.SetOf(c.row.body)) ||
			explained && !rowcodec.Explained(c.row.rest) {
			continue
		}
		if decodes {
			r := c.decoded()
			if !f.Live(&r, false) {
				continue
			}
			c.Place = state.PlaceOf(&r)
		}
		to = append(to, c)
	}
	return to
}

// rowPage returns the page of a query from all rows that match. A row that moved during the read may
// be there twice: the higher revision counts.
func rowPage(found []candidate, q *state.RowQuery) state.RowPage {
	slices.SortFunc(found, func(a, b candidate) int {
		if a.ID != b.ID || a.row == b.row {
			return cmp.Compare(a.ID, b.ID)
		}
		first, second := a.decoded(), b.decoded()
		return cmp.Compare(second.Rev, first.Rev)
	})
	found = slices.CompactFunc(found, func(a, b candidate) bool { return a.ID == b.ID })
	slices.SortFunc(found, func(a, b candidate) int { return q.Order.Compare(a.Place, b.Place) })
	page := state.RowPage{Count: min(len(found), q.Count), More: q.Count > 0 && len(found) > q.Count}
	for i := range found {
		if len(page.Rows) == q.Limit {
			break
		}
		if q.After == nil || q.Order.Compare(found[i].Place, *q.After) > 0 {
			page.Rows = append(page.Rows, found[i].decoded())
		}
	}
	return page
}
