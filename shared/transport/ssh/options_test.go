package ssh_test

import (
	"strings"
	"testing"

	"southbound/shared/resource"
	"southbound/shared/transport/ssh"
)

// TestCheck pins what authors are told about the options of an agent.
func TestCheck(t *testing.T) {
	t.Parallel()
	const public = "ssh-ed25519 " +
		"AAAAC3NzaC1lZDI1NTE5AAAAIEv06O3uYMGjjgGJoV2R4qR6AyR8j8OaWESkQexk3kHF"
	secret := resource.Secret{Source: "env:X"}
	for _, c := range []struct {
		why     string
		options map[string]any
		want    string // attribute: part of message or hint, of the one problem
	}{
		{"the least", map[string]any{"host": "web1"}, ""},
		{"an address of six", map[string]any{"host": "fe80::1%eth0"}, ""},
		{"all", map[string]any{"host": "web1", "port": int64(2222), "user": "deploy", "key": secret,
			"passphrase": secret, "password": secret, "agent": true, "host_key": []any{public},
			"jump": []any{map[string]any{"host": "b", "password": secret, "host_key": public}},
			"sudo": "root", "sudo_password": secret, "directory": "/opt/sb",
			"connect_timeout": int64(5), "keep_alive": int64(5)}, ""},
		{"references are known later",
			map[string]any{"host": resource.Parameter{Name: "h"},
				"jump": map[string]any{"host": resource.Parameter{Name: "b"}}}, ""},
		{"no host", nil, ": needs a host"},
		{"misspelt", map[string]any{"host": "a", "usr": "x"}, `usr: "user"`},
		{"a user in the host", map[string]any{"host": "root@web1"}, "host: not valid"},
		{"a user that is an option", map[string]any{"host": "a", "user": "-oProxyCommand=x"},
			"user: not valid"},
		{"a sudo user that is an option", map[string]any{"host": "a", "sudo": "-s"},
			"sudo: not valid"},
		{"a password in the document", map[string]any{"host": "a", "password": "hunter2"},
			"password: in plain text"},
		{"a password of a bastion in the document",
			map[string]any{"host": "a", "jump": map[string]any{"host": "b", "password": "hunter2"}},
			"jump: in plain text"},
		{"a bastion without a host", map[string]any{"host": "a",
			"jump": []any{map[string]any{"user": "u"}}},
			"jump: machine 1 in jump: it needs a host"},
		{"what a bastion does not have",
			map[string]any{"host": "a", "jump": map[string]any{"host": "b", "sudo": true}},
			"jump: no option"},
		{"a bastion by its name alone", map[string]any{"host": "a", "jump": "b"},
			"jump: jump: [{host:"},
		{"a host key that is none", map[string]any{"host": "a", "host_key": "SHA256:abc"},
			"host_key: not a public key"},
		{"two keys", map[string]any{"host": "a", "key": secret, "key_file": "/k"},
			"key_file: one key"},
		{"two ways to know the host", map[string]any{"host": "a", "host_key": public,
			"known_hosts": "/k"}, "known_hosts: takes the place"},
		{"a passphrase of nothing", map[string]any{"host": "a", "passphrase": secret},
			"passphrase: without a key"},
		{"a password for no sudo", map[string]any{"host": "a", "sudo_password": secret},
			"sudo_password: without sudo"},
		{"an uploaded key", map[string]any{"host": "a",
			"key": resource.File{Hash: strings.Repeat("0", 64)}}, "key: uploaded files"},
		{"a directory that is not absolute", map[string]any{"host": "a", "directory": "bin"},
			"directory: not valid"},
	} {
		problems := ssh.Check(c.options)
		attribute, part, _ := strings.Cut(c.want, ": ")
		switch {
		case c.want == "" && len(problems) > 0:
			t.Errorf("%s: %v", c.why, problems)
		case c.want != "" && (len(problems) != 1 || problems[0].Attribute != attribute ||
			!strings.Contains(problems[0].Message+problems[0].Hint, part)):
			t.Errorf("%s: %v, expected %s", c.why, problems, c.want)
		}
		for _, p := range problems {
			if strings.Contains(p.Message+p.Hint, "hunter2") {
				t.Errorf("%s: the secret is shown: %v", c.why, p)
			}
		}
	}
}
