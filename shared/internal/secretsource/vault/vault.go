// Package vault reads secrets of a server with the API of Vault: OpenBao or HashiCorp Vault.
package vault

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openbao/openbao/api/v2"

	"southbound/shared/fault"
	"southbound/shared/patience"
)

const (
	op = "read the secret of vault"
	// limit is how long the requests for one secret may take.
	limit = time.Minute
)

// Leases keeps the credentials that a server has issued for a time, sealed.
type Leases interface {
	// Load returns a kept lease; nil if there is none.
	Load(name string) ([]byte, error)
	Save(name string, lease []byte) error
}

// Reader reads secrets. Any number of goroutines may use it. The server and the login are from the
// usual variables: VAULT_ADDR, VAULT_NAMESPACE, VAULT_CACERT and others of TLS, and VAULT_TOKEN, or
// VAULT_ROLE_ID and VAULT_SECRET_ID for AppRole. The same variables that begin with BAO_ go before
// those.
type Reader struct {
	// Leases keeps issued credentials; nil: none are issued, and Read returns "" for them.
	Leases Leases

	mu      sync.Mutex // held while the session is made
	session *session
	leased  sync.Mutex // held while credentials are issued or renewed
}

// Value is a field of a secret. Version is the one of the KV engine 2; "" for other engines.
type Value struct{ Text, Version string }

// Read returns a field of a secret: PATH#FIELD, with the path that `vault kv get` or `vault read`
// takes. version is a version of the KV engine 2; "": the newest one.
//
// Invalid: no server or login is configured. NotFound: the secret, its version or the field does not
// exist. Denied: the token has expired and there is no way to get another, or the policy does not
// allow it. Unavailable: the server cannot be reached or is sealed. No error contains a value.
func (r *Reader) Read(ctx context.Context, name, version string) (Value, error) {
	ctx, stop := patience.WithTimeout(ctx, limit)
	defer stop()
	path, field, _ := strings.Cut(name, "#")
	s, err := r.connect(ctx)
	if err != nil {
		return Value{}, err
	}
	m, err := s.mountOf(ctx, path)
	if err != nil {
		return Value{}, err
	}
	if m.versioned {
		return s.readVersioned(ctx, m, path, field, version)
	}
	if version != "" {
		return Value{}, fault.New(fault.Invalid, op, "%s has no versions", path).
			WithHint("leave out version, or name a secret of a KV engine of version 2")
	}
	data, err := r.read(ctx, s, m, path)
	if err != nil || data == nil {
		return Value{}, err
	}
	text, err := fieldOf(path, data, field)
	return Value{Text: text}, err
}

// read returns the fields of a secret without versions.
func (r *Reader) read(ctx context.Context, s *session, m mount, path string) (map[string]any, error) {
	if m.kind == "kv" || m.kind == "cubbyhole" {
		found, err := s.read(ctx, path, nil)
		if err != nil {
			return nil, s.explain(err, path)
		}
		return found.Data, nil
	}
	if r.Leases == nil {
		return nil, nil
	}
	r.leased.Lock()
	defer r.leased.Unlock()
	return s.credentials(ctx, r.Leases, path)
}

// mount is where an engine is mounted.
type mount struct {
	path      string // with / at its end
	kind      string // of the engine
	versioned bool   // the KV engine 2
}

// mountOf returns the engine that serves a path.
func (s *session) mountOf(ctx context.Context, path string) (mount, error) {
	s.mu.Lock()
	m, ok := s.mounts[path]
	s.mu.Unlock()
	if ok {
		return m, nil
	}
	found, err := s.read(ctx, "sys/internal/ui/mounts/"+path, nil)
	if err != nil {
		return mount{}, s.explain(err, path)
	}
	m.path, _ = found.Data["path"].(string)
	m.kind, _ = found.Data["type"].(string)
	options, _ := found.Data["options"].(map[string]any)
	m.versioned = m.kind == "kv" && options["version"] == "2"
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mounts[path] = m
	return m, nil
}

