package sql

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/provider"
	conn "southbound/shared/transport/postgresql"
)

// otherPassword replaces a password that differs from the desired one.
const otherPassword = "(another password)"

// Read implements provider.Handler.
func (ro role) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	return provider.ReadOne(ctx, ro, req)
}

// ReadBatch implements provider.BatchReader: over one connection.
func (role) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return batch(ctx, items, readRole)
}

func readRole(
	ctx *provider.Context, c *conn.Conn, pg *pgconn.PgConn, r provider.Resource,
) (provider.Observation, error) {
	name := text(r, "name")
	if err := printable(name); err != nil {
		return provider.Observation{}, err
	}
	all, err := roles(ctx, pg, "r.rolname = $1", name)
	if err != nil || len(all) == 0 {
		return provider.Observation{}, failure("read the role "+name, err)
	}
	attrs := all[0]
	delete(attrs, "name")
	if password := text(r, "password"); password != "" && !r.Purged {
		seen, err := seenPassword(ctx, c, pg, name, password)
		if err != nil {
			return provider.Observation{}, failure("read the password of the role "+name, err)
		}
		if seen != "" {
			attrs["password"] = seen
		}
	}
	return provider.Observation{Exists: true, Attributes: attrs}, nil
}

// roles returns the attributes, except passwords, of the roles r that satisfy a condition, by name,
// with two queries for all of them.
func roles(
	ctx context.Context, pg *pgconn.PgConn, condition string, args ...string,
) (out []map[string]any, err error) {
	columns := ""
	for _, f := range flags() {
		columns += f.column + ", "
	}
	rows, err := query(ctx, pg,
		"SELECT "+columns+
			`rolconnlimit, CASE WHEN isfinite(rolvaliduntil) THEN to_char(rolvaliduntil AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END,
		pg_catalog.shobj_description(oid, 'pg_authid'), rolname FROM pg_catalog.pg_roles r WHERE `+
			condition+" ORDER BY rolname", args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	groups, err := groupsOf(ctx, pg, condition, args...)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		attrs := map[string]any{}
		for i, f := range flags() {
			attrs[f.attribute] = string(row[i]) == "t"
		}
		rest := row[len(flags()):]
		if attrs["connection_limit"], err = strconv.ParseInt(string(rest[0]), 10, 64); err != nil {
			return nil, err
		}
		name := string(rest[3])
		attrs["valid_until"], attrs["comment"] = until(rest[1]), string(rest[2])
		attrs["name"], attrs["member_of"] = name, list(groups[name])
		out = append(out, attrs)
	}
	return out, nil
}

// groupsOf returns the groups of which the roles r are members, sorted, by the roles' names.
func groupsOf(
	ctx context.Context, pg *pgconn.PgConn, condition string, args ...string,
) (map[string][]string, error) {
	rows, err := query(ctx, pg,
		`SELECT DISTINCT r.rolname, g.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles g ON g.oid = m.roleid
		JOIN pg_catalog.pg_roles r ON r.oid = m.member WHERE `+condition, args...)
	out := map[string][]string{}
	for _, row := range rows {
		name := string(row[0])
		out[name] = append(out[name], string(row[1]))
	}
	for _, groups := range out {
		slices.Sort(groups)
	}
	return out, err
}

// until returns a time in the form of the attribute; no value: the role does not expire.
func until(text []byte) string {
	t, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return "infinity"
	}
	return t.Format(time.RFC3339Nano)
}

// seenPassword returns the desired password if it is the role's, another text if it is not, and ""
// if the role has none.
func seenPassword(
	ctx *provider.Context, c *conn.Conn, pg *pgconn.PgConn, name, password string,
) (string, error) {
	rows, err := query(ctx, pg, "SELECT rolpassword FROM pg_catalog.pg_authid WHERE rolname = $1",
		name)
	switch {
	case is(err, insufficientRight): // only superusers of the server can read the verifier
		right, known := c.Login(ctx, name, password)
		if !known {
			ctx.Warning("the password cannot be compared: the " +
				"agent's user is not a superuser, so the server hides its hash")
		}
		if right || !known {
			return password, nil
		}
		return otherPassword, nil
	case err != nil || len(rows) == 0 || rows[0][0] == nil:
		return "", err
	}
	kept := string(rows[0][0])
	ctx.Secret(kept)
	if verifies(kept, password) {
		return password, nil
	}
	return otherPassword, nil
}

// Create implements provider.Handler. A role that was created since the read is updated.
func (ro role) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	r := req.Resource
	name := text(r, "name")
	todo, err := statements(ctx, r, nil)
	if err != nil {
		return provider.Result{}, err
	}
	err = change(ctx, c, "", append([]string{"CREATE ROLE " + ident(name)}, todo...)...)
	if is(err, duplicateObject, uniqueViolation) {
		return provider.Result{}, ro.reconcile(ctx, c, r)
	}
	return provider.Result{}, failure("create the role "+name, err)
}

// Update implements provider.Handler.
func (ro role) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	return provider.Result{}, ro.reconcile(ctx, c, req.Resource)
}

