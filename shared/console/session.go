package console

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"southbound/shared/fault"
)

// CodeLife is how long a code signs in.
const CodeLife = 60 * time.Second

// The lifetime and limits of sign-ins.
const (
	sessionLife = 12 * time.Hour
	maxSessions = 1000 // the oldest session ends when another begins
	maxCodes    = 100
)

// session is a user who has signed in.
type session struct {
	key      string // identifies the session; not its cookie
	user     string // "" unless a proxy names it
	readOnly bool
	until    time.Time
}

// sessions are the sign-ins of a console, in memory. A cookie and a code are stored as hashes.
type sessions struct {
	o      Options
	cookie string // the name of the cookie: random, as all ports of a host share cookies

	mu    sync.Mutex
	byKey map[[sha256.Size]byte]*session
	codes map[[sha256.Size]byte]time.Time // until when each is valid
}

func newSessions(o Options) *sessions {
	return &sessions{o: o, cookie: "southbound-" + randomHex(8),
		byKey: map[[sha256.Size]byte]*session{}, codes: map[[sha256.Size]byte]time.Time{}}
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

func randomText() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// newCode returns a code for one sign-in.
func (s *sessions) newCode() string {
	code := randomText()
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.o.Now()
	for k, until := range s.codes {
		if !now.Before(until) || len(s.codes) >= maxCodes {
			delete(s.codes, k)
		}
	}
	s.codes[sha256.Sum256([]byte(code))] = now.Add(CodeLife)
	return code
}

// redeem reports whether a code is valid, and ends it.
func (s *sessions) redeem(code string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := sha256.Sum256([]byte(code))
	until, has := s.codes[k]
	delete(s.codes, k)
	return has && s.o.Now().Before(until)
}

// begin starts a session and sets its cookie.
func (s *sessions) begin(w http.ResponseWriter, r *http.Request, readOnly bool) {
	value := randomText() + randomText()
	s.mu.Lock()
	now := s.o.Now()
	var oldest [sha256.Size]byte
	var first *session
	for k, x := range s.byKey {
		if !now.Before(x.until) {
			delete(s.byKey, k)
		} else if first == nil || x.until.Before(first.until) {
			oldest, first = k, x
		}
	}
	if len(s.byKey) >= maxSessions {
		delete(s.byKey, oldest)
	}
	s.byKey[sha256.Sum256([]byte(value))] = &session{key: randomHex(16), readOnly: readOnly,
		until: now.Add(sessionLife)}
	s.mu.Unlock()
	http.SetCookie(w, s.made(r, value, int(sessionLife/time.Second)))
}

func (s *sessions) made(r *http.Request, value string, age int) *http.Cookie {
	path := strings.TrimSuffix(s.o.Base, "/") + "/"
	return &http.Cookie{ //nolint:gosec // on loopback, where there is no TLS, Secure would drop it
		Name: s.cookie, Value: value, Path: path, MaxAge: age, HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: secure(r),
	}
}

// secure reports whether a browser reached the console over https, maybe through a proxy. A wrong
// answer can only make the cookie stricter.
func secure(r *http.Request) bool {
	return r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https")
}

// end ends the session of a request.
func (s *sessions) end(w http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(s.cookie); err == nil {
		s.mu.Lock()
		delete(s.byKey, sha256.Sum256([]byte(c.Value)))
		s.mu.Unlock()
	}
	http.SetCookie(w, s.made(r, "", -1))
}

// of returns the session of a request; nil: none.
func (s *sessions) of(r *http.Request) *session {
	if who := s.o.Proxy.user(r); who != nil {
		return who
	}
	c, err := r.Cookie(s.cookie)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.byKey[sha256.Sum256([]byte(c.Value))]
	if x == nil || !s.o.Now().Before(x.until) {
		return nil
	}
	return x
}

// roleOperator is the role that may change something.
const roleOperator = "operator"

// user returns the session of a user whom the proxy has authenticated; nil: none. Headers count only
// in requests of the proxy itself.
func (p *Proxy) user(r *http.Request) *session {
	if p == nil || !p.Unix && !p.from(r.RemoteAddr) {
		return nil
	}
	names := r.Header.Values(p.UserHeader)
	if len(names) != 1 || strings.TrimSpace(names[0]) == "" || len(names[0]) > 200 {
		return nil
	}
	name := strings.TrimSpace(names[0])
	x := &session{key: "user:" + name, user: name}
	if p.RoleHeader != "" {
		var roles []string
		for _, v := range r.Header.Values(p.RoleHeader) {
			for role := range strings.SplitSeq(v, ",") {
				roles = append(roles, strings.TrimSpace(role))
			}
		}
		x.readOnly = !slices.Contains(roles, roleOperator)
	}
	return x
}

func (p *Proxy) from(address string) bool {
	a, err := netip.ParseAddrPort(address)
	return err == nil && slices.ContainsFunc(p.Networks, func(n netip.Prefix) bool {
		return n.Contains(a.Addr().Unmap())
	})
}

// enter signs in with the code of the address that a program has printed.
func (s *site) enter(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", "GET")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	if !s.sessions.redeem(r.URL.Query().Get("code")) {
		if s.sessions.of(r) != nil { // the address of a tab that is opened again
			http.Redirect(w, r, s.root(""), http.StatusSeeOther)
			return
		}
		s.signInPage(w, r, http.StatusForbidden,
			"This address was used before, or is older than a minute.")
		return
	}
	s.sessions.begin(w, r, false)
	http.Redirect(w, r, s.root(""), http.StatusSeeOther)
}

