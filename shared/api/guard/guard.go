package guard

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/patience"
)

// Guard admits requests that bear a token, on a server that is reached under given hosts.
type Guard struct {
	// Token is the token that a request must bear, and ReadToken one with which requests may only
	// read; "": there is none. Names are the names of their bearers.
	Token, ReadToken string
	Names            [2]string
	// Behind are the addresses of trusted proxies. In requests from there, UserHeader, if not "",
	// names the caller, and RoleHeader, if not "", the caller's role: all roles except Operator may
	// only read. These requests bear a token as well.
	Behind                 []netip.Prefix
	UserHeader, RoleHeader string
	// Hosts are the names, with their ports, under which requests may reach the server. A web page
	// whose name resolves to this machine (DNS rebinding) sends its own name.
	Hosts []string
	// AnyAddress also permits numeric addresses as hosts, which no name server can redirect.
	AnyAddress bool
}

// Wrap returns a handler that passes admitted requests to next.
func (g Guard) Wrap(next http.Handler) http.Handler {
	return problem.ForPublicClients(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rc := http.NewResponseController(w)
		refuse := func(p *problem.ErrorBody) { // the remaining body is not waited for
			_ = rc.SetReadDeadline(time.Now().Add(refusedTime))
			w.Header().Set("Connection", "close")
			problem.Write(w, p)
		}
		if !g.host(r.Host) || !g.origin(r.Header) {
			refuse(problem.WithStatus(http.StatusForbidden,
				problem.Failure{Kind: fault.Denied,
					Message:  "the Host or Origin of the request is not one of this server",
					Hint:     "use the address that `southbound run` printed",
					Problems: []problem.Wrong{}}))
			return
		}
		caller, right := g.caller(r)
		if !right && !public(r) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="southbound"`)
			refuse(problem.WithStatus(http.StatusUnauthorized,
				problem.Failure{Kind: fault.Denied, Message: "the token is missing or wrong",
					Hint: "give --data the data directory of the server, or set " +
						"SOUTHBOUND_TOKEN",
					Problems: []problem.Wrong{}}))
			return
		}
		if right {
			r = r.WithContext(wire.WithCaller(r.Context(), caller))
		}
		if r.Body != http.NoBody { // the server drains unread bodies
			_ = rc.SetReadDeadline(time.Now().Add(silentTime))
		}
		switch {
		case !right: // no public operation has a body
			_ = rc.SetReadDeadline(time.Now().Add(refusedTime))
		case strings.HasPrefix(r.URL.Path, "/v1/files/"):
			r.Body = timedBody{r.Body, rc, context.Background()}
		case r.Body != http.NoBody:
			whole, cancel := patience.WithTimeout(context.Background(), bodyTime)
			defer cancel()
			r.Body = timedBody{r.Body, rc, whole}
		}
		next.ServeHTTP(w, r)
	}))
}

// Operator is the role that may change something.
const Operator = "operator"

// caller returns the caller of a request. It returns false if the request bears no token.
func (g Guard) caller(r *http.Request) (wire.Caller, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	full, reads := same(token, g.Token), same(token, g.ReadToken)
	if !strings.EqualFold(scheme, "Bearer") || !full && !reads {
		return wire.Caller{}, false
	}
	c := wire.Caller{User: g.Names[0], Via: wire.ViaToken, ReadOnly: !full}
	if !full {
		c.User = g.Names[1]
	}
	if !g.trusted(r.RemoteAddr) {
		return c, true
	}
	if name := r.Header.Get(g.UserHeader); g.UserHeader != "" && name != "" {
		c.User, c.Via = name, wire.ViaProxy
	}
	if g.RoleHeader != "" && r.Header.Get(g.RoleHeader) != Operator {
		c.ReadOnly = true
	}
	return c, true
}

// same compares a token with the expected one, in a time that does not depend on them.
func same(token, want string) bool {
	a, b := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}

// trusted reports whether an address is that of a trusted proxy.
func (g Guard) trusted(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && slices.ContainsFunc(g.Behind, func(p netip.Prefix) bool {
		return p.Contains(at.Addr().Unmap())
	})
}

// public reports whether a request needs no token.
func public(r *http.Request) bool {
	switch r.URL.Path {
	case "/", "/openapi.json", "/openapi.yaml":
		return r.Method == http.MethodGet
	}
	return false
}

// KnowsHost reports whether host is a name under which requests may reach the server.
func (g Guard) KnowsHost(host string) bool { return g.host(host) }

func (g Guard) host(host string) bool {
	if slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		return true
	}
	if !g.AnyAddress {
		return false
	}
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	_, err = netip.ParseAddr(strings.Trim(name, "[]"))
	return err == nil
}

// origin reports whether a request was made by a program, or by a page of this server.
func (g Guard) origin(h http.Header) bool {
	for _, o := range h.Values("Origin") {
		u, err := url.Parse(o)
		if err != nil || u.Host == "" || !g.host(u.Host) {
			return false
		}
	}
	switch h.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return true
	}
	return false
}
