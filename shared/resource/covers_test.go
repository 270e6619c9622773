package resource_test

import (
	"strings"
	"testing"

	"southbound/shared/resource"
)

// TestCovers holds which sources an item of a list within covers.
func TestCovers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		item, source string
		want         bool
	}{
		{"env:APP_", "env:APP_TOKEN", true},
		{"env:APP_", "env:APP_", true},
		{"env:APP_", "env:app_token", false},
		{"env:APP_", "file:APP_TOKEN", false},
		{"env:APP_", "env:OTHER", false},
		{"env:APP", "env:APP", true},
		{"env:APP", "env:APPLE", false},
		{"env:APP", "env:APP_TOKEN", false},

		{"file:/srv/secrets/", "file:/srv/secrets/a", true},
		{"file:/srv/secrets/", "file:/srv/secrets/a/b", true},
		{"file:/srv/secrets/", "file:/srv/secrets", false},
		{"file:/srv/secrets/", "file:/srv/secrets/", false},
		{"file:/srv/secrets", "file:/srv/secrets", true},
		{"file:/srv/secrets", "file:/srv/secrets/a", true},
		{"file:/srv/secrets", "file:/srv/secrets.old", false},
		{"file:/srv/secrets/", "file:/srv/secrets/../../etc/shadow", false},
		{"file:/srv/secrets/", "file:/srv/secrets/a/..", false},
		{"file:/srv/secrets/", "file:/srv/secrets/./a", false},
		{"file:/srv/secrets/", "file:/srv/secrets//a", false},
		{"file:/srv/secrets/", "file:/srv/Secrets/a", false},
		{"file:/srv/secrets/", "file:/srv/secrets/a\x00", false},
		{"file:/srv/secrets/", "file:srv/secrets/a", false},
		{"file:/srv/secrets/", "FILE:/srv/secrets/a", false},
		{"file:/srv/secrets/", "file:/etc/shadow", false},
		{"file:/srv/secrets/", "env:/srv/secrets/a", false},

		{"ssm:/shop/", "ssm:/shop/token", true},
		{"ssm:/shop", "ssm:/shop/token", true},
		{"ssm:/shop", "ssm:/shop:3", true},
		{"ssm:/shop/token", "ssm:/shop/token:current", true},
		{"ssm:/shop", "ssm:/shops", false},
		{"ssm:/shop", "ssm:shop", false},
		{"ssm:/shop", "ssm:/shop:3/other", false},
		{"ssm:/shop/", "ssm:/shop/../bank/token", false},
		{"ssm:/shop/", "ssm:arn:aws:ssm:eu-west-1:123456789012:parameter/bank", false},
		{"ssm:arn", "ssm:arn:aws:ssm:eu-west-1:123456789012:parameter/bank", false},

		{"secretsmanager:shop/", "secretsmanager:shop/token", true},
		{"secretsmanager:shop/", "secretsmanager:shop/token#key", true},
		{"secretsmanager:shop", "secretsmanager:shop#key", true},
		{"secretsmanager:shop#key", "secretsmanager:shop#key", true},
		{"secretsmanager:shop#key", "secretsmanager:shop#key2", false},
		{"secretsmanager:shop", "secretsmanager:shopping", false},
		{"secretsmanager:shop/", "secretsmanager:shop/../bank", false},

		{"sops:/srv/a.yaml", "sops:/srv/a.yaml#db/password", true},
		{"sops:/srv/a.yaml#db", "sops:/srv/a.yaml#db/password", true},
		{"sops:/srv/a.yaml#db/", "sops:/srv/a.yaml#db/password", true},
		{"sops:/srv/a.yaml#db", "sops:/srv/a.yaml#dbs", false},
		{"sops:/srv/a.yaml#db", "sops:/srv/a.yaml#db#x", false},
		{"sops:/srv/a.yaml", "sops:/srv/a.yaml.old#db", false},
		{"sops:/srv/", "sops:/srv/a.yaml#db", true},
		{"sops:/srv/", "sops:/srv/../etc/a.yaml#db", false},
		{"sops:a.yaml", "sops:a.yaml#db", false},

		{"vault:secret/shop", "vault:secret/shop/db#password", true},
		{"vault:secret/shop/", "vault:secret/shop/db#password", true},
		{"vault:secret/shop/db", "vault:secret/shop/db#password", true},
		{"vault:secret/shop/db#user", "vault:secret/shop/db#password", false},
		{"vault:secret/shop", "vault:secret/shops#password", false},
		{"vault:secret/shop/", "vault:secret/shop/../bank#password", false},

		{"output:a::B[c,n=x]#p", "output:a::B[c,n=x]#p", true},
		{"output:a::B[c,n=x]#p", "output:a::B[c,n=x]#p/0", true},
		{"output:a::B[c,n=x]#p", "output:a::B[c,n=x]#pin", false},
		{"output:a::B[c,n=x]", "output:a::B[c,n=x]#p", false},
		{"output:a::B[c,n=", "output:a::B[c,n=x]#p", false},

		{"command:pass show shop", "command:pass show shop", true},
		{"command:pass show shop", "command:pass show shop/token", false},
		{"command:pass show shop/", "command:pass show shop/token", false},
		{"command:pass", "command:pass show bank", false},
	} {
		if got := resource.Covers(test.item, test.source); got != test.want {
			t.Errorf("%s covers %q: %v", test.item, test.source, got)
		}
	}
}

// TestItems holds which items of a list within are refused.
func TestCheckCover(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]string{
		"env:APP_": "", "env:APP": "", "file:/srv/secrets/": "", "file:/srv/secrets": "",
		"ssm:/shop": "", "ssm:/shop/": "", "secretsmanager:shop/": "",
		"":                      "does not begin with",
		"APP_":                  "does not begin with",
		"ENV:APP_":              "does not begin with",
		"env:":                  "allows every name",
		"env:_":                 "allows every name",
		"ssm:/":                 "allows every name",
		"secretsmanager:":       "allows every name",
		"sops:/srv/a.yaml#db":   "",
		"sops:/srv/":            "",
		"sops:a.yaml":           "no clean absolute path",
		"sops:/":                "no clean absolute path",
		"command:pass show a":   "",
		"command:":              "is no command",
		"command:sh -c 'id'":    "is no command",
		"file:":                 "no clean absolute path",
		"file:/":                "no clean absolute path",
		"file:secrets/":         "no clean absolute path",
		"file:/srv/../etc/":     "no clean absolute path",
		"file:/srv//secrets/":   "no clean absolute path",
		"file:/srv/secrets/./x": "no clean absolute path",
	} {
		if got := resource.CheckCover(item); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", item, got, want)
		}
	}
}
