package ssh

import (
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"

	"southbound/shared/diag"
	"southbound/shared/transport/internal/options"
)

const pathType = `Optional[Pattern[/\A(\/|~\/)/]]`

// declared are all options, in the order for documentation.
func declared() []options.Option {
	return []options.Option{
		{Name: "host", Type: `Pattern[/\A[^\s\/@,\[\]]+\z/]`, Nested: true,
			Example:     "{transport: ssh, host: web1.example.com}",
			Description: "the name or address of the machine"},
		{Name: "port", Type: "Integer[1, 65535]", Default: int64(22), Nested: true,
			Description: "the port of its ssh server"},
		{Name: "user", Type: `Optional[Pattern[/\A[^\s-]\S*\z/]]`, Nested: true,
			Description: "the user to log in as; by default the user of the Southbound process"},
		{Name: "key_file", Type: pathType, Nested: true,
			Description: "the path of a private key on the machine that connects"},
		{Name: "key", Type: "Optional[String[1]]", Secret: true, Nested: true,
			Hint:        `write {secret: "env:NAME"}, or another secret; for the path of a key, key_file: PATH`,
			Description: "a private key itself"},
		{Name: "certificate", Type: "Optional[String[1]]", Nested: true,
			Description: `the certificate of the key: "ssh-ed25519-cert-v01@openssh.com AAAA..."; by default the one beside key_file, named as ssh names it`},
		{Name: "passphrase", Type: "Optional[String[1]]", Secret: true, OneLine: true, Nested: true,
			Description: "the passphrase of key or key_file"},
		{Name: "password", Type: "Optional[String[1]]", Secret: true, OneLine: true, Nested: true,
			Description: "the password of the user"},
		{Name: "agent", Type: "Optional[Boolean]", Nested: true,
			Description: "whether the keys of the running ssh-agent are tried (SSH_AUTH_SOCK); " +
				"by default when no key and no password is given"},
		{Name: "known_hosts", Type: pathType, Nested: true,
			Description: "the file with the keys of hosts; by default ~/.ssh/known_hosts"},
		{Name: "host_key", Type: "Optional[Variant[String[1], Array[String[1], 1]]]", Nested: true,
			Description: `the public key that the host has to have, or several, in place of known_hosts: "ssh-ed25519 AAAA..."`},
		{Name: "jump",
			Type:  "Optional[Variant[Hash[String, Data], Array[Hash[String, Data], 1, 8]]]",
			Valid: isMaps,
			Hint:  "write it such as jump: [{host: bastion.example.com}]",
			Description: "machines to go through, the first one first, each with a host " +
				"and any of these options"},
		{Name: "sudo", Type: `Optional[Variant[Boolean, Pattern[/\A[^\s-]\S*\z/]]]`,
			Description: "the user to become by sudo; true means root"},
		{Name: "sudo_password", Type: "Optional[String[1]]", Secret: true, OneLine: true,
			Description: "the password for sudo; without it, sudo must not ask for one"},
		{Name: "program", Type: `Optional[Pattern[/\A\//]]`,
			Description: "the path of a Southbound that is installed on the machine; by default " +
				"this one is uploaded, once"},
		{Name: "directory", Type: `Optional[Pattern[/\A\//]]`,
			Description: "where it is uploaded to; by default southbound in the user's cache " +
				"directory"},
		{Name: "runner", Type: "Optional[Boolean]",
			Description: "true: `southbound agent run` serves the agent also where a function " +
				"could, because none reaches it"},
		{Name: "connect_timeout", Type: "Integer[1, 300]", Default: int64(10),
			Description: "seconds for one try at connecting"},
		{Name: "keep_alive", Type: "Integer[1, 600]", Default: int64(15),
			Description: "seconds between signs of life; after three without one the connection " +
				"counts as cut"},
	}
}

// settings are parsed options.
type settings struct {
	hops                     []hop // the machine itself is the last
	sudo, sudoPassword       string
	program, directory       string
	connectTimeout, interval int64
	guarded                  bool // see Sessions
}

// hop is one machine to log in to.
type hop struct {
	host, user, keyFile, key, passphrase, password, knownHosts string
	port                                                       int64
	agent                                                      *bool
	hostKeys                                                   []ssh.PublicKey
	certificate                                                *ssh.Certificate
}

