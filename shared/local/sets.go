package local

import (
	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
)

// The sets of a version are as many as there are instances of services, and nearly those of the
// version before. So they are not part of its record: a set says which versions have it, and what a
// version writes is what it adds and leaves out.

// putSets stores the sets of a version that follows the one with the number last.
func (t *tx) putSets(v *state.Version, last int) error {
	c, env := t.c, t.env
	before, known := t.versions.setsOf(versionKey{env, last})
	if !known {
		const sql = "SELECT name FROM version_sets WHERE env = ? AND until IS NULL ORDER BY name"
		err := query(c, sql, func(s *sqlite.Stmt) error {
			before = append(before, s.ColumnText(0))
			return nil
		}, env)
		if err != nil {
			return err
		}
	}
	for _, name := range lacking(v.Sets, before) {
		const sql = "INSERT INTO version_sets (env, name, since) VALUES (?, ?, ?)"
		if err := query(c, sql, nil, env, name, v.Number); err != nil {
			return err
		}
	}
	for _, name := range lacking(before, v.Sets) {
		const sql = "UPDATE version_sets SET until = ? WHERE env = ? AND name = ? AND until IS NULL"
		if err := query(c, sql, nil, v.Number, env, name); err != nil {
			return err
		}
	}
	return nil
}

// lacking returns what is in a and not in b; both are sorted. Most are in both, and the same text
// in memory, which is not read to be found equal; to be found less it would be.
func lacking(a, b []string) []string {
	var out []string
	for _, s := range a {
		for len(b) > 0 && b[0] != s && b[0] < s {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == s {
			b = b[1:]
		} else {
			out = append(out, s)
		}
	}
	return out
}

// readSets completes a version of which the record was read.
func readSets(c *sqlite.Conn, env string, v *state.Version) error {
	const sql = "SELECT name FROM version_sets WHERE env = ? AND since <= ? " +
		"AND (until IS NULL OR until > ?) ORDER BY name"
	return query(c, sql, func(s *sqlite.Stmt) error {
		v.Sets = append(v.Sets, s.ColumnText(0))
		return nil
	}, env, v.Number, v.Number)
}

// forgetSets forgets the sets that no version has that is stored.
func forgetSets(c *sqlite.Conn, env string) error {
	const sql = "DELETE FROM version_sets WHERE env = ? AND until IS NOT NULL AND " +
		"until <= (SELECT min(number) FROM versions WHERE env = ?)"
	return query(c, sql, nil, env, env)
}
