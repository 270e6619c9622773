package http_test

import (
	"strings"
	"testing"

	"southbound/shared/resource"
	"southbound/shared/transport/http"
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
		{"the least", m{"url": "https://api.example.com"}, ""},
		{"all of it", m{"url": "https://[::1]:8443/v2/", "user": "u", "password": secret,
			"headers": m{"Accept": "a/b", "X-Api-Key": secret}, "server_name": "x",
			"insecure": true, "timeout": int64(5), "retry": int64(0),
			"idempotency_header": "Idempotency-Key", "rate": 2.5, "burst": int64(4),
			"max_body": int64(1), "probe": "/health",
			"certificate": resource.Parameter{Name: "c"}, "key": secret}, ""},
		{"what is known later", m{"url": resource.Parameter{Name: "u"}, "token": secret}, ""},
		{"credentials to this machine", m{"url": "http://127.0.0.1:80", "token": secret}, ""},
		{"nothing", nil, ": needs a url"},
		{"misspelt", m{"url": "https://h", "tocken": "x"}, `tocken: did you mean "token"?`},
		{"another scheme", m{"url": "ftp://h"}, "url: not valid"},
		{"credentials in it", m{"url": "https://u:p@h"}, "url: not valid"},
		{"a query", m{"url": "https://h?x=1"}, "url: not valid"},
		{"a way up", m{"url": "https://h/a/%2e%2e"}, "url: not valid"},
		{"a password in the open", m{"url": "https://h", "user": "u", "password": "hunter2"},
			"password: write {secret"},
		{"a header in the open", m{"url": "https://h", "headers": m{"X-Auth-Token": "hunter2"}},
			"headers: write X-Auth-Token: {secret"},
		{"no header", m{"url": "https://h", "headers": m{"a b": "c"}}, "headers: is not a header"},
		{"two lines", m{"url": "https://h", "headers": m{"A": "b\r\nC: d"}},
			"headers: is not a header"},
		{"made by others", m{"url": "https://h", "headers": m{"host": "b"}}, "headers: is made by"},
		{"half of it", m{"url": "https://h", "user": "u"}, "user: add password"},
		{"two ways", m{"url": "https://h", "user": "u", "password": secret, "token": secret},
			": 2 ways"},
		{"OAuth 2", m{"url": "https://h", "token_url": "https://id/token?x=1", "client_id": "me",
			"client_secret": secret, "scopes": []any{"a"}, "audience": "b"}, ""},
		{"OAuth 2 without a secret", m{"url": "https://h", "token_url": "https://id/token",
			"client_id": "me"}, "token_url: add client_secret"},
		{"OAuth 2 without a server", m{"url": "https://h", "scopes": []any{"a"}},
			"scopes: add token_url"},
		{"OAuth 2 in the open", m{"url": "https://h", "token_url": "http://id/token",
			"client_id": "me", "client_secret": secret}, "token_url: in the open"},
		{"OAuth 2 and a token", m{"url": "https://h", "token_url": "https://id/token",
			"client_id": "me", "client_secret": secret, "token": secret}, ": 2 ways"},
		{"nobody may listen", m{"url": "http://h.example", "token": secret}, "url: in the open"},
		{"nobody may listen, either", m{"url": "http://h.example", "headers": m{"X": secret}},
			"url: in the open"},
		{"unless said", m{"url": "http://h.example", "token": secret, "insecure": true}, ""},
		{"not text", m{"url": "https://h", "insecure": "yes"}, "insecure: not valid"},
		{"out of range", m{"url": "https://h", "retry": int64(31)}, "retry: not valid"},
		{"a rate of nothing", m{"url": "https://h", "rate": int64(0)}, "rate: from 0.001"},
		{"burst alone", m{"url": "https://h", "burst": int64(2)}, "burst: add rate"},
		{"no certificate", m{"url": "https://h", "ca": "hello"}, "ca: no certificate"},
		{"TLS without TLS", m{"url": "http://h", "server_name": "x"}, "server_name: without TLS"},
		{"a file", m{"url": "https://h", "ca": resource.File{Hash: "x"}}, "ca: uploaded files"},
	} {
		problems := http.Check(c.options)
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
}
