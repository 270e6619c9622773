package handlers

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestThings pins which thing a resource of each type manages, and which paths it keeps. A type that
// is not in the table fails.
func TestThings(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	type example struct {
		attributes m
		names      []string
		shared     bool
		keeps      []string // a tree ends in /, what may have a number in #
	}
	unknown := resource.Parameter{Name: "p"}
	table := map[string][]example{
		"acct::Group": {{m{"name": "deploy"}, []string{"name deploy"}, false, nil}},
		"acct::User": {
			{m{"name": "alice", "home": "/srv/alice"}, []string{"name alice"}, false, nil},
			{m{"name": "alice", "home": "/srv/alice/", "manage_home": true},
				[]string{"name alice"}, false, []string{"/srv/alice/"}},
			{m{"name": "alice", "home": "/srv/alice", "authorized_keys": []any{"k"}},
				[]string{"name alice"}, false, []string{"/srv/alice/"}}},
		"aws::dynamodb::Item": {
			{m{"table": "ttt", "name": "label", "key": m{"id": "x"}},
				[]string{"the item \"id\"=\"x\" of the table ttt"}, false, nil},
			{m{"table": "ttt", "name": "label", "key": m{"id": unknown}}, nil, false, nil}},
		"aws::s3::Object": {{m{"bucket": "b", "key": "k"}, []string{"bucket b, key k"}, false, nil}},
		"aws::ssm::Parameter": {
			{m{"name": "/a"}, []string{"name /a"}, false, nil}, {m{"name": unknown}, nil, false, nil}},
		"cron::Job": {
			{m{"name": "j", "user": "root"}, []string{`the job "j" in the crontab of root`}, false, nil},
			{m{"name": "j", "user": "root", "file": "/etc/cron.d/j"},
				[]string{`the job "j" in /etc/cron.d/j, for root`}, false, []string{"/etc/cron.d/j"}},
			{m{"name": "j", "user": "root", "file": unknown}, nil, false, nil}},
		"exec::Run": {{m{"name": "x", "creates": "/opt/x"}, []string{"name x"}, true,
			[]string{"/opt/x"}}},
		"fs::Archive": {{m{"path": "/opt/x", "name": "n"}, []string{"path /opt/x, name n"}, false,
			[]string{"/opt/x/"}}},
		"fs::Directory": {{m{"path": "/a//b/"}, []string{"the path /a/b"}, false, []string{"/a/b"}}},
		"fs::File": {
			{m{"path": "/a/./b"}, []string{"the path /a/b"}, false, []string{"/a/b"}},
			{m{"path": "/a", "backup": "~"}, []string{"the path /a"}, false, []string{"/a", "/a~#"}},
			{m{"path": unknown}, nil, false, nil}},
		"fs::Symlink": {{m{"path": "/a"}, []string{"the path /a"}, false, []string{"/a"}}},
		"fs::IniSetting": {{m{"path": "/a", "section": "s", "setting": "k"},
			[]string{"the setting k of [s] in /a"}, false, []string{"/a"}}},
		"fs::Line": {
			{m{"path": "/a", "name": "label", "line": "X=1"}, []string{`the line "X=1" of /a`}, false,
				[]string{"/a"}},
			{m{"path": "/a", "name": "label", "line": "X=1", "match": "^X="},
				[]string{`the line "X=1" of /a`, "the line of /a that matches ^X="}, false,
				[]string{"/a"}},
			{m{"path": "/a", "name": "label", "line": unknown, "match": "^X="},
				[]string{"the line of /a that matches ^X="}, false, []string{"/a"}},
			{m{"path": "/a", "name": "label", "line": unknown}, nil, false, []string{"/a"}},
			{m{"path": "/a", "name": "b", "block": unknown, "marker": "# {mark} {name}"},
				[]string{`the block after "# BEGIN b" in /a`}, false, []string{"/a"}}},
		"git::Checkout": {{m{"path": "/srv/app"}, []string{"the checkout at /srv/app"}, false,
			[]string{"/srv/app/"}}},
		"http::Object": {
			{m{"name": "x", "path": "/u/{name}"}, []string{"the object at /u/x"}, false, nil},
			{m{"name": "label", "path": "/u/{key}", "vars": m{"key": "k"}},
				[]string{"the object at /u/k"}, false, nil},
			{m{"name": "x", "path": "/u/{id}", "collection": "/u"},
				[]string{"the object x of /u"}, false, nil},
			{m{"name": "label", "path": "/u/{id}", "collection": "/u",
				"find": m{"match": m{"key": "k"}}},
				[]string{`the object of /u with {"key":"k"}`}, false, nil}},
		"net::HostEntry": {{m{"name": "DB1", "file": "/etc/hosts"},
			[]string{"the entries of db1 in /etc/hosts"}, false, []string{"/etc/hosts"}}},
		"pkg::Package": {
			{m{"name": "curl"}, []string{"the package curl"}, false, nil},
			{m{"name": "Curl:AMD64", "provider": "apt", "root": "/srv/r"},
				[]string{"the package curl:amd64 in /srv/r"}, false, []string{"/srv/r/"}},
			{m{"name": "label", "package": "Foo.Bar_baz[x]", "provider": "pip"},
				[]string{"the package of pip foo-bar-baz"}, false, nil},
			{m{"name": "@scope/x", "provider": "npm"}, []string{"the package of npm @scope/x"}, false,
				nil}},
		"sql::Database":  {{m{"name": "d"}, []string{"name d"}, false, nil}},
		"sql::Extension": {{m{"database": "d", "name": "e"}, []string{"database d, name e"}, false, nil}},
		"sql::Grant": {{m{"role": "r", "database": "d", "kind": "table", "schema": "s", "name": "n"},
			[]string{"role r, database d, kind table, schema s, name n"}, false, nil}},
		"sql::Role":   {{m{"name": "r"}, []string{"name r"}, false, nil}},
		"sql::Schema": {{m{"database": "d", "name": "s"}, []string{"database d, name s"}, false, nil}},
		"std::Null":   {{m{"name": "n"}, []string{"name n"}, true, nil}},
		"svc::Service": {
			{m{"name": "ssh.service", "scope": "system"}, []string{"the service ssh"}, false, nil},
			{m{"name": "a.timer"}, []string{"the service a.timer"}, false, nil},
			{m{"name": "x", "scope": "user"}, []string{"the service x of a user"}, true, nil}},
		"sys::Facts": {{m{"name": "n"}, []string{"name n"}, true, nil}},
	}
	for _, d := range All() {
		typ, name := d.Type, d.Type.Name
		if typ.Thing == nil || len(table[name]) == 0 {
			t.Errorf("%s does not declare what its things are, or has no example", name)
			continue
		}
		for _, e := range table[name] {
			if d := cmp.Diff(schema.Thing{Names: e.names, Shared: e.shared},
				typ.Thing(maps.Clone(e.attributes))); d != "" {
				t.Errorf("%s %v: %s", name, e.attributes, d)
			}
			if d := cmp.Diff(e.keeps, keptBy(&typ, e.attributes)); d != "" {
				t.Errorf("%s %v keeps: %s", name, e.attributes, d)
			}
		}
	}
}

// keptBy returns the paths that a resource keeps, as the table writes them.
func keptBy(typ *schema.Type, attributes map[string]any) []string {
	if typ.Keeps == nil {
		return nil
	}
	var out []string
	for _, k := range typ.Keeps(attributes) {
		switch {
		case k.Tree:
			k.Path += "/"
		case k.Numbered:
			k.Path += "#"
		}
		out = append(out, k.Path)
	}
	return out
}
