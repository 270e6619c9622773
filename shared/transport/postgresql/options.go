package postgresql

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport/option"
)

// Option is one of the options of an agent with the transport postgresql.
type Option struct {
	Name, Type, Description string
	Secret                  bool // must be a reference to a secret
	Default                 any
}

// The ways to use TLS.
const (
	tlsFull    = "full"
	tlsEncrypt = "encrypt"
	tlsNone    = "none"
)

// Options are all of them, in the order in which people think of them.
func Options() []Option {
	return []Option{
		{Name: "host", Type: `Pattern[/\A[^\s,@]+\z/]`, Description: "the name or address of the server, or the absolute path of the directory of its socket"},
		{Name: "port", Type: "Integer[1, 65535]", Default: int64(5432), Description: "its port"},
		{Name: "user", Type: "String[1]", Default: "postgres", Description: "the role to connect as"},
		{Name: "password", Type: "Optional[String[1]]", Secret: true, Description: "its password"},
		{Name: "database", Type: "String[1]", Default: "postgres", Description: "the database to connect to where it does not matter which"},
		{Name: "tls", Type: "Enum['full', 'encrypt', 'none']", Description: "full: with a certificate that is checked, as is usual; encrypt: with any certificate; none: in the open, as is usual on a socket"},
		{Name: "ca", Type: "Optional[String[1]]", Description: "certificates, in PEM, of the authorities to trust in place of the system's"},
		{Name: "certificate", Type: "Optional[String[1]]", Description: "the client's certificate with those between it and its authority, in PEM"},
		{Name: "key", Type: "Optional[String[1]]", Secret: true, Description: "the key of the client's certificate, in PEM"},
		{Name: "timeout", Type: "Integer[1, 60]", Default: int64(10), Description: "seconds to connect in"},
	}
}

// settings are options that have been read.
type settings struct {
	host, user, password, database, tls, ca, certificate, key string
	port, timeout                                             int64
	unknown                                                   bool
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

func read(options map[string]any) (*settings, []diag.Problem) {
	s, values := &settings{}, map[string]any{}
	var problems []diag.Problem
	bad := func(option, hint, format string, args ...any) {
		problems = append(problems, diag.Problem{Attribute: option, Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	var names []string
	for _, o := range Options() {
		names = append(names, o.Name)
		v := options[o.Name]
		if v == nil {
			values[o.Name] = o.Default
			continue
		}
		switch v.(type) {
		case resource.Secret, resource.Parameter, resource.Fact:
			s.unknown = true
			continue
		case resource.File:
			bad(o.Name, `write the text itself, or {secret: "file:PATH"}`, "uploaded files have no meaning in the options of an agent")
			continue
		}
		d, err := schema.ParseDataType(o.Type)
		if err == nil {
			err = d.Check(v)
		}
		switch values[o.Name] = v; {
		case err != nil && o.Secret:
			bad(o.Name, "it is "+o.Description, "the value of %s is not valid", o.Name)
		case err != nil:
			bad(o.Name, "it is "+o.Description, "the value of %s is not valid: %v", o.Name, err)
		case o.Secret:
			bad(o.Name, `write {secret: "env:NAME"}, or another secret`, option.LiteralSecret)
		}
	}
	problems = append(problems, option.Unknown("postgresql", options, names)...)
	if options["host"] == nil {
		bad("", "write it such as {transport: postgresql, host: db.example.com}", "an agent with the transport postgresql needs a host")
	}
	if (options["certificate"] == nil) != (options["key"] == nil) {
		bad("certificate", "give both", "certificate and key are of use only together")
	}
	s.fill(values)
	if socket := strings.HasPrefix(s.host, "/"); s.tls == "" && socket {
		s.tls = tlsNone
	} else if s.tls == "" {
		s.tls = tlsFull
	} else if socket && s.tls != tlsNone {
		bad("tls", "leave it out", "there is no TLS on a socket")
	}
	for _, name := range []string{"ca", "certificate"} {
		if options[name] != nil && s.tls == tlsNone {
			bad(name, "leave it out, or say `tls: full`", "%s is of no use without TLS", name)
		}
	}
	if _, err := s.tlsConfig(); err != nil {
		bad(fault.HintOf(err), "write it in PEM", "%v", err)
	}
	slices.SortStableFunc(problems, func(a, b diag.Problem) int { return strings.Compare(a.Attribute, b.Attribute) })
	return s, problems
}

func (s *settings) fill(values map[string]any) {
	for name, p := range map[string]*string{"host": &s.host, "user": &s.user, "password": &s.password, "database": &s.database, "tls": &s.tls, "ca": &s.ca,
		"certificate": &s.certificate, "key": &s.key} {
		*p, _ = values[name].(string)
	}
	s.port, _ = values["port"].(int64)
	s.timeout, _ = values["timeout"].(int64)
}

// Wait returns how long connecting may take, by the options of an agent.
func Wait(options map[string]any) time.Duration {
	const fallback = 10
	n, known := options["timeout"].(int64)
	if !known {
		n = fallback
	}
	return time.Duration(n) * time.Second
}

// tlsConfig returns how to use TLS, nil for not; the hint of an error is the option that is wrong.
func (s *settings) tlsConfig() (*tls.Config, error) {
	if s.tls == tlsNone {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.host, InsecureSkipVerify: s.tls == tlsEncrypt} //nolint:gosec // said explicitly
	if s.ca != "" {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM([]byte(s.ca)) {
			return nil, fault.New(fault.Invalid, "", "there is no certificate in the value of ca").WithHint("ca")
		}
	}
	if s.certificate != "" && s.key != "" {
		pair, err := tls.X509KeyPair([]byte(s.certificate), []byte(s.key))
		if err != nil {
			return nil, fault.New(fault.Invalid, "", "the client's certificate and its key do not fit together").WithHint("certificate")
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
