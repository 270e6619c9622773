package sql

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// role is the handler of sql::Role.
type role struct{}

// flag is an attribute for a property of the role itself.
type flag struct{ attribute, column, word string }

func flags() []flag {
	return []flag{{"login", "rolcanlogin", "LOGIN"}, {"superuser", "rolsuper", "SUPERUSER"},
		{"createdb", "rolcreatedb", "CREATEDB"}, {"createrole", "rolcreaterole", "CREATEROLE"},
		{"inherit", "rolinherit", "INHERIT"}, {"replication", "rolreplication", "REPLICATION"},
		{"bypassrls", "rolbypassrls", "BYPASSRLS"}}
}

// What happens to the objects of a role when it is purged.
const (
	ownedRefuse   = "refuse"
	ownedReassign = "reassign"
	ownedDrop     = "drop"
)

// Role declares sql::Role.
func Role() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "sql::Role",
			Description: "A role of a PostgreSQL server: a user if it may log in, a group if it has members. " +
				"The agent is the server, or its machine. Only the SCRAM verifier of the password is " +
				"sent to the server. Attributes that are not set are left unchanged.",
			Transports: transports(),
			Machine:    true,
			Attributes: []schema.Attribute{
				{Name: "name", Type: nameType, Behaviour: schema.Namevar,
					Description: "its name, exactly as the server keeps it"},
				{Name: "login", Type: "Boolean", Default: true,
					Description: "whether it may log in"},
				{Name: "password", Type: "Optional[Sensitive[String[1]]]", OneLine: true,
					Description: "the password, or the SCRAM verifier of one"},
				{Name: "superuser", Type: "Optional[Boolean]",
					Description: "whether it is a superuser"},
				{Name: "createdb", Type: "Optional[Boolean]",
					Description: "whether it may create databases"},
				{Name: "createrole", Type: "Optional[Boolean]",
					Description: "whether it may create roles"},
				{Name: "inherit", Type: "Optional[Boolean]",
					Description: "whether it inherits the rights of its roles"},
				{Name: "replication", Type: "Optional[Boolean]",
					Description: "whether it may use replication"},
				{Name: "bypassrls", Type: "Optional[Boolean]",
					Description: "whether it bypasses row-level security"},
				{Name: "connection_limit", Type: "Optional[Integer[-1, 2147483647]]",
					Description: "maximum number of connections; -1: no limit"},
				{Name: "valid_until", Type: "Optional[Variant[Enum['infinity'], Timestamp]]",
					Description: "the time at which the password expires, or infinity"},
				{Name: "member_of", Type: "Optional[Array[" + nameType + "]]",
					Description: "all roles of which it is a member"},
				{Name: "comment", Type: "Optional[String]", Description: "a description"},
				{Name: "owned", Type: "Enum['refuse', 'reassign', 'drop']", Default: ownedRefuse,
					Behaviour: schema.Parameter,
					Description: "treatment of owned objects at a purge: refuse the purge, reassign all to " +
						"reassign_to, or drop all; databases are never dropped"},
				{Name: "reassign_to", Type: "Optional[" + nameType + "]",
					Behaviour:   schema.Parameter,
					Description: "the new owner of its objects"},
			},
			Features: []string{"batch", "canonicalise", "discover"},
			Validate: validRole,
			Thing:    schema.ByIdentity("name"),
			Relations: []schema.Relation{
				{Kind: schema.Require, Type: "sql::Role",
					Keys: map[string]string{"name": "$member_of"}},
			},
		},
		Handler: role{},
	}
}

func validRole(attrs map[string]any) []diag.Problem {
	out := validNames(attrs, "name", "reassign_to")
	bad := func(attribute, message, hint string) {
		out = append(out, diag.Problem{Attribute: attribute, Message: message, Hint: hint})
	}
	if name, _ := attrs["name"].(string); strings.HasPrefix(name, "pg_") || name == "public" ||
		name == "none" {
		bad("name", "names that begin with pg_, public and none are the server's own",
			"choose another")
	}
	if (attrs["owned"] == ownedReassign) != (attrs["reassign_to"] != nil) {
		bad("owned", "`owned: reassign` and reassign_to are of use only together",
			"give both, or neither")
	}
	if groups, _ := texts(attrs, "member_of"); slices.Contains(groups, fmt.Sprint(attrs["name"])) {
		bad("member_of", "a role cannot be a member of itself", "leave it out")
	}
	return out
}

// Canonicalise implements provider.Canonicaliser: the order of roles and the time zone of a time
// have no meaning.
func (role) Canonicalise(attrs map[string]any) (map[string]any, error) {
	out := withSet(attrs, "member_of")
	if s, ok := attrs["valid_until"].(string); ok && s != "infinity" {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return nil, fmt.Errorf("valid_until is not a time: %w", err)
		}
		out["valid_until"] = t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
	}
	return out, nil
}

// same compares values of attributes.
func same(a, b any) bool { return resource.Equal(a, b) }
