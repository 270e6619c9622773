package sql

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
	conn "southbound/shared/transport/postgresql"
)

// space is the handler of sql::Schema.
type space struct{}

// Schema declares sql::Schema.
func Schema() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "sql::Schema",
			Description: "A schema in a database of a PostgreSQL server. The agent is the server, or its " +
				"machine. Attributes that are not set are left unchanged.",
			Transports: transports(),
			Machine:    true,
			Attributes: []schema.Attribute{
				{Name: "database", Type: nameType, Behaviour: schema.Namevar,
					Description: "the database"},
				{Name: "name", Type: nameType, Behaviour: schema.Namevar,
					Description: "its name, exactly as the server keeps it"},
				{Name: "owner", Type: "Optional[" + nameType + "]",
					Description: "the role that owns it"},
				{Name: "comment", Type: "Optional[String]", Description: "a description"},
				{Name: "cascade", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether a purge also removes its contents"},
			},
			Titles: []schema.TitlePattern{{Pattern: `\A(?<database>[^\/]+)\/(?<name>[^\/]+)\z`,
				Description: "database/schema"}},
			Features: []string{"batch"},
			Thing:    schema.ByIdentity("database", "name"),
			Validate: func(attrs map[string]any) []diag.Problem {
				return validNames(attrs, "database", "name", "owner")
			},
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "sql::Database",
					Keys: map[string]string{"name": "$database"}},
				{Kind: schema.Require, Type: "sql::Role",
					Keys: map[string]string{"name": "$owner"}},
			},
		},
		Handler: space{},
	}
}

// Read implements provider.Handler.
func (s space) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	return provider.ReadOne(ctx, s, req)
}

// ReadBatch implements provider.BatchReader: over one connection for each database.
func (space) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return within(ctx, items, readSchema)
}

func readSchema(
	ctx *provider.Context, pg *pgconn.PgConn, r provider.Resource,
) (provider.Observation, error) {
	name := text(r, "name")
	if err := printable(name); err != nil {
		return provider.Observation{}, err
	}
	rows, err := query(ctx, pg,
		`SELECT pg_catalog.pg_get_userbyid(nspowner), pg_catalog.obj_description(oid, 'pg_namespace') FROM pg_catalog.pg_namespace WHERE nspname = $1`,
		name)
	if err != nil || len(rows) == 0 {
		return provider.Observation{}, failure("read the schema "+name, err)
	}
	return provider.Observation{Exists: true,
		Attributes: map[string]any{"owner": string(rows[0][0]), "comment": string(rows[0][1])}}, nil
}

// Create implements provider.Handler. A schema that was created since the read is updated.
func (s space) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	r := req.Resource
	if err := printable(text(r, "name"), text(r, "owner"), text(r, "comment")); err != nil {
		return provider.Result{}, err
	}
	todo := []string{"CREATE SCHEMA " + ident(text(r, "name"))}
	if o := text(r, "owner"); o != "" {
		todo[0] += " AUTHORIZATION " + ident(o)
	}
	if text(r, "comment") != "" {
		todo = append(todo, "COMMENT ON SCHEMA "+ident(text(r, "name"))+" IS "+
			comment(text(r, "comment")))
	}
	err = change(ctx, c, text(r, "database"), todo...)
	if is(err, duplicateSchema, uniqueViolation) {
		return provider.Result{}, s.reconcile(ctx, c, r)
	}
	return provider.Result{}, failure("create the schema "+text(r, "name"), err)
}

// Update implements provider.Handler.
func (s space) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	if err := printable(text(req.Resource, "owner"), text(req.Resource, "comment")); err != nil {
		return provider.Result{}, err
	}
	return provider.Result{}, s.reconcile(ctx, c, req.Resource)
}

// reconcile reads the schema again and changes the attributes that differ.
func (s space) reconcile(ctx *provider.Context, c *conn.Conn, r provider.Resource) error {
	have, err := reread(ctx, s, "schema", r)
	if err != nil {
		return err
	}
	name := text(r, "name")
	diffs := differences(r.Attributes, have, "owner", "comment")
	var todo []string
	if _, differs := diffs["owner"]; differs {
		todo = append(todo, "ALTER SCHEMA "+ident(name)+" OWNER TO "+ident(text(r, "owner")))
	}
	if _, differs := diffs["comment"]; differs {
		todo = append(todo, "COMMENT ON SCHEMA "+ident(name)+" IS "+comment(text(r, "comment")))
	}
	return failure("change the schema "+name, change(ctx, c, text(r, "database"), todo...))
}

// Delete implements provider.Handler.
func (space) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, drop(ctx, req.Resource, "schema", "DROP SCHEMA IF EXISTS ")
}
