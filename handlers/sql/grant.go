package sql

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// grant is the handler of sql::Grant.
type grant struct{}

// every stands for all names, and all for all privileges.
const (
	every = "*"
	all   = "ALL"
)

// kind is a kind of object on which privileges can be granted. Its query selects objects of the
// database by schema and name. For each object, it returns the name in a statement, the privileges,
// the owner, and the letter by which the server finds the default privileges of an owner.
type kind struct{ name, word, query string }

func kinds() []kind {
	relation := func(letters, letter string) string {
		return `SELECT format('%I.%I', n.nspname, c.relname) AS object, c.relacl AS acl, c.relowner AS owner, '` +
			letter + `' AS letter FROM pg_catalog.pg_class c
			JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN (` + letters + `) AND n.nspname = $2::text AND $3::text IN ('*', c.relname::text)`
	}
	return []kind{
		{"database", "DATABASE",
			`SELECT format('%I', datname) AS object, datacl AS acl, datdba AS owner, 'd' AS letter FROM pg_catalog.pg_database WHERE datname = current_database() AND $2::text || $3::text <> ''`},
		{"schema", "SCHEMA",
			`SELECT format('%I', nspname) AS object, nspacl AS acl, nspowner AS owner, 'n' AS letter FROM pg_catalog.pg_namespace WHERE nspname = $2::text AND $3::text <> ''`},
		{"table", "TABLE", relation("'r', 'p', 'v', 'm', 'f'", "r")},
		{"sequence", "SEQUENCE", relation("'S'", "s")},
		{"routine", "ROUTINE",
			`SELECT format('%I.%I(%s)', n.nspname, p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)) AS object, p.proacl AS acl, p.proowner AS owner, 'f' AS letter
			FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $2::text AND $3::text IN ('*', p.proname::text)`},
	}
}

func kindOf(r provider.Resource) kind {
	all := kinds()
	return all[max(0,
		slices.IndexFunc(all, func(k kind) bool { return k.name == text(r, "kind") }))]
}

// Grant declares sql::Grant.
func Grant() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "sql::Grant",
			Description: "The rights of a role of a PostgreSQL server on a database, a schema, or tables, " +
				"sequences and routines of a schema: exactly these, besides those that it has as the " +
				"owner or through other roles. The agent is the server, or its machine. Objects that " +
				"are added to a schema get the rights at the next apply.",
			Transports: transports(),
			Machine:    true,
			Attributes: []schema.Attribute{
				{Name: "role", Type: nameType, Behaviour: schema.Namevar,
					Description: "the role; public is everyone"},
				{Name: "database", Type: nameType, Behaviour: schema.Namevar,
					Description: "the database of the object"},
				{Name: "kind", Type: "Enum[database, schema, table, sequence, routine]",
					Default: "database", Behaviour: schema.Namevar,
					Description: "the kind of the object; views are tables, and functions are routines"},
				{Name: "schema", Type: nameType, Default: "public", Behaviour: schema.Namevar,
					Description: "the schema, or the schema of the tables, sequences or routines"},
				{Name: "name", Type: nameType, Default: every, Behaviour: schema.Namevar,
					Description: "the name of the table, sequence or routine; * for all in " +
						"the schema"},
				{Name: "privileges",
					Type: "Array[Enum['ALL', 'SELECT', 'INSERT', 'UPDATE', 'DELETE', " +
						"'TRUNCATE', 'REFERENCES', 'TRIGGER', 'MAINTAIN', 'USAGE', 'CREATE', " +
						"'CONNECT', 'TEMPORARY', 'EXECUTE']]",
					Description: "all rights; ALL alone for every right of the kind"},
				{Name: "grantable", Type: "Boolean", Default: false,
					Description: "whether the role may grant them to others"},
			},
			Features: []string{"batch", "canonicalise"},
			Validate: validGrant,
			Thing:    schema.ByIdentity("role", "database", "kind", "schema", "name"),
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "sql::Database",
					Keys: map[string]string{"name": "$database"}},
				{Kind: schema.Require, Type: "sql::Role", Keys: map[string]string{"name": "$role"}},
				{Kind: schema.Require, Type: "sql::Schema", Names: schemaOfGrant},
			},
		},
		Handler: grant{},
	}
}

// schemaOfGrant names the schema of the privileges, or of their objects; a database has none.
func schemaOfGrant(attrs map[string]any) []map[string]any {
	if attrs["kind"] == "database" {
		return nil
	}
	return []map[string]any{{"database": attrs["database"], "name": attrs["schema"]}}
}

