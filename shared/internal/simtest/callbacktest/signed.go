package callbacktest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/service/callback"
)

// keys resolves the keys of callbacks.
type keys struct {
	mu   sync.Mutex
	held map[string]string
}

func (k *keys) set(source, key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.held[source] = key
}

// Resolve implements callback.Secrets.
func (k *keys) Resolve(_ context.Context, s resource.Secret) (value, version string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v, has := k.held[s.Source]; has {
		return v, "1", nil
	}
	return "", "", fault.New(fault.NotFound, "resolve secret", "%s is not set", s.Source)
}

// receiver verifies signatures with its own code and the key only.
type receiver struct {
	mu    sync.Mutex
	key   string
	calls []string // the result of each verification
	times []string
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body) // a shorter body has another signature
	at := req.Header.Get("Southbound-Timestamp")
	r.mu.Lock()
	defer r.mu.Unlock()
	m := hmac.New(sha256.New, []byte(r.key))
	_, _ = m.Write([]byte(at + "." + string(body))) // never fails
	want := "v1=" + hex.EncodeToString(m.Sum(nil))
	found := "unsigned"
	if got := req.Header.Get("Southbound-Signature"); got != "" {
		found = strconv.FormatBool(hmac.Equal([]byte(want), []byte(got)))
	}
	r.calls, r.times = append(r.calls, found), append(r.times, at)
	if found != "true" {
		w.WriteHeader(http.StatusForbidden)
	}
}

// takes returns and clears the results since the last call.
func (r *receiver) takes() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := strings.Join(r.calls, ", ")
	r.calls = nil
	return out
}

// signed checks calls with a key that is replaced and removed. If the key of a callback is missing,
// no call is made.
func (s *suite) signed() {
	const source, first, second = "env:CALLBACK_A", "0123456789abcdef-first", "0123456789abcdef-next"
	known := &keys{held: map[string]string{source: first}}
	r := &receiver{key: first}
	server := httptest.NewServer(r)
	s.Cleanup(server.Close)
	clock := &hand{now: began.Add(time.Minute)}
	c := of("a")
	c.URL, c.Secret = server.URL+"/a", source
	s.register(c)
	t := s.teller(clock, s.h.A)
	t.Secrets = known
	told := func(what, kind, want string) {
		s.Helper()
		s.happens("i", kind)
		s.once(t)
		s.same(what, want, r.takes())
	}
	told("a signed call", "create", "true")
	s.same("the time of the call", strconv.FormatInt(clock.Now().Unix(), 10), r.times[0])

	r.key = second
	told("an old key", "auto", "false")
	known.set(source, second)
	clock.add(time.Hour)
	s.once(t)
	s.same("the key is replaced", "true", r.takes())
	s.same("signed anew", strconv.FormatInt(clock.Now().Unix(), 10), r.times[2])

	for name, key := range map[string]string{"an empty key": "", "a short key": "0123456789abcde"} {
		known.set(source, key)
		clock.add(time.Hour)
		told(name, "auto", "")
		s.same(name+" is reported", true, strings.Contains(s.health("a").Error, "has less than 16 bytes"))
		s.same(name+" is not shown", false, key != "" && strings.Contains(s.health("a").Error, key))
	}
	known.set(source, second)
	delete(known.held, source)
	clock.add(time.Hour)
	told("no key", "auto", "")
	s.same("no key is reported", true, strings.Contains(s.health("a").Error, "is not set"))
	t.Secrets = nil
	clock.add(time.Hour)
	told("nobody resolves keys", "auto", "")
	t.Secrets = known
	known.set(source, second)
	clock.add(time.Hour)
	s.once(t)
	s.same("all that was not told", "true, true, true, true", r.takes())
}

// health returns the health of a callback.
func (s *suite) health(id string) callback.Health {
	s.Helper()
	all, err := s.h.A.Callbacks(s.ctx, env)
	s.must(err)
	for i := range all {
		if all[i].ID == id {
			return all[i].Health
		}
	}
	s.Fatal("there is no callback " + id)
	return callback.Health{}
}
