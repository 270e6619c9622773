package sql

import (
	"context"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
	conn "southbound/shared/transport/postgresql"
)

// latest is the version that means the newest one of the server.
const latest = "latest"

// extension is the handler of sql::Extension.
type extension struct{}

// Extension declares sql::Extension.
func Extension() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "sql::Extension",
			Description: "An extension in a database of a PostgreSQL server. The agent is the server, or its " +
				"machine. Required extensions are installed with it. Its files must exist on the " +
				"server.",
			Transports: transports(),
			Machine:    true,
			Attributes: []schema.Attribute{
				{Name: "database", Type: nameType, Behaviour: schema.Namevar,
					Description: "the database"},
				{Name: "name", Type: nameType, Behaviour: schema.Namevar,
					Description: "its name, exactly as the server keeps it"},
				{Name: "version", Type: "Optional[String[1]]",
					Description: "the exact version; latest: the newest that the server has; absent: any"},
				{Name: "schema", Type: "Optional[" + nameType + "]",
					Description: "the schema of its objects"},
				{Name: "cascade", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "whether a purge also removes dependent objects"},
			},
			Titles: []schema.TitlePattern{{Pattern: `\A(?<database>[^\/]+)\/(?<name>[^\/]+)\z`,
				Description: "database/extension"}},
			Features: []string{"batch"},
			Thing:    schema.ByIdentity("database", "name"),
			Validate: func(attrs map[string]any) []diag.Problem {
				return validNames(attrs, "database", "name", "schema")
			},
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "sql::Database",
					Keys: map[string]string{"name": "$database"}},
				{Kind: schema.Require, Type: "sql::Schema",
					Keys: map[string]string{"database": "$database", "name": "$schema"}},
			},
		},
		Handler: extension{},
	}
}

// Read implements provider.Handler.
func (e extension) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	return provider.ReadOne(ctx, e, req)
}

// ReadBatch implements provider.BatchReader: over one connection for each database.
func (extension) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return within(ctx, items, readExtension)
}

func readExtension(
	ctx *provider.Context, pg *pgconn.PgConn, r provider.Resource,
) (provider.Observation, error) {
	name := text(r, "name")
	if err := printable(name); err != nil {
		return provider.Observation{}, err
	}
	rows, err := query(ctx, pg,
		`SELECT e.extversion, n.nspname, (SELECT default_version FROM pg_catalog.pg_available_extensions a WHERE a.name = e.extname)
		FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = $1`,
		name)
	if err != nil || len(rows) == 0 {
		return provider.Observation{}, failure("read the extension "+name, err)
	}
	version := string(rows[0][0])
	if text(r, "version") == latest && (rows[0][2] == nil || string(rows[0][2]) == version) {
		version = latest // if no version is available, the installed one is the newest
	}
	return provider.Observation{Exists: true, Attributes: map[string]any{"version": version,
		"schema": string(rows[0][1])}}, nil
}

// Create implements provider.Handler. An extension that was created since the read is updated.
func (e extension) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	r := req.Resource
	if err := printable(text(r, "name"), text(r, "schema"), text(r, "version")); err != nil {
		return provider.Result{}, err
	}
	statement := "CREATE EXTENSION IF NOT EXISTS " + ident(text(r, "name"))
	if s := text(r, "schema"); s != "" {
		statement += " SCHEMA " + ident(s)
	}
	if v := text(r, "version"); v != "" && v != latest {
		statement += " VERSION " + literal(v)
	}
	if err := change(ctx, c, text(r, "database"), statement+" CASCADE"); err != nil {
		return provider.Result{}, failure("add the extension "+text(r, "name"), err)
	}
	return provider.Result{}, e.reconcile(ctx, c, r)
}

// Update implements provider.Handler.
func (e extension) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	if err := printable(text(req.Resource, "schema"), text(req.Resource, "version")); err != nil {
		return provider.Result{}, err
	}
	return provider.Result{}, e.reconcile(ctx, c, req.Resource)
}

// reconcile reads the extension again and changes the attributes that differ.
func (e extension) reconcile(ctx *provider.Context, c *conn.Conn, r provider.Resource) error {
	have, err := reread(ctx, e, "extension", r)
	if err != nil {
		return err
	}
	name := text(r, "name")
	diffs := differences(r.Attributes, have, "version", "schema")
	var todo []string
	if _, differs := diffs["version"]; differs {
		to := "ALTER EXTENSION " + ident(name) + " UPDATE"
		if v := text(r, "version"); v != latest {
			to += " TO " + literal(v)
		}
		todo = append(todo, to)
	}
	if _, differs := diffs["schema"]; differs {
		todo = append(todo, "ALTER EXTENSION "+ident(name)+" SET SCHEMA "+ident(text(r, "schema")))
	}
	return failure("change the extension "+name, change(ctx, c, text(r, "database"), todo...))
}

// Delete implements provider.Handler.
func (extension) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	return provider.Result{}, drop(ctx, req.Resource, "extension", "DROP EXTENSION IF EXISTS ")
}

// drop removes an object from a database, if it exists, and with cascade also the objects that need
// it.
func drop(ctx *provider.Context, r provider.Resource, what, statement string) error {
	c, err := connection(ctx)
	if err != nil {
		return err
	}
	name := text(r, "name")
	if err := printable(name); err != nil {
		return err
	}
	statement += ident(name)
	if r.Attributes["cascade"] == true {
		statement += " CASCADE"
	}
	err = change(ctx, c, text(r, "database"), statement)
	if is(err, undefinedDatabase) || beingDropped(ctx, c, text(r, "database"), err) {
		return nil
	}
	if is(err, dependentObjects) {
		return provider.Errorf(provider.NeedsChange,
			"drop the %s %s: %s; `cascade: true` removes its dependents", what, name, conn.Text(err))
	}
	return failure("drop the "+what+" "+name, err)
}
