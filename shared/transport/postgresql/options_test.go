package postgresql_test

import (
	"strings"
	"testing"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/transport/postgresql"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	secret := resource.Secret{Source: "env:S"}
	type m = map[string]any
	for _, c := range []struct {
		why     string
		options m
		want    string // attribute: part of message or hint; of the only problem
	}{
		{"the least", m{"host": "db"}, ""},
		{"a socket", m{"host": "/run/postgresql"}, ""},
		{"all of it", m{"host": "::1", "port": int64(1), "user": "u", "password": secret,
			"database": "d", "tls": "encrypt", "certificate": resource.Parameter{Name: "c"},
			"key": secret, "timeout": int64(5)}, ""},
		{"nothing", nil, ": needs a host"},
		{"misspelt", m{"host": "db", "passwort": "x"}, `passwort: did you mean "password"?`},
		{"in the open", m{"host": "db", "password": "hunter2"}, "password: write {secret"},
		{"two hosts", m{"host": "a,b"}, "host: not valid"},
		{"TLS on a socket", m{"host": "/run", "tls": "full"}, "tls: leave it out"},
		{"of no use", m{"host": "db", "tls": "none", "ca": "x"}, "ca: without TLS"},
		{"no certificate", m{"host": "db", "ca": "x"}, "ca: no certificate"},
		{"half of it", m{"host": "db", "key": secret}, "certificate: give both"},
		{"a file", m{"host": "db", "ca": resource.File{Hash: "x"}}, "ca: uploaded"},
		{"not so long", m{"host": "db", "timeout": int64(61)}, "timeout: not valid"},
	} {
		problems := postgresql.Check(c.options)
		attribute, part, _ := strings.Cut(c.want, ": ")
		switch {
		case c.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", c.why, problems)
		case c.want != "" && (len(problems) != 1 || problems[0].Attribute != attribute ||
			!strings.Contains(problems[0].Message+problems[0].Hint, part)):
			t.Errorf("%s: %v, expected %s", c.why, problems, c.want)
		}
		for _, p := range problems {
			if strings.Contains(p.String()+p.Hint, "hunter2") {
				t.Errorf("%s: the problem shows a secret: %v", c.why, p)
			}
		}
	}
	var s postgresql.Sessions
	for _, options := range []m{nil, {"host": "db", "password": secret}, {"host": "db", "x": "y"}} {
		if _, err := s.Connect(t.Context(), options); !fault.Is(err, fault.Invalid) {
			t.Errorf("%v: %v", options, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