func validGrant(attrs map[string]any) []diag.Problem {
	out := validNames(attrs, "role", "database", "schema", "name")
	bad := func(attribute, format string, args ...any) {
		out = append(out, diag.Problem{Attribute: attribute, Message: fmt.Sprintf(format, args...),
			Hint: "remove it, or set the kind"})
	}
	kind, _ := attrs["kind"].(string)
	if kind == "database" && attrs["schema"] != nil && attrs["schema"] != "public" {
		bad("schema", "privileges on a database are not those on a schema")
	}
	if (kind == "database" || kind == "schema") && attrs["name"] != nil && attrs["name"] != every {
		bad("name", "privileges on a %s are not those on something in it", kind)
	}
	wanted, isSet := texts(attrs, "privileges")
	if isSet && len(wanted) == 0 {
		out = append(out, diag.Problem{Attribute: "privileges", Message: "it is empty",
			Hint: "write `purged: true` for a role that is to have none"})
	}
	if slices.Contains(wanted, all) && len(wanted) > 1 {
		out = append(out, diag.Problem{Attribute: "privileges", Message: "ALL includes the other privileges",
			Hint: "write ALL alone, or leave it out"})
	}
	may := map[string]string{"database": "CREATE CONNECT TEMPORARY", "schema": "USAGE CREATE",
		"sequence": "USAGE SELECT UPDATE", "routine": "EXECUTE",
		"table": "SELECT INSERT UPDATE DELETE TRUNCATE REFERENCES TRIGGER MAINTAIN"}[kind]
	for _, w := range wanted {
		if may != "" && w != all && !slices.Contains(strings.Fields(may), w) {
			out = append(out,
				diag.Problem{Attribute: "privileges",
					Message: fmt.Sprintf("%s is not a privilege on a %s", w, kind),
					Hint:    "the privileges are " + strings.Join(strings.Fields(may), ", ")})
		}
	}
	return out
}

// Canonicalise implements provider.Canonicaliser: the order of privileges has no meaning.
func (grant) Canonicalise(attrs map[string]any) (map[string]any, error) {
	out := withSet(attrs, "privileges")
	return out, nil
}

// Read implements provider.Handler.
func (g grant) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	return provider.ReadOne(ctx, g, req)
}

// ReadBatch implements provider.BatchReader: over one connection for each database.
func (grant) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return within(ctx, items,
		func(ctx *provider.Context, pg *pgconn.PgConn,
			r provider.Resource) (provider.Observation, error) {
			objects, there, err := rights(ctx, pg, r)
			if err != nil || !there {
				return provider.Observation{}, err
			}
			return seen(r, objects), nil
		})
}

// held is the set of privileges of a role on an object.
type held struct {
	object    string
	rights    []string // only ALL if the role has all privileges
	grantable bool     // all of them
	some      bool     // at least one of them
}

// rights returns the privileges of a role on the objects of a resource, by name, and whether the
// named objects exist.
func rights(
	ctx context.Context, pg *pgconn.PgConn, r provider.Resource,
) (out []held, there bool, err error) {
	role, name := text(r, "role"), text(r, "name")
	if err := printable(role, text(r, "schema"), name); err != nil {
		return nil, false, err
	}
	// Privileges of PUBLIC are granted to the role 0.
	rows, err := query(ctx, pg,
		`WITH o AS (`+kindOf(r).query+
			`), g AS (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = $1::text AND $1::text <> 'public' UNION ALL SELECT 0 WHERE $1::text = 'public')
		SELECT o.object, string_agg(a.privilege_type, ',' ORDER BY a.privilege_type COLLATE "C"), bool_and(a.is_grantable), bool_or(a.is_grantable),
			count(*) = (SELECT count(*) FROM pg_catalog.aclexplode(pg_catalog.acldefault(o.letter::"char", o.owner)) d WHERE d.grantee = o.owner)
		FROM o LEFT JOIN LATERAL (SELECT e.privilege_type, bool_or(e.is_grantable) AS is_grantable
			FROM pg_catalog.aclexplode(coalesce(o.acl, pg_catalog.acldefault(o.letter::"char", o.owner))) e, g WHERE e.grantee = g.oid GROUP BY 1) a ON true
		GROUP BY o.object, o.letter, o.owner ORDER BY 1`, role, text(r, "schema"), name)
	if err == nil && len(rows) == 0 && name == every { // the schema has no objects, if it exists
		var schemas [][][]byte
		schemas, err = query(ctx, pg,
			"SELECT FROM pg_catalog.pg_namespace WHERE nspname = $1 AND $2 <> 'schema'",
			text(r, "schema"), text(r, "kind"))
		there = len(schemas) > 0
	}
	if err != nil {
		return nil, false, failure("read the rights of "+role, err)
	}
	for _, row := range rows {
		h := held{object: string(row[0]), grantable: string(row[2]) == "t",
			some: string(row[3]) == "t"}
		if len(row[1]) > 0 {
			h.rights = strings.Split(string(row[1]), ",")
		}
		if wanted, _ := texts(r.Attributes, "privileges"); string(row[4]) == "t" &&
			len(h.rights) > 0 && slices.Equal(wanted, []string{all}) {
			h.rights = []string{all}
		}
		out = append(out, h)
	}
	return out, there || len(out) > 0, nil
}

