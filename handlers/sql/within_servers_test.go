//go:build servers

package sql

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/postgresql"
)

// inner is a database of which a test owns all that is in it.
func inner(t *testing.T, c *conn.Conn, name string) string {
	t.Helper()
	must(t, c, "", "CREATE DATABASE "+ident(name))
	return name
}

func TestSchemaConformance(t *testing.T) {
	t.Parallel()
	plain := connect(t, &conn.Sessions{}, nil)
	db := inner(t, plain, `in "schemas`)
	must(t, plain, "", `CREATE ROLE "schema ""owner"`)
	var places atomic.Int64
	providertest.Run(t, providertest.Subject{Definition: Schema(), Transport: plain,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			prefix := fmt.Sprintf("conf%d ", places.Add(1))
			return providertest.Case{
				Attributes: m{"database": db, "name": prefix + odd, "owner": `schema "owner`,
					"comment": "it's"},
				Updates: []map[string]any{{"owner": "postgres", "comment": ""}},
				Others: []map[string]any{{"database": db, "name": prefix + "b"},
					{"database": db, "name": prefix + "c"}},
				World: func() (string, error) {
					return ask(t.Context(), plain, db,
						`SELECT substr(nspname, length($1) + 1), nspowner::regrole, obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE starts_with(nspname, $1) ORDER BY 1`,
						prefix)
				},
				Vanish: func() error {
					must(t, plain, db, "DROP SCHEMA "+ident(prefix+odd))
					return nil
				},
				Edges: []string{"comment", "cascade"}}, nil
		}})
}

func TestExtensionConformance(t *testing.T) {
	t.Parallel()
	plain := connect(t, &conn.Sessions{}, nil)
	db := inner(t, plain, `in "extensions`)
	must(t, plain, db, `CREATE SCHEMA "other ""one"`)
	providertest.Run(t, providertest.Subject{Definition: Extension(), Transport: plain,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			// one place after the other
			must(t, plain, db,
				"DROP EXTENSION IF EXISTS pg_trgm, citext, earthdistance, cube CASCADE")
			return providertest.Case{
					Attributes: m{"database": db, "name": "pg_trgm", "version": "latest",
						"schema": "public"},
					Updates: []map[string]any{{"schema": `other "one`}},
					// which needs another
					Others: []map[string]any{{"database": db, "name": "citext"},
						{"database": db, "name": "earthdistance"}},
					World: func() (string, error) {
						return ask(t.Context(), plain, db,
							"SELECT extname, extversion, extnamespace::regnamespace FROM "+
								"pg_extension WHERE extname <> 'cube' ORDER BY 1")
					},
					Vanish: func() error {
						must(t, plain, db, "DROP EXTENSION pg_trgm")
						return nil
					}},
				nil
		}})
}

func TestGrantConformance(t *testing.T) {
	t.Parallel()
	cut := &cutter{}
	tested, plain := connect(t, &conn.Sessions{Wrap: cut.wrap}, nil), connect(t, &conn.Sessions{},
		nil)
	db := inner(t, plain, "in grants")
	var places atomic.Int64
	providertest.Run(t, providertest.Subject{Definition: Grant(), Transport: tested,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			n := places.Add(1)
			space, role := fmt.Sprintf(`g"%d`, n), fmt.Sprintf(`granted "%d`, n)
			must(t, plain, db, "CREATE ROLE "+ident(role), "CREATE SCHEMA "+ident(space),
				"CREATE TABLE "+ident(space)+`."a "" b" (x int)`,
				"CREATE VIEW "+ident(space)+".v AS SELECT 1", "CREATE SEQUENCE "+ident(space)+".s")
			return providertest.Case{
				Attributes: m{"role": role, "database": db, "kind": "table", "schema": space,
					"privileges": []any{"SELECT", "INSERT"}},
				Updates: []map[string]any{{"privileges": []any{"ALL"}},
					{"privileges": []any{"UPDATE", "SELECT"}, "grantable": true},
					{"grantable": false}},
				Others: []map[string]any{{"role": role, "database": db,
					"privileges": []any{"CREATE"}},
					{"role": role, "database": db, "kind": "sequence", "schema": space, "name": "s",
						"privileges": []any{"USAGE"}}},
				World: func() (string, error) {
					return ask(t.Context(), plain, db,
						`SELECT relname || a.privilege_type || a.is_grantable AS x FROM pg_class, aclexplode(relacl) a WHERE relnamespace = $1::regnamespace AND a.grantee = $2::regrole UNION ALL
					SELECT a.privilege_type FROM pg_database, aclexplode(datacl) a WHERE datname = current_database() AND a.grantee = $2::regrole ORDER BY 1`,
						ident(space), ident(role))
				},
				Vanish: func() error {
					must(t, plain, db, "REVOKE ALL ON ALL TABLES IN SCHEMA "+ident(space)+" FROM "+
						ident(role))
					return nil
				},
				Interrupt: cut.Interrupt}, nil
		}})
}