// signIn shows the sign-in page, and signs in with the token of the API.
func (s *site) signIn(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		if s.sessions.of(r) != nil {
			http.Redirect(w, r, s.root(""), http.StatusSeeOther)
			return
		}
		s.signInPage(w, r, http.StatusOK, "")
	case http.MethodPost:
		if err := parseForm(w, r); err != nil {
			s.signInPage(w, r, http.StatusRequestEntityTooLarge, err.Error())
			return
		}
		token := r.PostForm.Get("token")
		full := tokenIs(token, s.o.Token)
		if !full && !tokenIs(token, s.o.ReadToken) {
			s.signInPage(w, r, http.StatusForbidden, "This is not a token of the API.")
			return
		}
		s.sessions.begin(w, r, !full)
		back := s.request(r, nil).back(s.root(""))
		http.Redirect(w, r, back, http.StatusSeeOther) //nolint:gosec // back returns a path of the console
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		http.Error(w, "use GET or POST", http.StatusMethodNotAllowed)
	}
}

// tokenIs compares a token with the expected one, in equal time.
func tokenIs(token, want string) bool {
	a, b := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1 && want != ""
}

// signInView is the sign-in page.
type signInView struct {
	Wrong  string // why the last attempt failed; "": there was none
	Token  bool   // the token of the API signs in
	Action string
	Back   string
}

func (s *site) signInPage(w http.ResponseWriter, r *http.Request, status int, wrong string) {
	q := s.request(r, nil)
	v := signInView{Wrong: wrong, Token: s.o.Token != "", Action: s.root("signin")}
	if r.Method == http.MethodPost {
		v.Back = q.back("")
	} else if back := r.URL.Query().Get("back"); back != "" {
		v.Back = back // checked when the form is sent
	}
	text, err := s.templates.render(q.frame(view{Template: "signin.html", Title: "Sign in", Data: v}),
		"signin.html")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	s.write(w, r, status, text)
}

// unknown answers a request without a session.
func (s *site) unknown(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Header.Get(regionHeader) != "" || unsafeMethod(r.Method) ||
		r.Header.Get("Sec-Fetch-Dest") == "empty":
		s.signInPage(w, r, http.StatusUnauthorized, "You are signed out.")
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate":
		// a browser sends the cookie only with requests of this site, such as a reload
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte("<!doctype html><html lang=\"en\"><head>" +
			"<meta http-equiv=\"refresh\" content=\"0\"><title>Southbound</title></head>" +
			"<body><p>Opening the console.</p></body></html>"))
	default:
		to := s.request(r, nil).root("signin", "back", r.RequestURI)
		http.Redirect(w, r, to, http.StatusSeeOther) //nolint:gosec // root returns a path of the console
	}
}

// signOut ends the session.
func (s *site) signOut(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", "POST")
		http.Error(w, "use POST", http.StatusMethodNotAllowed)
		return
	}
	s.sessions.end(w, r)
	http.Redirect(w, r, s.root("signin"), http.StatusSeeOther)
}

// codes returns a new code to a program that bears the token of the API.
func (s *site) codes(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	answer := json.NewEncoder(w)
	switch {
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "POST")
		w.WriteHeader(http.StatusMethodNotAllowed)
		_ = answer.Encode(map[string]string{"message": "use POST"})
	case !strings.EqualFold(scheme, "Bearer") || !tokenIs(token, s.o.Token):
		w.Header().Set("WWW-Authenticate", `Bearer realm="southbound"`)
		w.WriteHeader(http.StatusUnauthorized)
		_ = answer.Encode(map[string]any{"kind": fault.Denied,
			"message": "the token is missing or wrong", "hint": "set SOUTHBOUND_TOKEN"})
	default:
		code := s.sessions.newCode()
		_ = answer.Encode(map[string]any{"code": code, "path": s.root("enter?code=" + code),
			"seconds": int(CodeLife / time.Second)})
	}
}
