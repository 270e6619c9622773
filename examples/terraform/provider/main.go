// Command terraform-provider-postgresql is a small Terraform provider for roles and databases of
// PostgreSQL, so that the example runs without a registry. Its types have the names and the attributes
// of the provider cyrilgdn/postgresql, of which they are a part: the documents work with both.
package main

import (
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: newProvider})
}

// text returns the schema of an optional text.
func text(description string) *schema.Schema {
	return &schema.Schema{Type: schema.TypeString, Optional: true, Description: description}
}

// number returns the schema of an optional number with a default.
func number(standard int, description string) *schema.Schema {
	return &schema.Schema{Type: schema.TypeInt, Optional: true, Default: standard, Description: description}
}

// flag returns the schema of an optional boolean that is false by default.
func flag(description string) *schema.Schema {
	return &schema.Schema{Type: schema.TypeBool, Optional: true, Default: false, Description: description}
}

// secret marks a schema as sensitive.
func secret(s *schema.Schema) *schema.Schema {
	s.Sensitive = true
	return s
}

// fixed marks a schema: another value replaces the object. Without a value, the server chooses one.
func fixed(s *schema.Schema) *schema.Schema {
	s.Computed, s.ForceNew = true, true
	return s
}

func newProvider() *schema.Provider {
	return &schema.Provider{
		Schema: map[string]*schema.Schema{
			"host":            text("Host of the server, or the directory of its socket"),
			"port":            number(5432, "Port of the server"),
			"database":        text("Database to connect to, by default that of the user's name"),
			"username":        text("Name of the user"),
			"password":        secret(text("Password of the user")),
			"sslmode":         text("Whether to use TLS: disable, prefer, require, verify-ca or verify-full"),
			"connect_timeout": number(30, "Longest time of a connection attempt, in seconds"),
		},
		ResourcesMap: map[string]*schema.Resource{
			"postgresql_role":     role(),
			"postgresql_database": database(),
		},
		DataSourcesMap:       map[string]*schema.Resource{"postgresql_schemas": schemas()},
		ConfigureContextFunc: configure,
	}
}
