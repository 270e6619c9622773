//go:build servers

package sql

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/postgresql"
)

type m = map[string]any

// resolved is a definition for resources whose references have been resolved.
func resolved(d provider.Definition) provider.Definition {
	for i, a := range d.Type.Attributes {
		d.Type.Attributes[i].Type = strings.ReplaceAll(a.Type, "Sensitive[String[1]]", "String[1]")
	}
	return d
}

// ask returns the answer of a query as lines.
func ask(ctx context.Context, c *conn.Conn, database, sql string, args ...string) (string, error) {
	var out []string
	err := c.Do(ctx, database, func(pg *pgconn.PgConn) error {
		rows, err := query(ctx, pg, sql, args...)
		for _, r := range rows {
			var fields []string
			for _, f := range r {
				fields = append(fields, string(f))
			}
			out = append(out, strings.Join(fields, "|"))
		}
		return err
	})
	return strings.Join(out, "\n"), err
}

func must(t *testing.T, c *conn.Conn, database string, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := c.Do(t.Context(), database,
			func(pg *pgconn.PgConn) error { return do(t.Context(), pg, s) }); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// odd is a name that is a trap for who does not quote.
const odd = `x"; DROP TABLE t; -- ' \ $1 ü`

func TestRoleConformance(t *testing.T) {
	t.Parallel()
	c := &cutter{}
	tested := connect(t, &conn.Sessions{Wrap: c.wrap}, m{"host": own.dir})
	plain := connect(t, &conn.Sessions{}, nil)
	must(t, plain, "", `CREATE ROLE "conf group a"`, `CREATE ROLE "conf group b"`,
		`CREATE ROLE "conf "" group"`)
	var places atomic.Int64
	providertest.Run(t, providertest.Subject{Definition: resolved(Role()), Transport: tested,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			prefix := fmt.Sprintf("conf%d ", places.Add(1))
			return providertest.Case{
				Attributes: m{"name": prefix + odd, "password": "s3cr3t 'one'", "createdb": true,
					"member_of": []any{"conf group b", "conf group a"}, "comment": `it's \ "one"`,
					"valid_until": "2031-02-03T04:05:06.5+02:00"},
				Updates: []map[string]any{{"password": `s3cr3t \ two`, "login": false,
					"member_of": []any{`conf " group`, "conf group a"}},
					{"valid_until": "infinity", "comment": "", "connection_limit": int64(7),
						"member_of": []any{}, "createrole": true, "createdb": false,
						"inherit": false, "superuser": true, "replication": true,
						"bypassrls": true}},
				Others: []map[string]any{{"name": prefix + "b", "login": false},
					{"name": prefix + "c", "password": "s3cr3t"}},
				World: func() (string, error) {
					return ask(t.Context(), plain, "",
						`SELECT substr(rolname, length($1) + 1), rolsuper, rolinherit, rolcreaterole, rolcreatedb, rolcanlogin, rolreplication, rolbypassrls, rolconnlimit, rolvaliduntil,
					rolpassword IS NULL, shobj_description(oid, 'pg_authid'), ARRAY(SELECT roleid::regrole FROM pg_auth_members WHERE member = a.oid ORDER BY 1) FROM pg_authid a WHERE starts_with(rolname, $1) ORDER BY 1`,
						prefix)
				},
				Vanish: func() error {
					must(t, plain, "", "DROP ROLE "+ident(prefix+odd))
					return nil
				},
				Interrupt: c.Interrupt, Secrets: []string{"s3cr3t", "SCRAM-SHA"},
				Edges: []string{"*"},
				Unfit: map[string]string{"member_of": "a role that is not there may come to be",
					"reassign_to": "it is of use when purged only"}}, nil
		}})
	log, err := os.ReadFile(filepath.Join(own.dir, "log"))
	if err != nil || !strings.Contains(string(log), "PASSWORD ") ||
		strings.Contains(string(log), "s3cr3t") {
		t.Errorf("the server's log has no statement with a password, or has one in it: %v", err)
	}
}

func TestDatabaseConformance(t *testing.T) {
	t.Parallel()
	c := &cutter{}
	tested := connect(t, &conn.Sessions{Wrap: c.wrap}, nil)
	plain := connect(t, &conn.Sessions{}, m{"host": own.dir})
	must(t, plain, "", `CREATE ROLE "conf ""owner"" a"`, `CREATE ROLE "conf owner b"`)
	var places atomic.Int64
	providertest.Run(t, providertest.Subject{Definition: Database(), Transport: tested,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			prefix := fmt.Sprintf("conf%d ", places.Add(1))
			return providertest.Case{
					Attributes: m{"name": prefix + odd, "owner": `conf "owner" a`,
						"encoding": "UTF8",
						"locale":   "C", "comment": `it's \ "one"`},
					Updates: []map[string]any{{"owner": "conf owner b", "comment": "",
						"connection_limit": int64(7), "extensions": []any{"plpgsql"}}},
					InitOnly: map[string]any{"encoding": "SQL_ASCII", "locale": "C.UTF-8"},
					Others:   []map[string]any{{"name": prefix + "b"}},
					World: func() (string, error) {
						return ask(t.Context(), plain, "",
							`SELECT substr(datname, length($1) + 1), pg_get_userbyid(datdba), pg_encoding_to_char(encoding), datcollate, datctype, datconnlimit, shobj_description(oid, 'pg_database')
					FROM pg_database WHERE starts_with(datname, $1) ORDER BY 1`, prefix)
					},
					Vanish: func() error {
						must(t, plain, "", "DROP DATABASE "+ident(prefix+odd))
						return nil
					},
					Interrupt: c.Interrupt, Edges: []string{"connection_limit", "comment",
						"force"}},
				nil
		}})
}
