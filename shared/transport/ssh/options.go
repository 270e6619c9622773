package ssh

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport/option"
)

// Option is one of the options of an agent with the transport ssh.
type Option struct {
	Name, Type, Description string
	Secret                  bool // must be a reference to a secret
	Hop                     bool // is an option of each machine in jump, too
	Default                 any
}

const pathType = `Optional[Pattern[/\A(\/|~\/)/]]`

// Options are all of them, in the order in which people think of them.
func Options() []Option {
	return []Option{
		{Name: "host", Type: `Pattern[/\A[^\s\/@,\[\]]+\z/]`, Hop: true, Description: "the name or address of the machine"},
		{Name: "port", Type: "Integer[1, 65535]", Default: int64(22), Hop: true, Description: "the port of its ssh server"},
		{Name: "user", Type: `Optional[Pattern[/\A[^\s-]\S*\z/]]`, Hop: true, Description: "the user to log in as; by default the one that Southbound runs as"},
		{Name: "key_file", Type: pathType, Hop: true, Description: "the path of a private key on the machine that connects"},
		{Name: "key", Type: "Optional[String[1]]", Secret: true, Hop: true, Description: "a private key itself"},
		{Name: "certificate", Type: "Optional[String[1]]", Hop: true,
			Description: `the certificate of the key: "ssh-ed25519-cert-v01@openssh.com AAAA..."; by default the one beside key_file, named as ssh names it`},
		{Name: "passphrase", Type: "Optional[String[1]]", Secret: true, Hop: true, Description: "what key or key_file is encrypted with"},
		{Name: "password", Type: "Optional[String[1]]", Secret: true, Hop: true, Description: "the password of the user"},
		{Name: "agent", Type: "Optional[Boolean]", Hop: true,
			Description: "whether the keys of the running ssh-agent are tried (SSH_AUTH_SOCK); by default when no key and no password is given"},
		{Name: "known_hosts", Type: pathType, Hop: true, Description: "the file with the keys of hosts; by default ~/.ssh/known_hosts"},
		{Name: "host_key", Type: "Optional[Variant[String[1], Array[String[1], 1]]]", Hop: true,
			Description: `the public key that the host has to have, or several, in place of known_hosts: "ssh-ed25519 AAAA..."`},
		{Name: "jump", Type: "Optional[Variant[Hash[String, Data], Array[Hash[String, Data], 1, 8]]]", Description: "machines to go through, the first one first, each with a host and what is said of it here"},
		{Name: "sudo", Type: `Optional[Variant[Boolean, Pattern[/\A[^\s-]\S*\z/]]]`, Description: "the user to become by sudo; true means root"},
		{Name: "sudo_password", Type: "Optional[String[1]]", Secret: true, Description: "what sudo asks for; without it, it must not ask"},
		{Name: "program", Type: `Optional[Pattern[/\A\//]]`, Description: "the path of a Southbound that is installed on the machine; by default this one is uploaded, once"},
		{Name: "directory", Type: `Optional[Pattern[/\A\//]]`, Description: "where it is uploaded to; by default southbound in the user's cache directory"},
		{Name: "runner", Type: "Optional[Boolean]", Description: "true: `southbound agent run` serves the agent also where a function could, because none reaches it"},
		{Name: "connect_timeout", Type: "Integer[1, 300]", Default: int64(10), Description: "seconds for one try at connecting"},
		{Name: "keep_alive", Type: "Integer[1, 600]", Default: int64(15), Description: "seconds between signs of life; after three without one the connection counts as cut"},
	}
}

// settings are options that have been read.
type settings struct {
	hops                     []hop // the machine itself is the last
	sudo, sudoPassword       string
	program, directory       string
	connectTimeout, interval int64
	guarded                  bool // see Sessions
	unknown                  bool // some are references, so not all can be checked
}

// hop is one machine to log in to.
type hop struct {
	host, user, keyFile, key, passphrase, password, knownHosts string
	port                                                       int64
	agent                                                      *bool
	hostKeys                                                   []ssh.PublicKey
	certificate                                                *ssh.Certificate
}

// Check returns what is wrong with options; Attribute of a problem is the name of one. References
// are right.
func Check(options map[string]any) []diag.Problem {
	_, problems := read(options)
	return problems
}

// parse reads options whose references are resolved.
func parse(options map[string]any) (*settings, error) {
	s, problems := read(options)
	if s.unknown && len(problems) == 0 {
		return nil, fault.New(fault.Invalid, "connect", "the options of the agent hold a reference that has no meaning there")
	}
	if err := option.Refuse(problems); err != nil {
		return nil, err
	}
	return s, nil
}

type reader struct {
	out      *settings
	problems []diag.Problem
}

