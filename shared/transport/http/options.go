package http

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"southbound/shared/diag"
	"southbound/shared/schema"
	"southbound/shared/transport/internal/options"
)

// declared are all options, in the order for documentation.
func declared() []options.Option {
	return []options.Option{
		{Name: "url", Type: `Pattern[/\Ahttps?:\/\/[^\/?#@\s]+(\/[^?#\s]*)?\z/]`,
			Example:     "{transport: http, url: https://api.example.com}",
			Description: "the base of all paths, such as https://api.example.com/v2"},
		{Name: "user", Type: "Optional[String[1]]", OneLine: true,
			Description: "the user of basic authentication"},
		{Name: "password", Type: "Optional[String[1]]", Secret: true, OneLine: true, Description: "its password"},
		{Name: "token", Type: "Optional[String[1]]", Secret: true, OneLine: true,
			Description: "the token of bearer authentication"},
		{Name: "token_url", Type: `Optional[Pattern[/\Ahttps?:\/\/[^\/?#@\s]+(\/[^#\s]*)?\z/]]`,
			Description: "where OAuth 2 gives out tokens for client_id and client_secret; they " +
				"are renewed before they end, and when the API refuses one"},
		{Name: "client_id", Type: "Optional[String[1]]", OneLine: true, Description: "the client of OAuth 2"},
		{Name: "client_secret", Type: "Optional[String[1]]", Secret: true, OneLine: true,
			Description: "its secret"},
		{Name: "scopes", Type: "Optional[Array[String[1]]]",
			Description: "the scopes that tokens are asked for with"},
		{Name: "audience", Type: "Optional[String[1]]", OneLine: true,
			Description: "the audience that tokens are asked for with, where the server of " +
				"tokens wants one"},
		{Name: "headers", Type: "Optional[Hash[String[1], String]]",
			Description: "headers of every request; a value may be a secret, and that of a " +
				"header that authenticates must be one"},
		{Name: "ca", Type: "Optional[String[1]]",
			Description: "certificates, in PEM, of the authorities to trust instead of the " +
				"system's"},
		{Name: "certificate", Type: "Optional[String[1]]",
			Description: "the client's certificate with those between it and its authority, in PEM"},
		{Name: "key", Type: "Optional[String[1]]", Secret: true,
			Description: "the key of the client's certificate, in PEM"},
		{Name: "server_name", Type: "Optional[String[1]]",
			Description: "the name that the server's certificate has to have, if it is not that " +
				"of the URL"},
		{Name: "insecure", Type: "Boolean", Default: false,
			Description: "true: accept any certificate, and send credentials without TLS. Every " +
				"host on the path can read and change all traffic"},
		{Name: "timeout", Type: "Integer[1, 600]", Default: int64(30),
			Description: "seconds for one request with its answer"},
		{Name: "retry", Type: "Integer[0, 30]", Default: int64(30),
			Description: "seconds within which a request that failed is made again; 0: never"},
		{Name: "idempotency_header", Type: "Optional[String[1]]",
			Description: "the header in which the API takes a key that makes repeating a POST " +
				"harmless, such as Idempotency-Key; without one, only idempotent requests " +
				"are repeated"},
		{Name: "rate", Type: "Optional[Numeric]",
			Description: "how many requests a second at most"},
		{Name: "burst", Type: "Integer[1, 10000]", Default: int64(1),
			Description: "how many requests may be made in a burst before rate applies"},
		{Name: "max_body", Type: "Integer[1, 67108864]", Default: int64(4 << 20),
			Description: "how many bytes of an answer at most"},
		{Name: "probe", Type: `Optional[Pattern[/\A\//]]`,
			Description: "the path under url that is read before anything else, to see whether " +
				"the API is in order and takes the credentials; without one / is read, and any " +
				"answer will do"},
	}
}

