package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/jackc/pgx/v5"
)

// server is the configuration of the provider.
type server struct{ config *pgx.ConnConfig }

func configure(_ context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
	var settings []string
	for _, s := range []struct{ name, attribute string }{
		{"host", "host"}, {"port", "port"}, {"dbname", "database"}, {"user", "username"},
		{"password", "password"}, {"sslmode", "sslmode"}, {"connect_timeout", "connect_timeout"},
	} {
		if v, given := d.GetOk(s.attribute); given {
			value := strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(fmt.Sprint(v))
			settings = append(settings, s.name+"='"+value+"'")
		}
	}
	config, err := pgx.ParseConfig(strings.Join(settings, " "))
	if err != nil {
		return nil, diag.Errorf("the configuration is not valid") // the error may quote the password
	}
	return &server{config}, nil
}

// do connects to the server and calls f.
func do(ctx context.Context, meta any, f func(c *pgx.Conn) error) diag.Diagnostics {
	c, err := pgx.ConnectConfig(ctx, meta.(*server).config)
	if err != nil {
		return diag.FromErr(err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	return diag.FromErr(f(c))
}

// read returns the function that reads an object. If there is none, the resource has no id.
func read(f func(ctx context.Context, c *pgx.Conn, d *schema.ResourceData) error) schema.ReadContextFunc {
	return func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
		return do(ctx, meta, func(c *pgx.Conn) error {
			err := f(ctx, c, d)
			if errors.Is(err, pgx.ErrNoRows) {
				d.SetId("")
				return nil
			}
			return err
		})
	}
}

// name returns a quoted identifier.
func name(s string) string { return pgx.Identifier{s}.Sanitize() }

// literal returns a quoted text.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// schemas returns a data source: the schemas of the database of the connection.
func schemas() *schema.Resource {
	return &schema.Resource{
		Description: "Schemas of the database of the connection",
		Schema: map[string]*schema.Schema{
			"database": {Type: schema.TypeString, Required: true, Description: "Name of the database"},
			"schemas": {Type: schema.TypeList, Computed: true, Description: "Names of the schemas",
				Elem: &schema.Schema{Type: schema.TypeString}},
		},
		ReadContext: func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			config := meta.(*server).config.Copy()
			config.Database = d.Get("database").(string)
			return do(ctx, &server{config}, func(c *pgx.Conn) error {
				rows, err := c.Query(ctx, `select nspname::text from pg_namespace
					where nspname !~ '^pg_' and nspname <> 'information_schema' order by 1`)
				if err != nil {
					return err
				}
				names, err := pgx.CollectRows(rows, pgx.RowTo[string])
				d.SetId(config.Database)
				return errors.Join(err, d.Set("schemas", names))
			})
		},
	}
}
