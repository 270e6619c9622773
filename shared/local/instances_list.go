package local

import (
	"context"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"southbound/shared/service/inventory"
)

// Instances implements inventory.Store. It finds the ids of the page in an index, and decodes the
// records of the page alone.
func (n *Instances) Instances(
	ctx context.Context, env string, q inventory.Query,
) ([]inventory.Record, error) {
	var out []inventory.Record
	err := n.home.read(ctx, readInstances, func(c *sqlite.Conn) error {
		w, err := instancesWhere(c, env, &q)
		if err != nil {
			return err
		}
		order := orderOf(&q)
		order.after(w)
		ids, err := list(c, "SELECT id FROM instances "+indexOf(&q)+w.sql+order.by()+" LIMIT ?",
			text[string], append(w.args, inventory.Page(q.Limit))...)
		if err != nil {
			return err
		}
		for _, id := range ids {
			r, err := one(c, selectInstances+"WHERE env = ? AND id = ?", storedInstance, env, id)
			if err != nil {
				return err
			}
			out = append(out, r)
		}
		return nil
	})
	return out, err
}

// Count implements inventory.Store.
func (n *Instances) Count(
	ctx context.Context, env string, q inventory.Query,
) (inventory.Count, error) {
	var out inventory.Count
	err := n.home.read(ctx, "count instances", func(c *sqlite.Conn) error {
		w, err := instancesWhere(c, env, &q)
		if err == nil {
			out, err = orderOf(&q).count(c, "instances "+indexOf(&q), w)
		}
		return err
	})
	return out, err
}

// ByState implements inventory.Store.
func (n *Instances) ByState(
	ctx context.Context, env, service string,
) (map[inventory.Standing]int, error) {
	out := map[inventory.Standing]int{}
	err := n.home.read(ctx, "count instances", func(c *sqlite.Conn) error {
		return query(c, "SELECT state, version, count(*) FROM instances INDEXED BY instances_state "+
			"WHERE env = ? AND service = ? AND deleted = 0 GROUP BY state, version",
			func(s *sqlite.Stmt) error {
				of := inventory.Standing{State: s.ColumnText(0), Version: s.ColumnInt(1)}
				out[of] = s.ColumnInt(2)
				return nil
			}, env, service)
	})
	return out, err
}

// instancesWhere returns the condition of a query, without its start position.
func instancesWhere(c *sqlite.Conn, env string, q *inventory.Query) (*where, error) {
	w := whereEnv(env)
	if q.Service != "" {
		w.and("service = ?", q.Service)
	}
	if len(q.States) > 0 {
		w.and("state IN (SELECT value FROM json_each(?))", toJSON(q.States))
	}
	switch {
	case q.OnlyDeleted:
		w.and("deleted = 1")
	case !q.Deleted:
		w.and("deleted = 0")
	}
	if q.Identity != "" {
		w.and("name = ?", q.Identity)
	}
	if q.Name != "" {
		w.and("(instr(id, ?) > 0 OR instr(name, ?) > 0)", q.Name, q.Name)
	}
	if q.Empty|q.NotEmpty != 0 {
		w.and("sets & ? = ?", int(q.Empty|q.NotEmpty), int(q.NotEmpty))
		if q.Empty&q.NotEmpty != 0 {
			w.and("0")
		}
	}
	if len(q.Attributes) == 0 {
		return w, nil
	}
	var terms []string
	var args []any
	for name, text := range q.Attributes {
		terms = append(terms, "id IN (SELECT id FROM instance_terms WHERE env = ? AND term IN "+
			"(SELECT value FROM json_each(?)))")
		args = append(args, env, toJSON(inventory.Sought(name, text)))
	}
	more, err := withManyTerms(c, env, q)
	w.and("("+strings.Join(terms, " AND ")+" OR id IN (SELECT value FROM json_each(?)))",
		append(args, toJSON(more))...)
	return w, err
}

// manyTerms stands in the index for the terms of an instance that has too many. It is no term.
const manyTerms = ""

// withManyTerms returns the matching instances that have too many terms for the index.
func withManyTerms(c *sqlite.Conn, env string, q *inventory.Query) ([]string, error) {
	all, err := list(c, "SELECT i.rev, i.body, i.env, i.id FROM instance_terms t JOIN instances i "+
		"ON i.env = t.env AND i.id = t.id WHERE t.env = ? AND t.term = ?", storedInstance, env, manyTerms)
	out := []string{}
	for i := range all {
		if q.Matches(&all[i]) {
			out = append(out, all[i].ID)
		}
	}
	return out, err
}

// orderOf returns the order of a query, with its start position.
func orderOf(q *inventory.Query) *order {
	o := &order{newest: q.NewestFirst}
	var at inventory.Position
	if o.started = q.After != nil; o.started {
		at = inventory.PositionOf(q.After)
	}
	switch q.Sort {
	case inventory.ByUpdate:
		o.add("updated", at.Updated)
	case inventory.ByState:
		o.add("state", at.State)
	case inventory.ByIdentity:
		o.add("name", at.Identity)
	case inventory.ByID:
		o.add("id", at.ID)
	}
	o.add("created", at.Created)
	o.add("id", at.ID)
	return o
}

// indexOf returns the index of a query: one that has its order, or all columns that it needs.
func indexOf(q *inventory.Query) string {
	stored := q.Identity == "" && q.Name == "" && q.Empty|q.NotEmpty == 0
	switch {
	case q.Service != "" && stored && (q.Sort == inventory.ByState ||
		q.Sort == inventory.ByCreation && len(q.States) > 0):
		return "INDEXED BY instances_state"
	case q.Sort == inventory.ByCreation && stored && len(q.Attributes) == 0 && !q.OnlyDeleted:
		return ""
	}
	return "INDEXED BY instances_updated"
}

// putTerms stores the terms of an instance, of which the index has those of was. It returns the
// terms in the form of was.
func putTerms(c *sqlite.Conn, env string, r *inventory.Record, was string) (string, error) {
	terms, all := inventory.Terms(r)
	if !all {
		terms = []string{manyTerms}
	}
	is := toJSON(terms)
	if is == was {
		return is, nil
	}
	var before []string
	if was != "" {
		if err := fromJSON(was, &before); err != nil {
			return "", err
		}
	}
	for _, term := range terms {
		if _, has := slices.BinarySearch(before, term); !has {
			if err := query(c, "INSERT OR IGNORE INTO instance_terms (env, term, id) VALUES (?, ?, ?)",
				nil, env, term, r.ID); err != nil {
				return "", err
			}
		}
	}
	for _, term := range before {
		if _, has := slices.BinarySearch(terms, term); !has {
			if err := query(c, "DELETE FROM instance_terms WHERE env = ? AND term = ? AND id = ?", nil,
				env, term, r.ID); err != nil {
				return "", err
			}
		}
	}
	return is, nil
}