// settings are parsed options.
//
// Large: there is a field for each option.
type settings struct {
	base                           *url.URL
	user, password, token          string
	headers                        http.Header
	ca, certificate, key, server   string
	insecure                       bool
	timeout, retry, burst, maxBody int64
	idempotencyHeader, probe       string
	tokenURL, clientID             string
	clientSecret, audience         string
	scopes                         []string
	rate                           float64
	roots                          *x509.CertPool
	client                         *tls.Certificate
	secretHeaders                  []string
}

// Wait returns how long one request may take with all its attempts, by the options of an agent.
func Wait(given map[string]any) time.Duration {
	sum := time.Duration(0)
	for _, o := range declared() {
		if o.Name != "timeout" && o.Name != "retry" {
			continue
		}
		n, known := given[o.Name].(int64)
		if !known {
			n, _ = o.Default.(int64)
		}
		sum += time.Duration(n) * time.Second
	}
	return sum
}

// Check returns the problems of options; Attribute of a problem is the name of an option.
// References are accepted.
func Check(given map[string]any) []diag.Problem { return read(given).Problems() }

// parse reads options whose references are resolved.
func parse(given map[string]any) (*settings, error) {
	r := read(given)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.out, nil
}

// reader checks combinations of options in addition to single options.
type reader struct {
	*options.Reader

	out *settings
}

func read(given map[string]any) *reader {
	r := &reader{options.Read("http", declared(), given), &settings{headers: http.Header{}}}
	r.fill()
	headers, _ := given["headers"].(map[string]any)
	r.together(headers)
	return r
}

// fill copies known values to the settings.
func (r *reader) fill() {
	s := r.out
	for name, p := range map[string]*string{"user": &s.user, "password": &s.password,
		"token": &s.token, "ca": &s.ca, "certificate": &s.certificate, "key": &s.key,
		"server_name": &s.server, "idempotency_header": &s.idempotencyHeader, "probe": &s.probe,
		"token_url": &s.tokenURL, "client_id": &s.clientID, "client_secret": &s.clientSecret,
		"audience": &s.audience} {
		*p = r.Text(name)
	}
	for name, p := range map[string]*int64{"timeout": &s.timeout, "retry": &s.retry,
		"burst": &s.burst, "max_body": &s.maxBody} {
		*p = r.Number(name)
	}
	s.insecure, _ = r.Value("insecure").(bool)
	scopes, _ := r.Value("scopes").([]any)
	for _, scope := range scopes {
		text, _ := scope.(string)
		s.scopes = append(s.scopes, text)
	}
	switch v := r.Value("rate").(type) {
	case float64:
		s.rate = v
	case int64:
		s.rate = float64(v)
	}
	if r.Value("rate") != nil && (s.rate < 0.001 || s.rate > 1e6) {
		r.Bad("rate", "write a number from 0.001 to 1000000", "the value of rate is not valid")
	}
	if text, ok := r.Value("url").(string); ok {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Hostname() == "" || dotted(u.EscapedPath()) {
			r.Bad("url", "write it such as https://api.example.com/v2",
				"the value of url is not valid")
		} else {
			s.base = u
		}
	}
	r.fillHeaders()
	r.certificates()
}

func (r *reader) fillHeaders() {
	m, _ := r.Value("headers").(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(m)) {
		text, known := m[name].(string)
		text = schema.CutLineEnd(text)
		switch {
		case !httpguts.ValidHeaderFieldName(name) || known && !httpguts.ValidHeaderFieldValue(text):
			r.Bad("headers", "names are letters, digits and -, values are on one line",
				"%q is not a header", name)
		case slices.Contains([]string{"Host", "Content-Length", "Transfer-Encoding", "Connection"},
			http.CanonicalHeaderKey(name)):
			r.Bad("headers", "leave it out", "the header %s is made by the connection itself", name)
		case !known:
			r.Pending()
		default:
			if authenticates(name) {
				r.out.secretHeaders = append(r.out.secretHeaders, text)
				r.Literal("headers",
					fmt.Sprintf(`write %s: {secret: "env:NAME"}, or another secret`, name))
			}
			r.out.headers.Set(name, text)
		}
	}
	if n := r.out.idempotencyHeader; n != "" && !httpguts.ValidHeaderFieldName(n) {
		r.Bad("idempotency_header", "write it such as Idempotency-Key", "%q is not a header", n)
	}
}