// Check returns the problems of options; Attribute of a problem is the name of an option.
// References are accepted.
func Check(given map[string]any) []diag.Problem {
	_, r := read(given)
	return r.Problems()
}

// parse reads options whose references are resolved.
func parse(given map[string]any) (*settings, error) {
	s, r := read(given)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func read(given map[string]any) (*settings, *options.Reader) {
	r := options.Read("ssh", declared(), given)
	s := &settings{
		sudoPassword: r.Text("sudo_password"), program: r.Text("program"),
		directory:      r.Text("directory"),
		connectTimeout: r.Number("connect_timeout"), interval: r.Number("keep_alive"),
	}
	switch v := r.Value("sudo").(type) {
	case bool:
		if v {
			s.sudo = "root"
		}
	case string:
		s.sudo = v
	}
	s.hops = append(jumps(r), hopOf(r))
	together(r)
	return s, r
}

// jumps reads the bastions on the way.
func jumps(r *options.Reader) []hop {
	var list []any
	switch v := r.Value("jump").(type) {
	case map[string]any:
		list = []any{v}
	case []any:
		list = v
	}
	var out []hop
	for i, one := range list {
		m, _ := one.(map[string]any)
		out = append(out,
			hopOf(r.Place(declared(), m, "jump", fmt.Sprintf("machine %d in jump: ", i+1))))
	}
	return out
}

// isMaps reports whether v is a map or a list of 1 to 8 maps.
func isMaps(v any) bool {
	list, ok := v.([]any)
	if !ok {
		_, one := v.(map[string]any)
		return one
	}
	for _, e := range list {
		if _, ok := e.(map[string]any); !ok {
			return false
		}
	}
	return len(list) >= 1 && len(list) <= 8
}

// hopOf returns the settings of one machine.
func hopOf(r *options.Reader) hop {
	h := hop{
		host: r.Text("host"), user: r.Text("user"), keyFile: r.Text("key_file"), key: r.Text("key"),
		passphrase: r.Text("passphrase"), password: r.Text("password"),
		knownHosts: r.Text("known_hosts"),
		port:       r.Number("port"),
	}
	if b, ok := r.Value("agent").(bool); ok {
		h.agent = &b
	}
	var texts []string
	switch v := r.Value("host_key").(type) {
	case string:
		texts = []string{v}
	case []any:
		for _, e := range v {
			s, _ := e.(string)
			texts = append(texts, s)
		}
	}
	for _, text := range texts {
		key, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(text))
		if err != nil || len(strings.TrimSpace(string(rest))) > 0 {
			r.Bad("host_key",
				`write one line of ssh-keyscan without the name: "ssh-ed25519 AAAA..."`,
				"the value of host_key is not a public key")
			continue
		}
		h.hostKeys = append(h.hostKeys, key)
	}
	if text := r.Text("certificate"); text != "" {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		c, is := key.(*ssh.Certificate)
		if err != nil || !is {
			r.Bad("certificate", "write the line of the file that ends in -cert.pub",
				"the value of certificate is not a certificate")
		}
		h.certificate = c
	}
	return h
}

// together checks the rules about several options.
func together(r *options.Reader) {
	given := r.Given
	for _, c := range []struct{ has, other, why, hint string }{
		{"key", "key_file", "there is room for one key", "keep one of key and key_file"},
		{"host_key", "known_hosts", "host_key takes the place of known_hosts", "keep one of them"},
		{"program", "directory", "nothing is uploaded where a program is installed",
			"leave one of them out"},
	} {
		if given(c.has) && given(c.other) {
			r.Bad(c.other, c.hint, "%s", c.why)
		}
	}
	if given("certificate") && !given("key") && !given("key_file") {
		r.Bad("certificate", "add key or key_file", "certificate is of no use without a key")
	}
	if given("passphrase") && !given("key") && !given("key_file") {
		r.Bad("passphrase", "add key or key_file", "passphrase is of no use without a key")
	}
	if given("sudo_password") && (!given("sudo") || r.Value("sudo") == false) {
		r.Bad("sudo_password", "add sudo: true", "sudo_password is of no use without sudo")
	}
}