// reconcile reads the role again, so that it acts on the current state, and changes the attributes
// that differ, in one transaction.
func (ro role) reconcile(ctx *provider.Context, c *conn.Conn, r provider.Resource) error {
	have, err := reread(ctx, ro, "role", r)
	if err != nil {
		return err
	}
	name := text(r, "name")
	todo, err := statements(ctx, r, have)
	if err != nil {
		return err
	}
	return failure("change the role "+name, change(ctx, c, "", todo...))
}

// statements returns the statements that lead from the current to the desired state; have is nil
// for a role that was just created.
func statements(ctx *provider.Context, r provider.Resource, have map[string]any) ([]string, error) {
	want, err := role{}.Canonicalise(r.Attributes)
	if err != nil {
		return nil, provider.Errorf(provider.NeedsChange, "%w", err)
	}
	name := ident(text(r, "name"))
	var options string
	differs := func(attribute string) bool {
		return want[attribute] != nil && !same(want[attribute], have[attribute])
	}
	for _, f := range flags() {
		if on, _ := want[f.attribute].(bool); differs(f.attribute) && on {
			options += " " + f.word
		} else if differs(f.attribute) {
			options += " NO" + f.word
		}
	}
	if n, _ := want["connection_limit"].(int64); differs("connection_limit") {
		options += fmt.Sprintf(" CONNECTION LIMIT %d", n)
	}
	if t, _ := want["valid_until"].(string); differs("valid_until") {
		options += " VALID UNTIL " + literal(t)
	}
	if differs("password") {
		kept, err := newVerifier(text(r, "password"))
		if err != nil {
			return nil, provider.Errorf(provider.NeedsChange, "the password cannot be used: %w",
				err)
		}
		ctx.Secret(kept)
		options += " PASSWORD " + literal(kept)
	}
	var out []string
	if options != "" {
		out = append(out, "ALTER ROLE "+name+" WITH"+options)
	}
	old, _ := texts(have, "member_of")
	if groups, isSet := texts(want, "member_of"); isSet {
		for _, g := range groups {
			if !slices.Contains(old, g) {
				out = append(out, "GRANT "+ident(g)+" TO "+name)
			}
		}
		for _, g := range old {
			if !slices.Contains(groups, g) {
				out = append(out, "REVOKE "+ident(g)+" FROM "+name)
			}
		}
	}
	if differs("comment") {
		out = append(out, "COMMENT ON ROLE "+name+" IS "+comment(text(r, "comment")))
	}
	groups, _ := texts(want, "member_of")
	return out, printable(append(groups, text(r, "name"), text(r, "comment"))...)
}

// Delete implements provider.Handler.
func (role) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	c, err := connection(ctx)
	if err != nil {
		return provider.Result{}, err
	}
	r := req.Resource
	name := text(r, "name")
	if policy := cmp.Or(text(r, "owned"), ownedRefuse); policy != ownedRefuse {
		if err := giveUp(ctx, c, r, policy); err != nil {
			return provider.Result{}, err
		}
	}
	err = change(ctx, c, "", "DROP ROLE IF EXISTS "+ident(name))
	if is(err, dependentObjects) {
		return provider.Result{}, provider.Errorf(provider.NeedsChange,
			"drop the role %s: %s; set owned to reassign or drop these objects", name, conn.Text(err))
	}
	return provider.Result{}, failure("drop the role "+name, err)
}

// giveUp removes a role's objects and privileges, in each database that has any. It uses the
// agent's own database for those that belong to the whole server.
func giveUp(ctx *provider.Context, c *conn.Conn, r provider.Resource, policy string) error {
	name := text(r, "name")
	var todo []string
	if policy == ownedReassign {
		todo = append(todo, "REASSIGN OWNED BY "+ident(name)+" TO "+ident(text(r, "reassign_to")))
	}
	todo = append(todo, "DROP OWNED BY "+ident(name)) // and its privileges
	if err := printable(name, text(r, "reassign_to")); err != nil {
		return err
	}
	var databases []string
	err := c.Do(ctx, "", func(pg *pgconn.PgConn) error {
		rows, err := query(ctx, pg,
			`SELECT DISTINCT d.datname FROM pg_catalog.pg_shdepend s JOIN pg_catalog.pg_database d ON d.oid = s.dbid OR s.dbid = 0 AND d.datname = current_database()
			JOIN pg_catalog.pg_roles r ON r.oid = s.refobjid WHERE s.refclassid = 'pg_catalog.pg_authid'::regclass AND r.rolname = $1 ORDER BY 1`,
			name)
		for _, row := range rows {
			databases = append(databases, string(row[0]))
		}
		return err
	})
	if err != nil {
		return failure("list the objects of the role "+name, err)
	}
	for _, d := range databases {
		err := change(ctx, c, d, todo...)
		if is(err, undefinedObject) { // the role itself was removed
			return nil
		}
		if err != nil {
			return failure(fmt.Sprintf("%s objects of the role %s in the database %s", policy, name,
				d), err)
		}
	}
	return nil
}