// TestGrants goes through what can be given rights to, drift, and what is not there.
func TestGrants(t *testing.T) {
	t.Parallel()
	c := connect(t, &conn.Sessions{}, nil)
	db := inner(t, c, "grants")
	must(t, c, db, "CREATE ROLE reader", "CREATE ROLE member IN ROLE reader", "CREATE SCHEMA shop",
		"CREATE TABLE shop.one (a int)",
		"CREATE FUNCTION shop.f(a int) RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CREATE FUNCTION shop.f(a text, b int[]) RETURNS int LANGUAGE sql AS 'SELECT 1'",
		"CREATE PROCEDURE shop.p() LANGUAGE sql AS 'SELECT 1'")
	of := func(kind string, more ...any) m {
		out := m{"role": "reader", "database": db, "kind": kind}
		for i := 0; i < len(more); i += 2 {
			out[more[i].(string)] = more[i+1]
		}
		return out
	}
	goes := func(why string, want diff.Change, attrs m, purge bool) {
		t.Helper()
		for _, expected := range []diff.Change{want, diff.NoChange} {
			if got := providertest.Once(t.Context(), Grant(), c, attrs, purge); got.Err != nil ||
				got.Change != expected {
				t.Errorf("%s: %q, %v, want %q; %v", why, got.Change, got.Err, expected, got.Changes)
			}
		}
	}
	tables := of("table", "schema", "shop", "privileges", []any{"SELECT"})
	goes("all tables", diff.Created, tables, false)
	must(t, c, db, "CREATE TABLE shop.two (a int)")
	goes("one that came later", diff.Updated, tables, false)
	must(t, c, db, "GRANT DELETE ON shop.two TO reader")
	goes("one right too many", diff.Updated, tables, false)
	must(t, c, db, "REVOKE SELECT ON shop.one FROM reader")
	goes("one right too few", diff.Updated, tables, false)
	must(t, c, db, "GRANT SELECT ON shop.one TO reader WITH GRANT OPTION")
	goes("that may be given to others", diff.Updated, tables, false)
	if got, err := ask(t.Context(), c, db,
		"SELECT has_table_privilege('member', 'shop.two', 'SELECT'), "+
			"has_table_privilege('reader', 'shop.two', 'DELETE')"); got != "t|f" || err != nil {
		t.Errorf("rights are %s, %v", got, err)
	}
	goes("a schema", diff.Created, of("schema", "schema", "shop", "privileges", []any{"USAGE"}),
		false)
	goes("routines that have one name", diff.Created, of("routine", "schema", "shop", "name", "f",
		"privileges", []any{"EXECUTE"}), false)
	everyone := with(of("routine", "schema", "shop", "privileges", []any{"EXECUTE"}), "role",
		"public")
	goes("what everyone may do without being told", diff.NoChange, everyone, false)
	goes("and no longer", diff.Purged, everyone, true)
	if got, err := ask(t.Context(), c, db,
		"SELECT has_function_privilege('reader', 'shop.f(int)', 'EXECUTE'), "+
			"has_function_privilege('reader', 'shop.p()', 'EXECUTE')"); got != "t|f" || err != nil {
		t.Errorf("rights are %s, %v", got, err)
	}
	goes("a database", diff.Created, of("database", "privileges", []any{"CREATE", "TEMPORARY"}),
		false)
	goes("of a schema without sequences there is nothing to do", diff.NoChange,
		of("sequence", "schema", "shop", "privileges", []any{"USAGE"}), false)
	for kind, attrs := range map[string]m{"table": tables, "database": of("database", "privileges",
		[]any{"ALL"})} {
		goes("purged: "+kind, diff.Purged, attrs, true)
	}
	for why, attrs := range map[string]m{"no such table": of("table", "name", "none", "privileges",
		[]any{"SELECT"}), "no such schema": of("schema", "schema", "none", "privileges",
		[]any{"USAGE"}),
		"no such role": with(tables, "role", "nobody"), "no such database": with(tables, "database",
			"none")} {
		if got := providertest.Once(t.Context(), Grant(), c, attrs, false); got.Err == nil ||
			provider.ClassOf(got.Err) != provider.Retryable {
			t.Errorf("%s: %v is %s, which may come to be", why, got.Err, provider.ClassOf(got.Err))
		}
		if got := providertest.Once(t.Context(), Grant(), c, attrs, true); got.Err != nil ||
			got.Change != diff.NoChange {
			t.Errorf("%s is purged: %q, %v", why, got.Change, got.Err)
		}
	}
}

