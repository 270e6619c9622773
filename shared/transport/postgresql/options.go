package postgresql

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/transport/internal/options"
)

// The ways to use TLS.
const (
	tlsFull    = "full"
	tlsEncrypt = "encrypt"
	tlsNone    = "none"
)

// declared are all options, in the order for documentation.
func declared() []options.Option {
	return []options.Option{
		{Name: "host", Type: `Pattern[/\A[^\s,@]+\z/]`,
			Example: "{transport: postgresql, host: db.example.com}",
			Description: "the name or address of the server, or the absolute path of the " +
				"directory of its socket"},
		{Name: "port", Type: "Integer[1, 65535]", Default: int64(5432), Description: "its port"},
		{Name: "user", Type: "String[1]", Default: "postgres",
			Description: "the role to connect as"},
		{Name: "password", Type: "Optional[String[1]]", Secret: true, OneLine: true, Description: "its password"},
		{Name: "database", Type: "String[1]", Default: "postgres",
			Description: "the database to connect to where it does not matter which"},
		{Name: "tls", Type: "Enum['full', 'encrypt', 'none']",
			Description: "full: with a certificate that is checked, as is usual; encrypt: with " +
				"any certificate; none: in the open, as is usual on a socket"},
		{Name: "ca", Type: "Optional[String[1]]",
			Description: "certificates, in PEM, of the authorities to trust instead of the " +
				"system's"},
		{Name: "certificate", Type: "Optional[String[1]]",
			Description: "the client's certificate with those between it and its authority, in PEM"},
		{Name: "key", Type: "Optional[String[1]]", Secret: true,
			Description: "the key of the client's certificate, in PEM"},
		{Name: "timeout", Type: "Integer[1, 60]", Default: int64(10),
			Description: "seconds to connect in"},
	}
}

// settings are parsed options.
type settings struct {
	host, user, password, database, tls, ca, certificate, key string
	port, timeout                                             int64
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
	r := options.Read("postgresql", declared(), given)
	s := &settings{
		host: r.Text("host"), user: r.Text("user"), password: r.Text("password"),
		database: r.Text("database"), tls: r.Text("tls"), ca: r.Text("ca"),
		certificate: r.Text("certificate"), key: r.Text("key"),
		port: r.Number("port"), timeout: r.Number("timeout"),
	}
	if r.Given("certificate") != r.Given("key") {
		r.Bad("certificate", "give both", "certificate and key are of use only together")
	}
	if socket := strings.HasPrefix(s.host, "/"); s.tls == "" && socket {
		s.tls = tlsNone
	} else if s.tls == "" {
		s.tls = tlsFull
	} else if socket && s.tls != tlsNone {
		r.Bad("tls", "leave it out", "there is no TLS on a socket")
	}
	for _, name := range []string{"ca", "certificate"} {
		if r.Given(name) && s.tls == tlsNone {
			r.Bad(name, "remove it, or set `tls: full`", "%s is of no use without TLS", name)
		}
	}
	if _, err := s.tlsConfig(); err != nil {
		r.Bad(fault.HintOf(err), "write it in PEM", "%v", err)
	}
	return s, r
}

// Wait returns how long a connection may take to open, by the options of an agent.
func Wait(given map[string]any) time.Duration {
	const fallback = 10
	n, known := given["timeout"].(int64)
	if !known {
		n = fallback
	}
	return time.Duration(n) * time.Second
}

// tlsConfig returns the configuration of TLS, nil for none; the hint of an error is the name of the
// wrong option.
func (s *settings) tlsConfig() (*tls.Config, error) {
	if s.tls == tlsNone {
		return nil, nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.host, InsecureSkipVerify: s.tls == tlsEncrypt} //nolint:gosec // said explicitly
	if s.ca != "" {
		out.RootCAs = x509.NewCertPool()
		if !out.RootCAs.AppendCertsFromPEM([]byte(s.ca)) {
			return nil, fault.New(fault.Invalid, "", "there is no certificate in the value of ca").
				WithHint("ca")
		}
	}
	if s.certificate != "" && s.key != "" {
		pair, err := tls.X509KeyPair([]byte(s.certificate), []byte(s.key))
		if err != nil {
			return nil, fault.New(fault.Invalid, "",
				"the client's certificate and its key do not fit together").WithHint("certificate")
		}
		out.Certificates = []tls.Certificate{pair}
	}
	return out, nil
}
