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
		l := listing{c: c, env: env, q: &q}
		if err := l.plan(); err != nil {
			return err
		}
		order, compare := l.key()+", id", " > "
		if q.NewestFirst {
			order, compare = strings.ReplaceAll(order, ",", " DESC,")+" DESC", " < "
		}
		if q.After != nil {
			l.where += " AND (" + l.key() + ", id)" + compare + l.place()
		}
		ids, err := list(c, "SELECT id FROM instances "+l.index()+l.where+" ORDER BY "+order+" LIMIT ?",
			text[string], append(l.args, inventory.Page(q.Limit))...)
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
		l := listing{c: c, env: env, q: &q}
		if err := l.plan(); err != nil {
			return err
		}
		sum, args := "0", l.args
		if q.After != nil {
			compare := " <= "
			if q.NewestFirst {
				compare = " >= "
			}
			l.args = nil
			sum = "coalesce(sum((" + l.key() + ", id)" + compare + l.place() + "), 0)"
			args = append(l.args, args...)
		}
		return query(c, "SELECT count(*), "+sum+" FROM instances "+l.index()+l.where,
			func(s *sqlite.Stmt) error {
				out = inventory.Count{Total: s.ColumnInt(0), Ahead: s.ColumnInt(1)}
				return nil
			}, args...)
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

// listing builds the statements of a query.
type listing struct {
	c     *sqlite.Conn
	env   string
	q     *inventory.Query
	where string
	args  []any
}

// and adds a condition.
func (l *listing) and(sql string, args ...any) {
	l.where, l.args = l.where+" AND "+sql, append(l.args, args...)
}

// plan builds the condition of the filter, without the start position.
func (l *listing) plan() error {
	q := l.q
	l.where, l.args = "WHERE env = ?", []any{l.env}
	if q.Service != "" {
		l.and("service = ?", q.Service)
	}
	if len(q.States) > 0 {
		l.and("state IN (SELECT value FROM json_each(?))", toJSON(q.States))
	}
	switch {
	case q.OnlyDeleted:
		l.and("deleted = 1")
	case !q.Deleted:
		l.and("deleted = 0")
	}
	if q.Identity != "" {
		l.and("name = ?", q.Identity)
	}
	if q.Name != "" {
		l.and("(instr(id, ?) > 0 OR instr(name, ?) > 0)", q.Name, q.Name)
	}
	if q.Empty|q.NotEmpty != 0 {
		l.and("sets & ? = ?", int(q.Empty|q.NotEmpty), int(q.NotEmpty))
		if q.Empty&q.NotEmpty != 0 {
			l.and("0")
		}
	}
	return l.attributes()
}

// attributes adds the condition of the filters of attributes.
func (l *listing) attributes() error {
	if len(l.q.Attributes) == 0 {
		return nil
	}
	var terms []string
	var args []any
	for name, text := range l.q.Attributes {
		terms = append(terms, "id IN (SELECT id FROM instance_terms WHERE env = ? AND term IN "+
			"(SELECT value FROM json_each(?)))")
		args = append(args, l.env, toJSON(inventory.Sought(name, text)))
	}
	more, err := l.many()
	l.and("("+strings.Join(terms, " AND ")+" OR id IN (SELECT value FROM json_each(?)))",
		append(args, toJSON(more))...)
	return err
}

// manyTerms stands in the index for the terms of an instance that has too many. It is no term.
const manyTerms = ""

// many returns the matching instances that have too many terms for the index.
func (l *listing) many() ([]string, error) {
	out := []string{}
	err := query(l.c, "SELECT i.rev, i.body, i.env, i.id FROM instance_terms t JOIN instances i "+
		"ON i.env = t.env AND i.id = t.id WHERE t.env = ? AND t.term = ?",
		func(s *sqlite.Stmt) error {
			r, err := storedInstance(s)
			if err == nil && l.q.Matches(&r) {
				out = append(out, r.ID)
			}
			return err
		}, l.env, manyTerms)
	return out, err
}

// key returns the columns of the order, without the id.
func (l *listing) key() string {
	switch l.q.Sort {
	case inventory.ByUpdate:
		return "updated, created"
	case inventory.ByState:
		return "state, created"
	case inventory.ByIdentity:
		return "name, created"
	case inventory.ByID:
		return "id, created"
	}
	return "created"
}

// place adds the arguments of the start position and returns its row.
func (l *listing) place() string {
	at := inventory.PositionOf(l.q.After)
	switch l.q.Sort {
	case inventory.ByUpdate:
		l.args = append(l.args, at.Updated)
	case inventory.ByState:
		l.args = append(l.args, at.State)
	case inventory.ByIdentity:
		l.args = append(l.args, at.Identity)
	case inventory.ByID:
		l.args = append(l.args, at.ID)
	default:
		l.args = append(l.args, at.Created, at.ID)
		return "(?, ?)"
	}
	l.args = append(l.args, at.Created, at.ID)
	return "(?, ?, ?)"
}

// index returns the index of the query: one that has its order, or all columns that it needs.
func (l *listing) index() string {
	q := l.q
	stored := q.Identity == "" && q.Name == "" && q.Empty|q.NotEmpty == 0
	switch {
	case q.Service != "" && stored && (q.Sort == inventory.ByState ||
		q.Sort == inventory.ByCreation && len(q.States) > 0):
		return "INDEXED BY instances_state "
	case q.Sort == inventory.ByCreation && stored && len(q.Attributes) == 0 && !q.OnlyDeleted:
		return ""
	}
	return "INDEXED BY instances_updated "
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