// as reports whether an object has the desired privileges.
func (h held) as(r provider.Resource) bool {
	want, _ := grant{}.Canonicalise(r.Attributes)
	wanted, _ := texts(want, "privileges")
	return slices.Equal(h.rights, wanted) &&
		(h.grantable && r.Attributes["grantable"] == true ||
			!h.some && r.Attributes["grantable"] != true)
}

// seen combines several objects: the desired privileges, or else those of the first object that
// differs. If there are no objects, there is nothing to do.
func seen(r provider.Resource, objects []held) provider.Observation {
	found, show := false, held{grantable: r.Attributes["grantable"] == true}
	show.rights, _ = texts(r.Attributes, "privileges")
	slices.Sort(show.rights)
	for _, o := range objects {
		found = found || len(o.rights) > 0
	}
	for _, o := range objects {
		if !o.as(r) {
			show = o
			show.grantable = o.some
			if r.Attributes["grantable"] == true {
				show.grantable = o.grantable
			}
			break
		}
	}
	if !found && (r.Purged || len(objects) > 0) {
		return provider.Observation{}
	}
	return provider.Observation{Exists: true,
		Attributes: map[string]any{"privileges": list(show.rights), "grantable": show.grantable}}
}

// Create implements provider.Handler.
func (g grant) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, g.reconcile(ctx, req.Resource)
}

// Update implements provider.Handler.
func (g grant) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, g.reconcile(ctx, req.Resource)
}

// Delete implements provider.Handler.
func (g grant) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	r := req.Resource
	r.Purged = true
	err := g.reconcile(ctx, r)
	return provider.Result{}, err
}

// reconcile reads the role's privileges, and changes all objects on which they differ, in one
// transaction.
func (grant) reconcile(ctx *provider.Context, r provider.Resource) error {
	c, err := connection(ctx)
	if err != nil {
		return err
	}
	var objects []held
	var there bool
	err = c.Do(ctx, text(r, "database"), func(pg *pgconn.PgConn) (err error) {
		objects, there, err = rights(ctx, pg, r)
		return err
	})
	switch {
	case r.Purged && (is(err, undefinedDatabase) || beingDropped(ctx, c, text(r, "database"), err)):
		return nil
	case err != nil:
		return failure("read the rights in the database "+text(r, "database"), err)
	case !there && !r.Purged && text(r, "name") == every:
		return provider.Errorf(provider.Retryable, "there is no schema %s in the database %s",
			text(r, "schema"), text(r, "database"))
	case !there && !r.Purged:
		return provider.Errorf(provider.Retryable,
			"there is no %s %s in the schema %s of the database %s", text(r, "kind"),
			text(r, "name"), text(r, "schema"), text(r, "database"))
	}
	err = change(ctx, c, text(r, "database"), grants(r, objects)...)
	return failure("set the rights of "+text(r, "role")+" in the database "+text(r, "database"),
		err)
}

// grants returns the statements that bring objects to the desired privileges.
func grants(r provider.Resource, objects []held) []string {
	role := ident(text(r, "role"))
	if text(r, "role") == "public" {
		role = "PUBLIC"
	}
	wanted, _ := texts(r.Attributes, "privileges")
	var out []string
	for _, o := range objects {
		on := " ON " + kindOf(r).word + " " + o.object
		var gone []string
		for _, have := range o.rights {
			if r.Purged || !slices.Contains(wanted, have) && !slices.Contains(wanted, all) {
				gone = append(gone, have)
			}
		}
		if len(gone) > 0 {
			out = append(out, "REVOKE "+strings.Join(gone, ", ")+on+" FROM "+role)
		}
		if r.Purged || o.as(r) {
			continue
		}
		if r.Attributes["grantable"] != true && o.some {
			out = append(out, "REVOKE GRANT OPTION FOR ALL"+on+" FROM "+role)
		}
		statement := "GRANT " + strings.Join(wanted, ", ") + on + " TO " + role
		if r.Attributes["grantable"] == true {
			statement += " WITH GRANT OPTION"
		}
		out = append(out, statement)
	}
	return out
}
