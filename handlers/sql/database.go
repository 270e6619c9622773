package sql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
	conn "southbound/shared/transport/postgresql"
)

// database is the handler of sql::Database.
type database struct{}

// Database declares sql::Database.
func Database() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "sql::Database",
			Description: "A database of a PostgreSQL server. The agent is the server, or its machine. A purge " +
				"removes the database with its contents. Attributes that are not set are left " +
				"unchanged.",
			Transports: transports(),
			Machine:    true,
			Attributes: []schema.Attribute{
				{Name: "name", Type: nameType, Behaviour: schema.Namevar,
					Description: "its name, exactly as the server keeps it"},
				{Name: "owner", Type: "Optional[" + nameType + "]",
					Description: "the role that owns it"},
				{Name: "encoding", Type: `Optional[Pattern[/\A[A-Z0-9_]+\z/]]`,
					Behaviour:   schema.InitOnly,
					Description: "the encoding, as the server spells it: UTF8"},
				{Name: "locale", Type: "Optional[String[1]]", Behaviour: schema.InitOnly,
					Description: "the locale of order and characters, such as C or de_DE.UTF-8"},
				{Name: "template", Type: "Optional[" + nameType + "]", Behaviour: schema.Parameter,
					Description: "the database to copy; default template0 if encoding or locale is set, " +
						"otherwise template1"},
				{Name: "extensions", Type: "Optional[Array[String[1]]]",
					Description: "extensions to install; other extensions are left unchanged"},
				{Name: "connection_limit", Type: "Optional[Integer[-1, 2147483647]]",
					Description: "maximum number of connections; -1: no limit"},
				{Name: "comment", Type: "Optional[String]", Description: "a description"},
				{Name: "force", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether a purge ends connections to it"},
			},
			Features: []string{"batch", "discover"},
			Validate: validDatabase,
			Thing:    schema.ByIdentity("name"),
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "sql::Role",
					Keys: map[string]string{"name": "$owner"}},
				{Kind: schema.Require, Type: "sql::Database",
					Keys: map[string]string{"name": "$template"}},
			},
		},
		Handler: database{},
	}
}

func validDatabase(attrs map[string]any) []diag.Problem {
	return validNames(attrs, "name", "owner", "template")
}

// reserved are the databases that every server needs.
func reserved(name string) bool {
	return slices.Contains([]string{"postgres", "template0", "template1"}, name)
}

// Read implements provider.Handler.
func (d database) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	return provider.ReadOne(ctx, d, req)
}

// ReadBatch implements provider.BatchReader: over one connection.
func (database) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return batch(ctx, items, readDatabase)
}

func readDatabase(
	ctx *provider.Context, c *conn.Conn, pg *pgconn.PgConn, r provider.Resource,
) (provider.Observation, error) {
	name := text(r, "name")
	if err := printable(name); err != nil {
		return provider.Observation{}, err
	}
	rows, err := query(ctx, pg,
		`SELECT pg_catalog.pg_get_userbyid(datdba), pg_catalog.pg_encoding_to_char(encoding), datcollate, datctype, datconnlimit,
		pg_catalog.shobj_description(oid, 'pg_database') FROM pg_catalog.pg_database WHERE datname = $1`,
		name)
	if err != nil {
		return provider.Observation{}, failure("read the database "+name, err)
	}
	if len(rows) == 0 {
		return provider.Observation{}, nil
	}
	row := rows[0]
	limit, err := strconv.ParseInt(string(row[4]), 10, 64)
	if err != nil {
		return provider.Observation{}, failure("read the database "+name, err)
	}
	if limit == dropping {
		if r.Purged { // it can only be dropped
			return provider.Observation{Exists: true, Attributes: map[string]any{}}, nil
		}
		return provider.Observation{}, provider.Errorf(provider.Retryable,
			"read the database %s: %w", name, errDropping)
	}
	locale := string(row[2])
	if ctype := string(row[3]); ctype != locale {
		locale += ", with the characters of " + ctype
	}
	attrs := map[string]any{"owner": string(row[0]), "encoding": string(row[1]), "locale": locale,
		"connection_limit": limit, "comment": string(row[5])}
	if want, ok := texts(r.Attributes, "extensions"); ok && !r.Purged {
		have, err := extensions(ctx, c, name)
		if err != nil {
			return provider.Observation{}, failure("read the extensions of the database "+name, err)
		}
		attrs["extensions"] = list(slices.DeleteFunc(want,
			func(w string) bool { return !slices.Contains(have, w) }))
	}
	return provider.Observation{Exists: true, Attributes: attrs}, nil
}

// dropping is the connection limit of a database that is being dropped, or whose drop was
// interrupted: such a database can only be dropped.
const dropping = -2

var errDropping = errors.New("it is being dropped, or a drop of it was cut off; if it stays so, " +
	"DROP DATABASE, or purging the resource, removes the rest of it")

func extensions(ctx context.Context, c *conn.Conn, name string) (out []string, err error) {
	err = c.Do(ctx, name, func(pg *pgconn.PgConn) error {
		rows, err := query(ctx, pg, "SELECT extname FROM pg_catalog.pg_extension")
		for _, r := range rows {
			out = append(out, string(r[0]))
		}
		return err
	})
	return out, err
}