// readVersioned returns a field of a secret of the KV engine 2.
func (s *session) readVersioned(
	ctx context.Context, m mount, path, field, version string,
) (Value, error) {
	rest := strings.TrimPrefix(path, m.path)
	var query map[string][]string
	if version != "" {
		query = map[string][]string{"version": {version}}
	}
	found, err := s.read(ctx, m.path+"data/"+rest, query)
	if err != nil {
		if fault.Is(err, fault.NotFound) && strings.HasPrefix(rest, "data/") {
			return Value{}, fault.New(fault.NotFound, op, "there is no secret at %s", path).
				WithHint("write the path without data/, as `vault kv get` takes it")
		}
		return Value{}, s.explain(err, path)
	}
	data, _ := found.Data["data"].(map[string]any)
	about, _ := found.Data["metadata"].(map[string]any)
	number, _ := about["version"].(json.Number)
	if data == nil {
		return Value{}, fault.New(fault.NotFound, op, "version %s of %s was deleted", number, path).
			WithHint("write a new version, or undelete this one")
	}
	text, err := fieldOf(path, data, field)
	if err != nil {
		return Value{}, err
	}
	return Value{Text: text, Version: number.String()}, nil
}

// fieldOf returns a field as text; one that is no text, as JSON.
func fieldOf(path string, data map[string]any, field string) (string, error) {
	v, ok := data[field]
	if !ok || v == nil {
		return "", fault.New(fault.NotFound, op, "%s has no field %s", path, field).
			WithHint("name one of its fields: %s",
				strings.Join(slices.Sorted(maps.Keys(data)), ", "))
	}
	if text, ok := v.(string); ok {
		return text, nil
	}
	b, err := json.Marshal(v)
	return string(b), err
}

// credentials returns what an engine has issued for a path. It gets new credentials if there are none,
// or if less than a third of their time is left and cannot be extended.
func (s *session) credentials(
	ctx context.Context, leases Leases, path string,
) (map[string]any, error) {
	name := s.client.Address() + "\n" + s.client.Namespace() + "\n" + path
	kept, err := leases.Load(name)
	if err != nil {
		return nil, err
	}
	var l lease
	if kept != nil && json.Unmarshal(kept, &l) == nil {
		good, changed, err := s.prolong(ctx, &l)
		switch {
		case err != nil:
			return nil, s.explain(err, path)
		case good && changed:
			err = save(leases, name, l)
		}
		if good {
			return l.Data, err
		}
	}
	found, err := s.read(ctx, path, nil)
	if err != nil {
		return nil, s.explain(err, path)
	}
	if found.LeaseID == "" {
		return found.Data, nil
	}
	return found.Data, save(leases, name, leaseOf(found))
}

func save(leases Leases, name string, l lease) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return leases.Save(name, b)
}

// lease is what an engine has issued for a time.
type lease struct {
	ID      string
	Data    map[string]any
	Time    time.Duration // as issued
	Renews  bool
	Expires time.Time
}

func leaseOf(s *api.Secret) lease {
	d := time.Duration(s.LeaseDuration) * time.Second
	return lease{ID: s.LeaseID, Data: s.Data, Time: d, Renews: s.Renewable,
		Expires: time.Now().Add(d)}
}

// prolong reports whether a lease is valid for a third of its time at least, and extends it if it is
// not.
func (s *session) prolong(ctx context.Context, l *lease) (good, changed bool, err error) {
	found, err := s.write(ctx, "sys/leases/lookup", map[string]any{"lease_id": l.ID})
	switch {
	case fault.Is(err, fault.Denied): // the policy does not allow to look
	case fault.Is(err, fault.Invalid), fault.Is(err, fault.NotFound):
		return false, false, nil // it was revoked, or has expired
	case err != nil:
		return false, false, err
	case found != nil:
		if ttl, ok := found.Data["ttl"].(json.Number); ok {
			seconds, _ := ttl.Int64()
			l.Expires, changed = time.Now().Add(time.Duration(seconds)*time.Second), true
		}
	}
	enough := func() bool { return time.Until(l.Expires) > l.Time/3 }
	if enough() || !l.Renews {
		return enough(), changed, nil
	}
	found, err = s.write(ctx, "sys/leases/renew",
		map[string]any{"lease_id": l.ID, "increment": int(l.Time / time.Second)})
	if err == nil && found != nil {
		l.Expires = time.Now().Add(time.Duration(found.LeaseDuration) * time.Second)
		return enough(), true, nil
	}
	if fault.Is(err, fault.Unavailable) {
		return false, false, err
	}
	return false, changed, nil
}
