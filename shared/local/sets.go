package local

import (
	"zombiezen.com/go/sqlite"

	"southbound/shared/deploy/state"
)

// A version has as many sets as there are instances of services, and nearly the same sets as the
// version before. So the sets are not part of the version's record. A set records the versions that
// have it, and a new version writes only the sets that it adds and removes.

// putSets stores the sets of a version that follows the one with the number last.
func (t *tx) putSets(v *state.Version, last int) error {
	c, env := t.c, t.env
	before, known := t.versions.setsOf(versionKey{env, last})
	if !known {
		const sql = "SELECT name FROM version_sets WHERE env = ? AND until IS NULL ORDER BY name"
		var err error
		if before, err = list(c, sql, text[string], env); err != nil {
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

// lacking returns the elements of a that are not in b; both are sorted. Most elements are in both,
// and are the same string in memory. Comparing such strings for equality does not read them,
// whereas comparing them by order would.
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

// readSets adds the sets to a version whose record was read.
func readSets(c *sqlite.Conn, env string, v *state.Version) (err error) {
	const sql = "SELECT name FROM version_sets WHERE env = ? AND since <= ? " +
		"AND (until IS NULL OR until > ?) ORDER BY name"
	v.Sets, err = list(c, sql, text[string], env, v.Number, v.Number)
	return err
}

// forgetSets removes the sets that no stored version has.
func forgetSets(c *sqlite.Conn, env string) error {
	const sql = "DELETE FROM version_sets WHERE env = ? AND until IS NOT NULL AND " +
		"until <= (SELECT min(number) FROM versions WHERE env = ?)"
	return query(c, sql, nil, env, env)
}
