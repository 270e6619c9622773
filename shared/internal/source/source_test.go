package source

import (
	"testing"

	"southbound/shared/schema"
)

// testTypes are types of every shape that documents meet.
func testTypes(tb testing.TB) *schema.Registry {
	tb.Helper()
	r, err := schema.NewRegistry(
		schema.Type{Name: "fs::File", Description: "a file", Attributes: []schema.Attribute{
			{Name: "path", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "content", Type: "Optional[String]"},
			{Name: "mode", Type: "Optional[String]"},
			{Name: "backup", Type: "Optional[Boolean]"},
			{Name: "size", Type: "Optional[Integer]"},
		}},
		schema.Type{Name: "fs::Directory",
			Attributes: []schema.Attribute{
				{Name: "path", Type: "String[1]", Behaviour: schema.Namevar}}},
		schema.Type{Name: "std::Null", Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "a", Type: "Optional[Any]"},
			{Name: "b", Type: "Optional[Any]"},
		}},
		schema.Type{Name: "test::Zone", Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "region", Type: "String[1]", Behaviour: schema.Namevar, Default: "eu"},
			{Name: "must", Type: "String[1]"},
		}},
		schema.Type{Name: "net::Port", Attributes: []schema.Attribute{
			{Name: "host", Type: "String[1]", Behaviour: schema.Namevar},
			{Name: "port", Type: "Integer[1,65535]", Behaviour: schema.Namevar},
			{Name: "open", Type: "Boolean", Default: true},
		}},
	)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}
