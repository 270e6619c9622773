package resource_test

import (
	"slices"
	"strings"
	"testing"

	"southbound/shared/resource"
)

// TestCheckSecret pins which texts are sources of secrets, and that advice never shows the text,
// which may be the secret.
func TestCheckSecret(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"env:A": "", "file:/a b": "", "ssm:/a:3": "", "secretsmanager:a#b": "",
		"sops:a.yaml#b": "", "vault:a/b#c": "", "command:pass show a": "", `command:["sh", "-c", "pass a | head -1"]`: "",

		"output:a::B[c,name=x]#p/0": "", `output:a::B[c,name=a\]#b]#p`: "", "output:a::B[name=x]#p": "",

		"hunter2":                      "write env:NAME, file:PATH",
		"":                             "write env:NAME, file:PATH",
		"env:":                         "or secretsmanager:id",
		"hunter2:x":                    "or secretsmanager:id",
		"ENV:A":                        "or secretsmanager:id",
		"sops:hunter2":                 "write sops:FILE#KEY",
		"sops:hunter2#":                "write sops:FILE#KEY",
		"vault:secret/hunter2":         "write vault:PATH#FIELD",
		"vault:secret/hunter2#":        "write vault:PATH#FIELD",
		"vault:hunter2#a":              "write vault:PATH#FIELD",
		"vault:/secret/hunter2#a":      "write vault:PATH#FIELD",
		"vault:secret/../hunter2#a":    "write vault:PATH#FIELD",
		"sops:#hunter2":                "write sops:FILE#KEY",
		"output:hunter2":               "write output:ID#PATH",
		"output:hunter2#p":             "write output:ID#PATH",
		"output:a::B[c,name=hunter2]":  "write output:ID#PATH",
		"output:a::B[c,name=hunter2]#": "write output:ID#PATH",
		"output:a::B[c,hunter2]#p":     "write output:ID#PATH",
		"output:a::B[c,n=x]#hunter2~":  "write \"~\" as",
		"command:":                     "write env:NAME",
		"command:  ":                   "no shell reads the command",
		"command:hunter2 | head":       "no shell reads the command",
		"command:sh -c 'hunter2'":      "no shell reads the command",
		"command:echo $hunter2":        "no shell reads the command",
		`command:["hunter2"`:           "as a JSON list of texts",
		`command:[]`:                   "as a JSON list of texts",
		`command:[""]`:                 "as a JSON list of texts",
		`command:["hunter2", 1]`:       "as a JSON list of texts",
		"command:[\"hunter2\\u0000\"]": "as a JSON list of texts",
	} {
		got := resource.CheckSecret(source)
		if (got == "") != (want == "") || !strings.Contains(got, want) ||
			strings.Contains(got, "hunter2") {
			t.Errorf("%q: %q, want %q", source, got, want)
		}
	}
}

// TestSecretCommand pins the words of commands.
func TestSecretCommand(t *testing.T) {
	t.Parallel()
	for source, want := range map[string][]string{
		"pass  show a/b ":            {"pass", "show", "a/b"},
		` ["sh", "-c", "a 'b' $c"] `: {"sh", "-c", "a 'b' $c"},
		`["a", ""]`:                  {"a", ""},
	} {
		if got, hint := resource.SecretCommand(source); hint != "" || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %s", source, got, hint)
		}
	}
}

// TestSecretAt pins which sources have a path of a file, and that a relative one leads from a
// directory.
func TestSecretAt(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"file:pw":                  "file:/srv/site/pw",
		"file:../a#b":              "file:/srv/a#b",
		"file:/etc/pw":             "file:/etc/pw",
		"sops:s.yaml#db/pw":        "sops:/srv/site/s.yaml#db/pw",
		"sops:./x/../s.yaml#a/../": "sops:/srv/site/s.yaml#a/../",
		"sops:/etc/s.yaml#db":      "sops:/etc/s.yaml#db",
		"env:pw":                   "env:pw",
		"command:cat pw":           "command:cat pw",
		"vault:a/b#c":              "vault:a/b#c",
		"ssm:pw":                   "ssm:pw",
	} {
		if got := resource.SecretAt("/srv/site", source); got != want {
			t.Errorf("%s: %s, want %s", source, got, want)
		}
	}
}
