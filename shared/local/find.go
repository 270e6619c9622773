package local

import (
	"context"
	"slices"

	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// FindRows implements state.RowFinder. SQL compares the columns of rows, and Go their ids. Only the
// rows of the page are decoded.
func (h *Home) FindRows(ctx context.Context, env string, q state.RowQuery) (state.RowPage, error) {
	f := &finder{env: env, q: &q, without: map[resource.ID]bool{}}
	for _, id := range q.Without {
		f.without[id] = true
	}
	var found []record
	err := h.read(ctx, "read resources", func(c *sqlite.Conn) error {
		if err := f.find(c); err != nil {
			return err
		}
		for _, id := range f.ids {
			if err := appendRecords(c, &found, selectRow, env, string(id)); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		f.page.Rows, err = rowsOf(found)
	}
	return f.page, err
}

// finder finds the page of one query.
type finder struct {
	env     string
	q       *state.RowQuery
	without map[resource.ID]bool
	page    state.RowPage
	ids     []resource.ID // of the rows of the page
}

// find finds the ids of the page, and counts the rows that match.
func (f *finder) find(c *sqlite.Conn) error {
	if f.q.Order != state.WorstFirst {
		return f.among(c, f.q.Filter.Statuses)
	}
	wanted, after := f.q.Filter.Statuses, f.after()
	for _, status := range state.ByUrgency() {
		if len(wanted) > 0 && !slices.Contains(wanted, status) ||
			after != nil && state.Worse(status, after.Status) {
			continue
		}
		if err := f.among(c, []state.Status{status}); err != nil || f.done() {
			return err
		}
	}
	return nil
}

// after returns the place after which rows are read, or nil for all rows, as all are counted.
func (f *finder) after() *state.Place {
	if f.q.Count > 0 {
		return nil
	}
	return f.q.After
}

// among adds the rows that have one of the statuses, in order of id. Without statuses it adds all
// rows.
func (f *finder) among(c *sqlite.Conn, statuses []state.Status) error {
	index, w := f.where(statuses)
	compare, order := ">", "id"
	if f.q.Order == state.ByIDDescending {
		compare, order = "<", "id DESC"
	}
	var at state.Place
	if f.q.Order == state.WorstFirst {
		at.Status = statuses[0]
	}
	after := f.after()
	if after != nil && (f.q.Order != state.WorstFirst || after.Status == at.Status) {
		w.and("id "+compare+" +?", string(after.ID))
	}
	err := query(c, "SELECT id FROM resources INDEXED BY "+index+w.sql+" ORDER BY "+order,
		func(s *sqlite.Stmt) error {
			at.ID = resource.ID(s.ColumnText(0))
			if f.add(at); f.done() {
				return errEnough
			}
			return nil
		}, w.args...)
	if err == errEnough {
		return nil
	}
	return err
}

// where returns the condition of the filter, except for ids, and the index for it.
func (f *finder) where(statuses []state.Status) (index string, w *where) {
	filter := &f.q.Filter
	w = whereEnv(f.env)
	in(w, "status", statuses)
	in(w, "compliance", filter.Compliance)
	in(w, "last_run", filter.LastRun)
	in(w, "blocked", filter.Blocked)
	in(w, "set_name", filter.Sets)
	for _, part := range filter.Reasons {
		w.and("instr(why, +?) > 0", part)
	}
	if filter.Deploying != nil && *filter.Deploying {
		w.and("0") // rows do not record that they run
	}
	switch {
	case filter.OfNamed():
		w.and("set_name <> ''")
		return "resources_set", w
	case len(statuses) > 0:
		return "resources_status", w
	}
	return "resources_id", w
}

// add adds the row at a place, if its id matches.
func (f *finder) add(at state.Place) {
	if f.without[at.ID] || !f.q.Filter.PicksID(at.ID) {
		return
	}
	if f.page.Count < f.q.Count {
		f.page.Count++
	} else {
		f.page.More = f.q.Count > 0
	}
	if len(f.ids) < f.q.Limit && (f.q.After == nil || f.q.Order.Compare(at, *f.q.After) > 0) {
		f.ids = append(f.ids, at.ID)
	}
}

// done reports whether further rows change nothing.
func (f *finder) done() bool {
	return len(f.ids) == f.q.Limit && (f.q.Count == 0 || f.page.More)
}
