package handlers

import (
	"slices"
	"testing"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestRelations pins which other resources those of each type require by their nature.
func TestRelations(t *testing.T) {
	t.Parallel()
	var types []schema.Type
	for _, d := range All() {
		types = append(types, d.Type)
	}
	known, err := schema.NewRegistry(types...)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, c := range []struct {
		typ   string
		attrs map[string]any
		want  []string
	}{
		{"fs::File", map[string]any{"path": "/etc/app/a.conf"},
			[]string{"fs::Directory[a,path=/etc/app]", "fs::Symlink[a,path=/etc/app]"}},
		{"fs::File", map[string]any{"path": "/a", "owner": "bob", "group": "adm"},
			[]string{"acct::Group[a,name=adm]", "acct::User[a,name=bob]",
				"fs::Directory[a,path=/]", "fs::Symlink[a,path=/]"}},
		{"fs::Directory", map[string]any{"path": "/srv"},
			[]string{"fs::Directory[a,path=/]", "fs::Symlink[a,path=/]"}},
		{"fs::Directory", map[string]any{"path": "/"}, // itself, which is not a requirement
			[]string{"fs::Directory[a,path=/]", "fs::Symlink[a,path=/]"}},
		{"fs::File", map[string]any{"path": "/a,b/c]d"},
			[]string{`fs::Directory[a,path=/a\,b]`, `fs::Symlink[a,path=/a\,b]`}},
		{"fs::Symlink", map[string]any{"path": "/srv/now", "target": "/srv/7"},
			[]string{"fs::Directory[a,path=/srv]", "fs::Symlink[a,path=/srv]"}},
		{"fs::Line", map[string]any{"path": "/etc/hosts", "line": "x"},
			[]string{"fs::Directory[a,path=/etc]", "fs::File[a,path=/etc/hosts]",
				"fs::Symlink[a,path=/etc]"}},
		{"fs::IniSetting", map[string]any{"path": "/etc/my.cnf", "section": "s", "setting": "x"},
			[]string{"fs::Directory[a,path=/etc]", "fs::File[a,path=/etc/my.cnf]",
				"fs::Symlink[a,path=/etc]"}},
		{"fs::Archive", map[string]any{"path": "/opt/app", "source": "/tmp/app.tar"},
			[]string{"fs::Directory[a,path=/opt/app]", "fs::Directory[a,path=/opt]",
				"fs::File[a,path=/tmp/app.tar]",
				"fs::Symlink[a,path=/opt]"}},
		{"fs::Archive", map[string]any{"path": "/opt/app", "source": resource.File{Hash: "00"}},
			[]string{"fs::Directory[a,path=/opt/app]", "fs::Directory[a,path=/opt]",
				"fs::Symlink[a,path=/opt]"}},
		{"net::HostEntry", map[string]any{"name": "web", "ip": "10.0.0.1", "file": "/etc/hosts"},
			[]string{"fs::Directory[a,path=/etc]", "fs::File[a,path=/etc/hosts]"}},
		{"cron::Job", map[string]any{"name": "x", "user": "bob"},
			[]string{"acct::User[a,name=bob]"}},
		{"cron::Job", map[string]any{"name": "x", "user": "bob", "file": "/etc/cron.d/x"},
			[]string{"acct::User[a,name=bob]", "fs::Directory[a,path=/etc/cron.d]",
				"fs::File[a,path=/etc/cron.d/x]"}},
		{"git::Checkout", map[string]any{"path": "/srv/app", "user": "bob"},
			[]string{"acct::User[a,name=bob]", "fs::Directory[a,path=/srv]"}},
		{"git::Checkout", map[string]any{"path": "/srv/app"},
			[]string{"fs::Directory[a,path=/srv]"}},
		{"acct::User", map[string]any{"name": "bob", "group": "users",
			"groups": []any{"adm", "lp"}},
			[]string{"acct::Group[a,name=adm]", "acct::Group[a,name=lp]",
				"acct::Group[a,name=users]"}},
		{"acct::User", map[string]any{"name": "bob"}, nil},
		{"exec::Run", map[string]any{"name": "x", "user": "bob"}, []string{"acct::User[a,name=bob]"}},
		{"exec::Run", map[string]any{"name": "x"}, nil},
		{"svc::Service", map[string]any{"name": "nginx", "scope": "system"},
			[]string{"fs::File[a,path=/etc/init.d/nginx]", "fs::File[a,path=/etc/sv/nginx/run]",
				"fs::File[a,path=/etc/systemd/system/nginx.service]",
				"pkg::Package[a,name=nginx]"}},
		{"svc::Service", map[string]any{"name": "getty@tty1.service", "scope": "user"},
			[]string{"fs::File[a,path=/etc/init.d/getty@tty1.service]",
				"fs::File[a,path=/etc/sv/getty@tty1.service/run]",
				"fs::File[a,path=/etc/systemd/user/getty@.service]",
				"pkg::Package[a,name=getty@tty1.service]"}},
		{"sql::Role", map[string]any{"name": "app", "member_of": []any{"a,b", "readers"}},
			[]string{`sql::Role[a,name=a\,b]`, "sql::Role[a,name=readers]"}},
		{"sql::Database", map[string]any{"name": "app", "owner": "app", "template": "base"},
			[]string{"sql::Database[a,name=base]", "sql::Role[a,name=app]"}},
		{"sql::Schema", map[string]any{"database": "app", "name": "s", "owner": "app"},
			[]string{"sql::Database[a,name=app]", "sql::Role[a,name=app]"}},
		{"sql::Extension", map[string]any{"database": "app", "name": "hstore", "schema": "s"},
			[]string{"sql::Database[a,name=app]", "sql::Schema[a,database=app,name=s]"}},
		{"sql::Extension", map[string]any{"database": "app", "name": "hstore"},
			[]string{"sql::Database[a,name=app]"}},
		{"sql::Grant", map[string]any{"role": "r", "database": "app", "kind": "database",
			"schema": "public", "name": "*"},
			[]string{"sql::Database[a,name=app]", "sql::Role[a,name=r]"}},
		{"sql::Grant", map[string]any{"role": "r", "database": "app", "kind": "table",
			"schema": "s", "name": "*"},
			[]string{"sql::Database[a,name=app]", "sql::Role[a,name=r]",
				"sql::Schema[a,database=app,name=s]"}},
	} {
		seen[c.typ] = true
		typ, _ := known.Type(c.typ)
		var got []string
		for _, r := range typ.Related("a", c.attrs) {
			if r.Kind != schema.Require {
				t.Errorf("%s: %s of %s", c.typ, r.Kind, r.ID)
			}
			got = append(got, string(r.ID))
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %v:\n%q, want\n%q", c.typ, c.attrs, got, c.want)
		}
	}
	for _, d := range All() {
		if typ, _ := known.Type(d.Type.Name); typ.HasRelations() && !seen[d.Type.Name] {
			t.Errorf("%s has relations, and no line here", d.Type.Name)
		}
	}
}
