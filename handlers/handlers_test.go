package handlers

import (
	"slices"
	"testing"

	"southbound/shared/schema"
)

// TestAll registers every type: a declaration that is not right would stop the program at its start.
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