func (r *reader) bad(option, hint, format string, args ...any) {
	r.problems = append(r.problems, diag.Problem{Attribute: option, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func read(options map[string]any) (*settings, []diag.Problem) {
	r := &reader{out: &settings{}}
	values := r.values(Options(), options, "")
	s := r.out
	for name, p := range map[string]*string{"sudo_password": &s.sudoPassword, "program": &s.program, "directory": &s.directory} {
		*p, _ = values[name].(string)
	}
	s.connectTimeout, _ = values["connect_timeout"].(int64)
	s.interval, _ = values["keep_alive"].(int64)
	switch v := values["sudo"].(type) {
	case bool:
		if v {
			s.sudo = "root"
		}
	case string:
		s.sudo = v
	}
	r.jumps(values["jump"])
	s.hops = append(s.hops, r.hop(values, ""))
	r.together(options)
	slices.SortStableFunc(r.problems, func(a, b diag.Problem) int { return strings.Compare(a.Attribute, b.Attribute) })
	return s, r.problems
}

// jumps reads the machines on the way.
func (r *reader) jumps(v any) {
	var list []any
	switch v := v.(type) {
	case map[string]any:
		list = []any{v}
	case []any:
		list = v
	}
	var allowed []Option
	for _, o := range Options() {
		if o.Hop {
			allowed = append(allowed, o)
		}
	}
	for i, one := range list {
		where := fmt.Sprintf("machine %d in jump: ", i+1)
		m, _ := one.(map[string]any)
		values := r.values(allowed, m, where)
		r.out.hops = append(r.out.hops, r.hop(values, where))
	}
}

// values checks options one by one. where is "" for those of the agent itself, else problems are of
// jump.
func (r *reader) values(allowed []Option, options map[string]any, where string) map[string]any {
	values := map[string]any{}
	var names []string
	attribute := func(name string) string {
		if where != "" {
			return "jump"
		}
		return name
	}
	for _, o := range allowed {
		names = append(names, o.Name)
		v := options[o.Name]
		if v == nil {
			v = o.Default
		}
		if v == nil {
			continue
		}
		if problem := r.take(o, v, values); problem != nil {
			problem.Attribute, problem.Message = attribute(o.Name), where+problem.Message
			if problem.Message == where+option.LiteralSecret {
				problem.Message = option.LiteralSecret
			}
			r.problems = append(r.problems, *problem)
		}
	}
	for _, p := range option.Unknown("ssh", options, names) {
		r.bad(attribute(p.Attribute), p.Hint, "%s%s", where, p.Message)
	}
	if options["host"] == nil {
		at, text := "", "an agent with the transport ssh needs a host"
		if where != "" {
			at, text = "jump", where+"it needs a host"
		}
		r.bad(at, "write it such as {transport: ssh, host: web1.example.com}", "%s", text)
	}
	return values
}

// take checks one option by itself.
func (r *reader) take(o Option, v any, values map[string]any) *diag.Problem {
	for _, ref := range resource.References(v) {
		if _, file := ref.(resource.File); file {
			return &diag.Problem{Message: "uploaded files have no meaning in the options of an agent",
				Hint: `write {secret: "file:PATH"} for a file of the machine that connects, or key_file`}
		}
	}
	switch v.(type) {
	case resource.Secret, resource.Parameter, resource.Fact:
		r.out.unknown = true
		return nil
	}
	if o.Name == "jump" {
		if !isMaps(v) {
			return &diag.Problem{Message: "the value of jump is not valid", Hint: "write it such as jump: [{host: bastion.example.com}]"}
		}
		values[o.Name] = v
		return nil
	}
	d, err := schema.ParseDataType(o.Type)
	if err == nil {
		err = d.Check(v)
	}
	switch {
	case err != nil && o.Secret:
		return &diag.Problem{Message: fmt.Sprintf("the value of %s is not valid", o.Name), Hint: "it is " + o.Description}
	case err != nil:
		return &diag.Problem{Message: fmt.Sprintf("the value of %s is not valid: %v", o.Name, err), Hint: "it is " + o.Description}
	}
	values[o.Name] = v
	if o.Secret {
		return &diag.Problem{Message: option.LiteralSecret, Hint: `write {secret: "env:NAME"}, or another secret`}
	}
	return nil
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

// hop moves values to what is known of one machine.
func (r *reader) hop(values map[string]any, where string) hop {
	var h hop
	for name, p := range map[string]*string{"host": &h.host, "user": &h.user, "key_file": &h.keyFile, "key": &h.key, "passphrase": &h.passphrase,
		"password": &h.password, "known_hosts": &h.knownHosts} {
		*p, _ = values[name].(string)
	}
	h.port, _ = values["port"].(int64)
	if b, ok := values["agent"].(bool); ok {
		h.agent = &b
	}
	var texts []string
	switch v := values["host_key"].(type) {
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
			at := "host_key"
			if where != "" {
				at = "jump"
			}
			r.bad(at, `write one line of ssh-keyscan without the name: "ssh-ed25519 AAAA..."`, "%sthe value of host_key is not a public key", where)
			continue
		}
		h.hostKeys = append(h.hostKeys, key)
	}
	if text, _ := values["certificate"].(string); text != "" {
		key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		c, is := key.(*ssh.Certificate)
		if err != nil || !is {
			at := "certificate"
			if where != "" {
				at = "jump"
			}
			r.bad(at, "write the line of the file that ends in -cert.pub", "%sthe value of certificate is none", where)
		}
		h.certificate = c
	}
	return h
}

// together checks what one option alone cannot say.
func (r *reader) together(options map[string]any) {
	given := func(name string) bool { return options[name] != nil }
	for _, c := range []struct{ has, other, why, hint string }{
		{"key", "key_file", "there is room for one key", "keep one of key and key_file"},
		{"host_key", "known_hosts", "host_key takes the place of known_hosts", "keep one of them"},
		{"program", "directory", "nothing is uploaded where a program is installed", "leave one of them out"},
	} {
		if given(c.has) && given(c.other) {
			r.bad(c.other, c.hint, "%s", c.why)
		}
	}
	if given("certificate") && !given("key") && !given("key_file") {
		r.bad("certificate", "add key or key_file", "certificate is of no use without a key")
	}
	if given("passphrase") && !given("key") && !given("key_file") {
		r.bad("passphrase", "add key or key_file", "passphrase is of no use without a key")
	}
	if given("sudo_password") && (!given("sudo") || options["sudo"] == false) {
		r.bad("sudo_password", "add sudo: true", "sudo_password is of no use without sudo")
	}
}
