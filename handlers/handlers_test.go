package handlers

import (
	"slices"
	"testing"

	"southbound/shared/schema"
	"southbound/shared/transport"
)

// TestAll registers every type: a declaration that is not right would stop the program at its
// start.
func TestAll(t *testing.T) {
	var types []schema.Type
	var names []string
	for _, d := range All() {
		types = append(types, d.Type)
		names = append(names, d.Type.Name)
		if d.Handler == nil {
			t.Errorf("%s has no handler", d.Type.Name)
		}
	}
	if _, err := schema.NewRegistry(types...); err != nil {
		t.Error(err)
	}
	want := []string{
		"acct::Group",
		"acct::User",
		"aws::dynamodb::Item",
		"aws::s3::Object",
		"aws::ssm::Parameter",
		"cron::Job",
		"exec::Run",
		"fs::Archive",
		"fs::Directory",
		"fs::File",
		"fs::IniSetting",
		"fs::Line",
		"fs::Symlink",
		"git::Checkout",
		"http::Object",
		"net::HostEntry",
		"pkg::Package",
		"sql::Database",
		"sql::Extension",
		"sql::Grant",
		"sql::Role",
		"sql::Schema",
		"std::Null",
		"svc::Service",
		"sys::Facts",
	}
	if !slices.Equal(names, want) {
		t.Errorf("the types are %v, expected %v", names, want)
	}
}

// TestTransports pins over which transports each type is reached: over any other, its handler would
// act on the machine it runs on, or find nothing to talk to.
func TestTransports(t *testing.T) {
	over := map[string][]string{"http": {"http::Object"},
		"aws":        {"aws::dynamodb::Item", "aws::s3::Object", "aws::ssm::Parameter"},
		"postgresql": {"sql::Database", "sql::Extension", "sql::Grant", "sql::Role", "sql::Schema"}}
	for _, d := range All() {
		want := []string{transport.NameLocal, transport.NameSSH}
		for name, types := range over {
			if slices.Contains(types, d.Type.Name) {
				want = []string{name}
			}
			if name == transport.NamePostgreSQL && len(want) == 1 && want[0] == name {
				// a server, or its machine
				want = []string{transport.NameLocal, transport.NameSSH, name}
			}
		}
		if d.Type.Name == "std::Null" || d.Type.Name == "sys::Facts" {
			want = transport.Names()
		}
		var got []string
		for _, name := range transport.Names() {
			if d.Type.Reached(name) {
				got = append(got, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s is reached over %v, want %v", d.Type.Name, got, want)
		}
		if d.Type.Reached("winrm") != (len(want) == len(transport.Names())) {
			t.Errorf("%s over a transport of another program", d.Type.Name)
		}
	}
}

// TestPurged pins that a resource of any type that is to be purged needs only what names it.
func TestPurged(t *testing.T) {
	names := map[string]any{"path": "/srv/x", "name": "x", "section": "s", "setting": "a",
		"table": "tab", "kind": "table", "bucket": "b123", "key": "k", "ip": "10.0.0.7",
		"url": "http://127.0.0.1/x", "database": "d", "role": "r", "object": "o", "on": "database",
		"user": "u", "schema": "s"}
	var types []schema.Type
	for _, d := range All() {
		types = append(types, d.Type)
	}
	r, err := schema.NewRegistry(types...)
	if err != nil {
		t.Fatal(err)
	}
	for _, typ := range types {
		c, _ := r.Type(typ.Name)
		attributes := map[string]any{}
		for _, name := range c.Namevars() {
			attributes[name] = names[name]
		}
		if _, problems := c.CheckPurged(attributes); len(problems) > 0 {
			t.Errorf("%s with %v: %v", typ.Name, attributes, problems)
		}
	}
}