// authenticates reports whether a header usually carries credentials.
func authenticates(name string) bool {
	n := strings.ToLower(name)
	for _, part := range []string{"authorization", "cookie", "token", "api-key", "apikey", "secret",
		"password"} {
		if strings.Contains(n, part) {
			return true
		}
	}
	return false
}

func (r *reader) certificates() {
	s := r.out
	if s.ca != "" {
		s.roots = x509.NewCertPool()
		if !s.roots.AppendCertsFromPEM([]byte(s.ca)) {
			r.Bad("ca", "write certificates in PEM: -----BEGIN CERTIFICATE----- and so on",
				"there is no certificate in the value of ca")
		}
	}
	if s.certificate != "" && s.key != "" {
		pair, err := tls.X509KeyPair([]byte(s.certificate), []byte(s.key))
		if err != nil {
			r.Bad("certificate", "write both in PEM",
				"the client's certificate and its key do not fit together")
		}
		s.client = &pair
	}
}

// together checks the rules about several options.
func (r *reader) together(headers map[string]any) {
	given := r.Given
	for _, pair := range [][2]string{{"user", "password"}, {"certificate", "key"}} {
		if given(pair[0]) != given(pair[1]) {
			has, lacks := pair[0], pair[1]
			if given(lacks) {
				has, lacks = lacks, has
			}
			r.Bad(has, "add "+lacks, "%s is of no use without %s", has, lacks)
		}
	}
	own := false
	for name := range headers {
		own = own || http.CanonicalHeaderKey(name) == "Authorization"
	}
	r.oauth()
	if n := count(given("user"), given("token"), given("token_url"), own); n > 1 {
		r.Bad("", "keep one of user with password, token, token_url, and the header Authorization",
			"the agent has %d ways to authenticate, and there is room for one", n)
	}
	if given("burst") && !given("rate") {
		r.Bad("burst", "add rate, how many requests a second at most",
			"burst is of no use without rate")
	}
	s := r.out
	if s.base == nil || s.base.Scheme == "https" {
		return
	}
	for _, name := range []string{"ca", "certificate", "server_name"} {
		if given(name) {
			r.Bad(name, "write the url with https://", "%s is of no use without TLS", name)
		}
	}
	if (given("user") || given("token") || given("token_url") || own || secretIn(headers)) &&
		!s.insecure && !loopback(s.base.Hostname()) {
		r.Bad("url", "write it with https://, or set `insecure: true`",
			"credentials would go over the network in the open")
	}
}

// oauth checks the options of an OAuth 2 client.
func (r *reader) oauth() {
	given := r.Given
	for _, name := range []string{"client_id", "client_secret"} {
		if given("token_url") && !given(name) {
			r.Bad("token_url", "add "+name, "a token is given out for client_id and client_secret")
		}
	}
	for _, name := range []string{"client_id", "client_secret", "scopes", "audience"} {
		if given(name) && !given("token_url") {
			r.Bad(name, "add token_url", "%s is of no use without token_url", name)
		}
	}
	if u, err := url.Parse(r.out.tokenURL); err == nil && u.Scheme == "http" && !r.out.insecure &&
		!loopback(u.Hostname()) {
		r.Bad("token_url", "write it with https://, or set `insecure: true`",
			"credentials would go over the network in the open")
	}
}

func count(all ...bool) (n int) {
	for _, b := range all {
		if b {
			n++
		}
	}
	return n
}

// secretIn reports whether headers contain a secret, or contained a reference to one before it was
// resolved.
func secretIn(headers map[string]any) bool {
	for name, v := range headers {
		if options.IsReference(v) || authenticates(name) {
			return true
		}
	}
	return false
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// dotted reports whether a path has a segment of dots, however it is escaped.
func dotted(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		text, err := url.PathUnescape(part)
		if err != nil || text == "." || text == ".." {
			return true
		}
	}
	return false
}
