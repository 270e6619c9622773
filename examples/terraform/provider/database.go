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

// database returns the resource of a database. Its id is its name.
func database() *schema.Resource {
	return &schema.Resource{
		Description:   "A database of PostgreSQL",
		CreateContext: createDatabase, ReadContext: read(readDatabase), UpdateContext: updateDatabase,
		DeleteContext: func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			return do(ctx, meta, func(c *pgx.Conn) error {
				_, err := c.Exec(ctx, "drop database if exists "+name(d.Id()))
				return err
			})
		},
		Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true, Description: "Name of the database"},
			"owner": {Type: schema.TypeString, Optional: true, Computed: true,
				Description: "Role that owns the database"},
			"template":         fixed(text("Database that is copied")),
			"encoding":         fixed(text("Encoding of texts, for example UTF8")),
			"lc_collate":       fixed(text("Order of texts")),
			"lc_ctype":         fixed(text("Classes of characters")),
			"connection_limit": number(-1, "Largest number of connections; -1 means any"),
		},
	}
}

func createDatabase(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	create := []string{"create database " + name(d.Get("name").(string))}
	for _, o := range []struct {
		attribute, option string
		quote             func(string) string
		standard          string
	}{
		{"owner", "OWNER", name, ""}, {"template", "TEMPLATE", name, "template0"},
		{"encoding", "ENCODING", literal, "UTF8"},
		{"lc_collate", "LC_COLLATE", literal, ""}, {"lc_ctype", "LC_CTYPE", literal, ""},
	} {
		value := d.Get(o.attribute).(string)
		if value == "" {
			value = o.standard
		}
		if value != "" {
			create = append(create, o.option+" "+o.quote(value))
		}
	}
	create = append(create, fmt.Sprintf("CONNECTION LIMIT %d", d.Get("connection_limit")))
	return do(ctx, meta, func(c *pgx.Conn) error {
		if _, err := c.Exec(ctx, strings.Join(create, " ")); err != nil {
			return err
		}
		d.SetId(d.Get("name").(string))
		return readDatabase(ctx, c, d)
	})
}

func updateDatabase(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	to := d.Get("name").(string)
	d.Partial(true) // if it fails, the state keeps its values
	return do(ctx, meta, func(c *pgx.Conn) error {
		var statements []string
		if to != d.Id() {
			statements = append(statements, "alter database "+name(d.Id())+" rename to "+name(to))
		}
		if owner := d.Get("owner").(string); d.HasChange("owner") && owner != "" {
			statements = append(statements, "alter database "+name(to)+" owner to "+name(owner))
		}
		if d.HasChange("connection_limit") {
			statements = append(statements,
				fmt.Sprintf("alter database %s connection limit %d", name(to), d.Get("connection_limit")))
		}
		err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			for _, s := range statements {
				if _, err := tx.Exec(ctx, s); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		d.Partial(false)
		d.SetId(to)
		return readDatabase(ctx, c, d)
	})
}

func readDatabase(ctx context.Context, c *pgx.Conn, d *schema.ResourceData) error {
	var found, owner, encoding, collate, ctype string
	var limit int
	err := c.QueryRow(ctx, `select datname::text, pg_get_userbyid(datdba)::text, pg_encoding_to_char(encoding)::text,
		datcollate::text, datctype::text, datconnlimit from pg_database where datname = $1`, d.Id()).
		Scan(&found, &owner, &encoding, &collate, &ctype, &limit)
	if err != nil {
		return err
	}
	template := d.Get("template").(string) // the server does not know it
	if template == "" {
		template = "template0"
	}
	return errors.Join(d.Set("name", found), d.Set("owner", owner), d.Set("template", template),
		d.Set("encoding", encoding), d.Set("lc_collate", collate), d.Set("lc_ctype", ctype),
		d.Set("connection_limit", limit))
}