// Create implements provider.Handler. A database that was created since the read is updated.
func (d database) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	r := req.Resource
	if err := printable(text(r, "name"), text(r, "owner"), text(r, "template"), text(r, "locale"),
		text(r, "comment")); err != nil {
		return provider.Result{}, err
	}
	if err := knownEncoding(ctx, c, text(r, "encoding")); err != nil {
		return provider.Result{}, err
	}
	err = change(ctx, c, "", createDatabase(r))
	if err != nil && !is(err, duplicateDatabase, uniqueViolation) {
		return provider.Result{}, failure("create the database "+text(r, "name"), err)
	}
	return provider.Result{}, d.reconcile(ctx, c, r)
}

// knownEncoding rejects encodings that the server does not have. The server's error for a missing
// encoding is the same as for a role that may still be created.
func knownEncoding(ctx context.Context, c *conn.Conn, name string) error {
	if name == "" {
		return nil
	}
	return c.Do(ctx, "", func(pg *pgconn.PgConn) error {
		rows, err := query(ctx, pg, "SELECT pg_catalog.pg_char_to_encoding($1::name)", name)
		if err == nil && len(rows) == 1 && string(rows[0][0]) == "-1" {
			return provider.Errorf(provider.NeedsChange, "the server has no encoding %s", name)
		}
		return failure("find the encoding "+name, err)
	})
}

func createDatabase(r provider.Resource) string {
	out := "CREATE DATABASE " + ident(text(r, "name"))
	if o := text(r, "owner"); o != "" {
		out += " OWNER " + ident(o)
	}
	template := text(r, "template")
	if e := text(r, "encoding"); e != "" {
		out += " ENCODING " + literal(e)
	}
	if l := text(r, "locale"); l != "" {
		out += " LC_COLLATE " + literal(l) + " LC_CTYPE " + literal(l)
	}
	if template == "" && (r.Attributes["encoding"] != nil || r.Attributes["locale"] != nil) {
		template = "template0"
	}
	if template != "" {
		out += " TEMPLATE " + ident(template)
	}
	if n, ok := r.Attributes["connection_limit"].(int64); ok {
		out += fmt.Sprintf(" CONNECTION LIMIT %d", n)
	}
	return out
}

// Update implements provider.Handler.
func (d database) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	r := req.Resource
	if err := printable(text(r, "owner"), text(r, "comment")); err != nil {
		return provider.Result{}, err
	}
	return provider.Result{}, d.reconcile(ctx, c, r)
}

// reconcile reads the database again, so that it acts on the current state, and changes the
// attributes that differ.
func (d database) reconcile(ctx *provider.Context, c *conn.Conn, r provider.Resource) error {
	have, err := reread(ctx, d, "database", r)
	if err != nil {
		return err
	}
	name := text(r, "name")
	diffs := differences(r.Attributes, have, "owner", "encoding", "locale",
		"connection_limit", "comment", "extensions")
	for _, fixed := range []string{"encoding", "locale"} {
		if _, differs := diffs[fixed]; differs {
			return provider.Errorf(provider.NeedsChange,
				"the database %s exists, and its %s can only be set when it is created", name,
				fixed)
		}
	}
	var todo []string
	if _, differs := diffs["owner"]; differs {
		todo = append(todo, "ALTER DATABASE "+ident(name)+" OWNER TO "+ident(text(r, "owner")))
	}
	if d, differs := diffs["connection_limit"]; differs {
		todo = append(todo, fmt.Sprintf("ALTER DATABASE %s CONNECTION LIMIT %d", ident(name),
			d.Desired))
	}
	if _, differs := diffs["comment"]; differs {
		todo = append(todo, "COMMENT ON DATABASE "+ident(name)+" IS "+comment(text(r, "comment")))
	}
	if err := change(ctx, c, "", todo...); err != nil {
		return failure("change the database "+name, err)
	}
	if _, differs := diffs["extensions"]; !differs {
		return nil
	}
	todo = nil
	wanted, _ := texts(r.Attributes, "extensions")
	for _, e := range wanted {
		if err := printable(e); err != nil {
			return err
		}
		todo = append(todo, "CREATE EXTENSION IF NOT EXISTS "+ident(e)+" CASCADE")
	}
	return failure("add extensions to the database "+name, change(ctx, c, name, todo...))
}

// comment returns a comment in the form of a statement.
func comment(s string) string {
	if s == "" {
		return "NULL"
	}
	return literal(s)
}

// differences compares desired attributes with those that were found.
func differences(want, have map[string]any, names ...string) map[string]diff.Diff {
	out := map[string]diff.Diff{}
	for _, n := range names {
		if w := want[n]; w != nil && !same(w, have[n]) {
			out[n] = diff.Diff{Current: have[n], Desired: w}
		}
	}
	return out
}

// Delete implements provider.Handler.
func (database) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	name := text(req.Resource, "name")
	if reserved(name) {
		return provider.Result{}, provider.Errorf(provider.NeedsChange,
			"the server needs the database %s", name)
	}
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	statement := "DROP DATABASE IF EXISTS " + ident(name)
	if force, _ := req.Resource.Attributes["force"].(bool); force {
		statement += " WITH (FORCE)"
	}
	err = change(ctx, c, "", statement)
	if is(err, objectInUse) {
		return provider.Result{}, provider.Errorf(provider.Retryable,
			"drop the database %s: %s; `force: true` ends the connections to it", name,
			conn.Text(err))
	}
	return provider.Result{}, failure("drop the database "+name, err)
}