func with(attrs m, name string, value any) m {
	out := m{name: value}
	for k, v := range attrs {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// TestInsides pins what is refused of schemas and extensions.
func TestInsides(t *testing.T) {
	t.Parallel()
	c := connect(t, &conn.Sessions{}, nil)
	db := inner(t, c, "insides")
	must(t, c, db, "CREATE SCHEMA full_one", "CREATE TABLE full_one.t (a int)",
		"CREATE EXTENSION citext", "CREATE TABLE u (a citext)")
	for why, step := range map[string]struct {
		d     provider.Definition
		attrs m
		purge bool
		class provider.Class
		says  string
	}{
		"a schema that is not empty": {Schema(), m{"database": db, "name": "full_one"}, true,
			provider.NeedsChange, "`cascade: true`"},
		"an extension that is needed": {Extension(), m{"database": db, "name": "citext"}, true,
			provider.NeedsChange, "`cascade: true`"},
		"an extension there is not": {Extension(), m{"database": db, "name": "none"}, false,
			provider.NeedsChange, "not available"},
		"a version there is not": {Extension(),
			m{"database": db, "name": "citext", "version": "99"}, false, provider.NeedsChange,
			"99"},
		"a database that is yet to be": {Schema(), m{"database": "none", "name": "x"}, false,
			provider.Retryable, "does not exist"},
		"an owner that is yet to be": {Schema(),
			m{"database": db, "name": "x", "owner": "nobody"}, false, provider.Retryable,
			"does not exist"},
		"a name that the server's are": {Schema(), m{"database": db, "name": "pg_x"}, false,
			provider.NeedsChange, "reserved"},
	} {
		if got := providertest.Once(t.Context(), step.d, c, step.attrs,
			step.purge); got.Err == nil || provider.ClassOf(got.Err) != step.class ||
			!strings.Contains(got.Err.Error(), step.says) {
			t.Errorf("%s: %v is %s", why, got.Err, provider.ClassOf(got.Err))
		}
	}
	trigrams := m{"database": db, "name": "pg_trgm"}
	for i, step := range []struct {
		version string
		want    diff.Change
	}{{"1.5", diff.Created}, {"1.5", diff.NoChange}, {"latest", diff.Updated},
		{"latest", diff.NoChange}} {
		if got := providertest.Once(t.Context(), Extension(), c,
			with(trigrams, "version", step.version), false); got.Err != nil ||
			got.Change != step.want {
			t.Errorf("%d: version %s: %q, %v", i, step.version, got.Change, got.Err)
		}
	}
	if got := providertest.Once(t.Context(), Extension(), c, with(trigrams, "version", "1.5"),
		false); provider.ClassOf(got.Err) != provider.NeedsChange {
		t.Errorf("a way back that the extension has not: %v", got.Err)
	}
	for _, step := range []struct {
		d     provider.Definition
		attrs m
	}{{Schema(), m{"database": db, "name": "full_one", "cascade": true}},
		{Extension(), m{"database": db, "name": "citext", "cascade": true}}} {
		for _, want := range []diff.Change{diff.Purged, diff.NoChange} {
			if got := providertest.Once(t.Context(), step.d, c, step.attrs, true); got.Err != nil ||
				got.Change != want {
				t.Errorf("%s: %q, %v", step.d.Type.Name, got.Change, got.Err)
			}
		}
	}
}

// TestCollisions changes the rights to one database from many sides at once, of which the server
// lets all but one fail.
func TestCollisions(t *testing.T) {
	t.Parallel()
	c := connect(t, &conn.Sessions{}, nil)
	inner(t, c, "collisions")
	var done sync.WaitGroup
	for i := range 8 {
		role := ident(fmt.Sprintf("colliding %d", i))
		must(t, c, "", "CREATE ROLE "+role)
		done.Go(func() {
			for range 10 {
				if err := change(t.Context(), c, "", "GRANT CREATE ON DATABASE collisions TO "+role,
					"SELECT pg_sleep(0.001)",
					"REVOKE CREATE ON DATABASE collisions FROM "+role); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
}
