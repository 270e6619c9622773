package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/jackc/pgx/v5"
)

// role returns the resource of a role. Its id is its name. The password is not read: the server has
// only its hash.
func role() *schema.Resource {
	return &schema.Resource{
		Description:   "A role of PostgreSQL: a user, a group or both",
		CreateContext: createRole, ReadContext: read(readRole), UpdateContext: updateRole,
		DeleteContext: func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			return do(ctx, meta, func(c *pgx.Conn) error {
				_, err := c.Exec(ctx, "drop role if exists "+name(d.Id()))
				return err
			})
		},
		Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Schema: map[string]*schema.Schema{
			"name":             {Type: schema.TypeString, Required: true, Description: "Name of the role"},
			"password":         secret(text("Password of the role")),
			"login":            flag("Whether the role may log in"),
			"superuser":        flag("Whether the role is a superuser"),
			"create_database":  flag("Whether the role may create databases"),
			"create_role":      flag("Whether the role may create roles"),
			"connection_limit": number(-1, "Largest number of connections; -1 means any"),
			"roles": {Type: schema.TypeSet, Optional: true, Description: "Roles of which it is a member",
				Elem: &schema.Schema{Type: schema.TypeString}},
			"search_path": {Type: schema.TypeList, Optional: true, Description: "Schemas that the role searches",
				Elem: &schema.Schema{Type: schema.TypeString}},
		},
	}
}

// options returns the options of a role that the configuration has, or that differ from the state.
func options(d *schema.ResourceData) string {
	var out []string
	for _, o := range []struct{ attribute, option string }{{"login", "LOGIN"}, {"superuser", "SUPERUSER"},
		{"create_database", "CREATEDB"}, {"create_role", "CREATEROLE"}} {
		if d.Get(o.attribute).(bool) {
			out = append(out, o.option)
		} else {
			out = append(out, "NO"+o.option)
		}
	}
	out = append(out, fmt.Sprintf("CONNECTION LIMIT %d", d.Get("connection_limit")))
	switch password := d.Get("password").(string); {
	case !d.HasChange("password"):
	case password == "":
		out = append(out, "PASSWORD NULL")
	default:
		out = append(out, "PASSWORD "+literal(password))
	}
	return strings.Join(out, " ")
}

func createRole(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	role := d.Get("name").(string)
	return do(ctx, meta, func(c *pgx.Conn) error {
		err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "create role "+name(role)+" "+options(d)); err != nil {
				return err
			}
			return alter(ctx, tx, d, role)
		})
		if err != nil {
			return err
		}
		d.SetId(role)
		return readRole(ctx, c, d)
	})
}

func updateRole(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	role := d.Get("name").(string)
	d.Partial(true) // if it fails, the state keeps its values
	return do(ctx, meta, func(c *pgx.Conn) error {
		err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if role != d.Id() {
				if _, err := tx.Exec(ctx, "alter role "+name(d.Id())+" rename to "+name(role)); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(ctx, "alter role "+name(role)+" "+options(d)); err != nil {
				return err
			}
			return alter(ctx, tx, d, role)
		})
		if err != nil {
			return err
		}
		d.Partial(false)
		d.SetId(role)
		return readRole(ctx, c, d)
	})
}

// alter sets what is no option of CREATE ROLE: memberships and the search path.
func alter(ctx context.Context, tx pgx.Tx, d *schema.ResourceData, role string) error {
	former, wanted := d.GetChange("roles")
	for _, s := range []struct {
		roles *schema.Set
		text  string
	}{
		{former.(*schema.Set).Difference(wanted.(*schema.Set)), "revoke %s from %s"},
		{wanted.(*schema.Set).Difference(former.(*schema.Set)), "grant %s to %s"},
	} {
		for _, r := range s.roles.List() {
			if _, err := tx.Exec(ctx, fmt.Sprintf(s.text, name(r.(string)), name(role))); err != nil {
				return err
			}
		}
	}
	if !d.HasChange("search_path") {
		return nil
	}
	var path []string
	for _, p := range d.Get("search_path").([]any) {
		path = append(path, name(p.(string)))
	}
	set := " set search_path to " + strings.Join(path, ", ")
	if len(path) == 0 {
		set = " reset search_path"
	}
	_, err := tx.Exec(ctx, "alter role "+name(role)+set)
	return err
}

func readRole(ctx context.Context, c *pgx.Conn, d *schema.ResourceData) error {
	var found string
	var login, superuser, databases, creates bool
	var limit int
	var members, settings []string
	err := c.QueryRow(ctx, `select rolname::text, rolcanlogin, rolsuper, rolcreatedb, rolcreaterole, rolconnlimit,
		array(select pg_get_userbyid(roleid)::text from pg_auth_members where member = pg_roles.oid),
		coalesce(rolconfig, '{}') from pg_roles where rolname = $1`, d.Id()).
		Scan(&found, &login, &superuser, &databases, &creates, &limit, &members, &settings)
	if err != nil {
		return err
	}
	var path []string
	if i := slices.IndexFunc(settings, func(s string) bool { return strings.HasPrefix(s, "search_path=") }); i >= 0 {
		for _, p := range strings.Split(strings.TrimPrefix(settings[i], "search_path="), ", ") {
			path = append(path, strings.Trim(p, `"`))
		}
	}
	return errors.Join(d.Set("name", found), d.Set("login", login), d.Set("superuser", superuser),
		d.Set("create_database", databases), d.Set("create_role", creates), d.Set("connection_limit", limit),
		d.Set("roles", members), d.Set("search_path", path))
}
