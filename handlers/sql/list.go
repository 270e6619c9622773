package sql

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/provider"
	conn "southbound/shared/transport/postgresql"
)

// List implements provider.Lister: all databases that are not templates, without their extensions.
// It omits databases that are being dropped.
func (database) List(ctx *provider.Context, found func(provider.Found) error) error {
	read := func(ctx *provider.Context, c *conn.Conn, pg *pgconn.PgConn,
		r provider.Resource) (provider.Observation, error) {
		obs, err := readDatabase(ctx, c, pg, r)
		if errors.Is(err, errDropping) {
			return provider.Observation{}, nil
		}
		return obs, err
	}
	return each(ctx,
		"SELECT datname FROM pg_catalog.pg_database WHERE NOT datistemplate ORDER BY 1", read,
		func(attrs map[string]any) error {
			if l, _ := attrs["locale"].(string); strings.Contains(l, ", ") {
				// two locales, which no document can describe
				delete(attrs, "locale")
			}
			return found(provider.Found{Attributes: attrs})
		})
}

// List implements provider.Lister: all roles but the server's own, without their passwords.
func (role) List(ctx *provider.Context, found func(provider.Found) error) error {
	c, err := connection(ctx)
	if err != nil {
		return err
	}
	var all []map[string]any
	err = c.Do(ctx, "", func(pg *pgconn.PgConn) (err error) {
		all, err = roles(ctx, pg, "NOT starts_with(r.rolname, 'pg_')")
		return err
	})
	if err != nil {
		return failure("list the objects of the server", err)
	}
	for _, attrs := range all {
		if err := found(provider.Found{Attributes: attrs}); err != nil {
			return err
		}
	}
	return nil
}

type reader func(ctx *provider.Context, c *conn.Conn, pg *pgconn.PgConn, r provider.Resource) (
	provider.Observation, error)

// each reads all objects that a query names, one after the other over one connection. It omits
// objects that are removed concurrently.
func each(
	ctx *provider.Context, names string, read reader, found func(attrs map[string]any) error,
) error {
	c, err := connection(ctx)
	if err != nil {
		return err
	}
	var stop error
	err = c.Do(ctx, "", func(pg *pgconn.PgConn) error {
		rows, err := query(ctx, pg, names)
		if err != nil {
			return err
		}
		for _, row := range rows {
			name := string(row[0])
			var obs provider.Observation
			if obs, stop = read(ctx, c, pg,
				provider.Resource{Attributes: map[string]any{"name": name}}); stop == nil &&
				obs.Exists {
				obs.Attributes["name"] = name
				stop = found(obs.Attributes)
			}
			if stop != nil {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return failure("list the objects of the server", err)
	}
	return stop
}
